//! `queue`: the Queue door beside `nats-server`, `redis-server`, `beanstalkd` and `rabbitmq-server`.
//!
//! Each workload module runs one round: every system once under each of its loads. [`run`] repeats the rounds.

mod beside;
pub mod broker;
mod disk;
mod fifo;
mod flows;
mod hook;
mod latency;
mod lifecycle;
pub mod load;
mod memory;
mod parked;
mod plan;
mod rate;
mod round;
mod run;
mod stage;
mod startup;
mod system;
mod targets;
mod workload;

pub use run::{Options, run};
pub use workload::Workload;
