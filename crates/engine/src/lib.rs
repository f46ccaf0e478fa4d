//! The queue engine: one writer over the scheduler, the limits and the journal. No sockets, so that the simulator
//! can run it.
//!
//! | module | subject |
//! |---|---|
//! | [`op`], [`outcome`], [`delivery`] | what it is asked for, and what it answers |
//! | [`settings`], [`template`], [`definition`], [`directory`] | queues as users define them, for everybody to see |
//! | [`engine`] | the state and its turns: apply, deliver, write, and answer once it is on disk |
//! | [`thread`] | the two threads that run it, and the handle that others hold |

pub mod definition;
pub mod delivery;
pub mod directory;
pub mod engine;
pub mod op;
pub mod outcome;
pub mod settings;
pub mod template;
pub mod thread;

pub use definition::Definition;
pub use delivery::Delivery;
pub use directory::Directory;
pub use engine::{Engine, Port};
pub use op::{Admin, Close, Due, Enqueue, Nack, Op, Receive, Submission, Task};
pub use outcome::{FlowReport, Outcome, QueueReport, QueueStats, Refused, Totals};
pub use settings::{Durability, Settings};
pub use template::Template;
pub use thread::{Handle, Running};
