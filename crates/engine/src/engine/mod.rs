//! The engine: state, and its turns.
//!
//! A turn applies what has arrived, fires what is due, delivers what can be paid, and hands what it has written to
//! whoever waits for the disk. Answers and deliveries are held until what they tell of is there.
//!
//! | module | subject |
//! |---|---|
//! | [`port`] | the world around: answers, deliveries, questions to hooks |
//! | `state`, `turn` | all that the engine holds, and what it does with its time |
//! | `apply`, `enqueue`, `settle`, `consume`, `admin`, `redrive` | the operations |
//! | `failure`, `retention` | what becomes of messages that fail or are too old |
//! | `held`, `job` | outputs that wait for the disk, and the waiting itself |
//! | `recover`, `clean` | the journal read back, and kept small |
//! | `unsure` | changes of the catalog that failed, and may be on disk all the same |
//! | `levels` | how full limits are, on its way to disk |
//! | `limits`, `stamp` | names of limits in numbers; ids that follow time |

mod admin;
mod apply;
mod clean;
mod consume;
mod enqueue;
mod failure;
mod held;
mod job;
mod levels;
mod limits;
mod port;
mod recover;
mod redrive;
mod report;
mod retention;
mod settle;
mod stamp;
mod state;
mod turn;
mod unsure;

pub use job::{Chores, Job, JobDone, JobOutcome};
pub use port::{Port, Question, Ticket, Verdict};
pub use recover::Report;
pub use state::{Engine, Options};
