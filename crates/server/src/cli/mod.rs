//! The command line. Each subcommand is one file with its `Args` and a `run`.
//!
//! Stdout is data, stderr is for people. A failure is printed as `error: ...` and `hint: ...`; the exit code is 2 for a
//! mistake in usage or configuration and 1 for a failure while running. A subcommand whose exit code is its answer
//! (`throttle`) keeps 2 for having none.

mod ask_door;
pub mod bench;
pub mod completions;
pub mod config;
mod failure;
mod flags;
mod root;
pub mod serve;
mod stdout;
pub mod throttle;

pub use failure::Failure;
pub use flags::Flags;
pub use root::{Root, run};
