//! The engine: state, and its turns.
//!
//! A turn applies what has arrived, fires what is due, delivers what can be paid, and hands what it has written to
//! whoever waits for the disk. Deliveries are held until their messages are written, answers until what they tell of is
//! synced.
//!
//! | module | subject |
//! |---|---|
//! | [`port`] | the world around: answers, deliveries, questions to hooks |
//! | `state`, `turn` | all that the engine holds, and what it does with its time |
//! | `apply`, `enqueue`, `settle`, `consume`, `admin`, `redrive` | the operations |
//! | `failure`, `retention` | what becomes of messages that fail or are too old |
//! | `commit`, `job`, `held` | what goes to disk, and outputs that wait for that |
//! | `recover`, `restore`, `clean` | the journal and the ledger read back, and the journal kept small |
//! | `unsure` | changes of the catalog that failed, and may be on disk all the same |
//! | `limits`, `grants` | names of limits in numbers, and what deliveries hold of them |
//! | `waiting` | acquires that wait in line |
//! | `weights` | weights that come from entities, now or later |
//! | `edit`, `keys`, `namespaces` | entities, stored limits, throttle keys and namespaces, as users change them |
//! | `why` | what something waits for |
//! | `check` | what the simulator looks at |
//! | `stamp`, `numbered` | ids that follow time, and tables by such numbers |

mod admin;
mod apply;
#[cfg(feature = "check")]
mod check;
mod clean;
mod commit;
mod consume;
mod edit;
mod enqueue;
mod failure;
mod grants;
mod held;
mod job;
mod keys;
mod limits;
mod namespaces;
mod numbered;
mod patient;
mod port;
mod recover;
mod redrive;
mod report;
mod restore;
mod retention;
mod settle;
mod stamp;
mod state;
mod turn;
mod unsure;
mod waiting;
mod weights;
mod why;

#[cfg(feature = "check")]
pub use check::{Paid, Pay};
pub use job::{Chores, Job, Rest, Synced, Written};
pub use port::{Port, Question, Ticket, Verdict};
pub use recover::{Opened, Report};
pub use state::{Engine, Options};
