//! Opens the doors and serves until told to stop.
//!
//! | module | does |
//! |---|---|
//! | [`doors`] | binds, accepts, counts and turns away |
//! | [`loops`] | a few threads, each with its own connections |
//! | [`persist`] | writes changed keys to disk, and brings them back |
//! | [`queue`] | the queue engine, from its journal to its last flush |
//! | [`table`] | the table that servers share, if limits are in one |
//! | [`banner`] | what is printed at start |
//! | [`run`](mod@run) | all of it, in order |
//! | [`descriptors`] | as many open files as the system lets us have |

mod banner;
mod descriptors;
mod doors;
#[cfg(feature = "dynamodb")]
mod identity;
mod loops;
mod persist;
mod queue;
mod run;
#[cfg(feature = "dynamodb")]
mod table;
#[cfg(not(feature = "dynamodb"))]
#[path = "no_table.rs"]
mod table;

pub use queue::QueueEngine;
pub use run::{Error, run};
#[cfg(feature = "dynamodb")]
pub use table::{settings, trouble};
