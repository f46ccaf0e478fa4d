//! The workloads, by the names that `--only` takes.

use super::round::Round;
use super::{fifo, flows, hook, latency, lifecycle, memory, parked, rate, startup};

/// One kind of load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Workload {
    /// Produce, consume and acknowledge 1 KB messages in batches of 100
    Lifecycle,
    /// 1,000 messages a second, end to end, beside one fsync
    Latency,
    /// 10 to 1,000,000 fairness keys
    Flows,
    /// Many flows beside a plain FIFO
    Fifo,
    /// 1,000,000 lanes parked on 1,000 exhausted buckets
    Parked,
    /// A throttle key of 5,000/s with a burst of 1
    Rate,
    /// What an on_enqueue hook adds
    Hook,
    /// Memory per waiting message and per flow
    Memory,
    /// Start with 1,000,000 messages waiting
    Startup,
}

impl Workload {
    /// All of them, in the order of the report.
    pub const ALL: [Workload; 9] = [
        Workload::Lifecycle,
        Workload::Latency,
        Workload::Flows,
        Workload::Fifo,
        Workload::Parked,
        Workload::Rate,
        Workload::Hook,
        Workload::Memory,
        Workload::Startup,
    ];

    /// One round of it.
    pub fn run(self, round: &mut Round<'_>) {
        match self {
            Workload::Lifecycle => lifecycle::run(round),
            Workload::Latency => latency::run(round),
            Workload::Flows => flows::run(round),
            Workload::Fifo => fifo::run(round),
            Workload::Parked => parked::run(round),
            Workload::Rate => rate::run(round),
            Workload::Hook => hook::run(round),
            Workload::Memory => memory::run(round),
            Workload::Startup => startup::run(round),
        }
    }
}
