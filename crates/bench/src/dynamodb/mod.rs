//! `dynamodb`: limits in a table that nodes share. What a decision costs in write units and calls, how long it takes, and
//! whether all nodes together keep the limit and use it; beside zae-limiter, the Python library whose table it is.
//!
//! Real servers, on an emulator behind a proxy that makes every call 5 ms longer and counts what it cost.

mod admission;
mod capacity;
mod cell;
mod limit;
pub mod load;
mod many;
mod meter;
mod nodes;
mod one;
mod plan;
mod python;
mod round;
mod run;
mod shared;
mod stage;
mod system;
mod table;
mod targets;
mod workload;

pub use run::{Options, run};
pub use workload::Workload;
