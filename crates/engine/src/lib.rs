//! The queue engine: one writer over the scheduler, the limits and the journal. No sockets, so that the simulator
//! can run it.
//!
//! | module | subject |
//! |---|---|
//! | [`op`], [`outcome`], [`delivery`] | what it is asked for, and what it answers |
//! | [`settings`], [`template`], [`definition`], [`directory`] | queues as users define them, for everybody to see |
//! | [`engine`] | the state and its turns: apply, deliver, write, and answer once it is on disk |
//! | [`keeper`] | the ledger of entities and limits, kept on disk |
//! | [`thread`] | the threads that run it, and the handle that others hold |

pub mod definition;
pub mod delivery;
pub mod directory;
pub mod engine;
mod journal_thread;
pub mod keeper;
pub mod op;
pub mod outcome;
pub mod settings;
pub mod template;
pub mod thread;
mod trim;

pub use definition::Definition;
pub use delivery::Delivery;
pub use directory::Directory;
pub use engine::{Engine, Port};
pub use keeper::{Keeper, KeeperOptions};
pub use op::{Admin, Close, Cost, Due, Enqueue, Nack, Op, Receive, Submission, Task, WaitingAcquire, Why};
pub use outcome::{
    FlowReport, NamespaceReport, Outcome, QueueReport, QueueStats, Refused, Totals, WaitsFor, WhyLane,
    WhyReport,
};
pub use settings::{Durability, Settings};
pub use template::Template;
pub use thread::{Handle, Running};
