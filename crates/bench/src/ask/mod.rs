//! `ask`: the Ask door beside `redis-server`, `throttlecrab-server`, and the libraries `governor` and
//! `throttlecrab`.
//!
//! Each workload module runs one round: every system once under each of its loads. [`run`] repeats the rounds.

mod grpc;
mod http;
mod latency;
mod library;
mod memory;
mod msgpack;
mod one_core;
mod plan;
mod resp;
mod round;
mod run;
mod shared_keys;
mod stage;
mod systems;
mod targets;
mod workload;

pub use run::{Options, run};
pub use workload::Workload;
