//! `acquire`: acquire and settle over a million entities, beside the same logic as Lua scripts in `redis-server`.
//!
//! Each workload module runs one round: every system once under each of its loads. [`run`] repeats the rounds.

mod accounts;
mod decisions;
mod dialect;
mod grpc;
pub mod load;
mod memory;
mod plan;
mod resp;
mod round;
mod run;
mod script;
mod stage;
mod stall;
mod systems;
mod targets;
mod tidegate;
mod workload;

pub use dialect::Dialect;
pub use run::{Options, run};
pub use workload::Workload;
