//! The command line. Each subcommand is one file with its `Args` and a `run`.
//!
//! Stdout is data, stderr is for people. A failure is printed as `error: ...` and `hint: ...`; the exit code is 2 for a
//! mistake in usage or configuration and 1 for a failure while running. A subcommand whose exit code is its answer
//! (`throttle`, `limit take`, `consume`) keeps 2 for having none.

pub mod ack;
mod ask_door;
pub mod bench;
pub mod completions;
pub mod config;
pub mod consume;
pub mod enqueue;
mod failure;
mod flags;
pub mod hooks;
mod input;
pub mod limit;
mod millis;
pub mod queue;
mod queue_door;
pub mod redrive;
mod root;
pub mod serve;
pub mod setting;
pub mod stats;
mod stdout;
mod table;
pub mod throttle;

pub use failure::Failure;
pub use flags::Flags;
pub use root::{Root, run};
