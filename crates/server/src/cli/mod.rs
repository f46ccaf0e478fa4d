//! The command line. Each subcommand is one file with its `Args` and a `run`.
//!
//! Stdout is data, stderr is for people. A failure is printed as `error: ...` and `hint: ...`; the exit code is 2 for a
//! mistake in usage or configuration and 1 for a failure while running. A subcommand whose exit code is its answer
//! (`throttle`, `acquire`, `available`, `limit take`, `consume`, `limits diff`) keeps 2 for having none.

pub mod ack;
pub mod acquire;
mod amounts;
mod ask_door;
pub mod audit;
pub mod available;
mod bars;
pub mod bench;
pub mod bucket;
pub mod completions;
pub mod config;
pub mod consume;
#[cfg(feature = "dynamodb")]
pub mod dynamodb;
#[cfg(not(feature = "dynamodb"))]
#[path = "no_dynamodb.rs"]
pub mod dynamodb;
pub mod enqueue;
pub mod entity;
mod failure;
mod fields;
mod flags;
pub mod hooks;
mod input;
pub mod lease;
pub mod limit;
pub mod limits;
mod millis;
pub mod namespace;
pub mod queue;
mod queue_door;
pub mod redrive;
mod root;
pub mod serve;
pub mod setting;
pub mod stats;
mod statuses;
mod stdout;
mod table;
mod terms;
pub mod throttle;
pub mod usage;
mod utc;
pub mod why;

pub use failure::Failure;
pub use flags::Flags;
pub use root::{Root, run};
