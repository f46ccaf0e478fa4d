//! The workloads, by the names that `--only` takes.

use super::round::Round;
use super::{grpc, memory, resp, stall};

/// One kind of load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Workload {
    /// Acquire and settle over the Redis protocol, pipelined by 1 and 16
    Resp,
    /// Acquire and settle by gRPC, in calls of 1 and 16; its target is held against `resp`
    Grpc,
    /// Memory per entity with two active buckets
    Memory,
    /// The longest decision while the system's default changes
    Stall,
}

impl Workload {
    /// All of them, in the order of the report. Memory is first: it has servers of its own.
    pub const ALL: [Workload; 4] = [Workload::Memory, Workload::Resp, Workload::Grpc, Workload::Stall];

    /// One round of it.
    pub fn run(self, round: &mut Round<'_>) {
        match self {
            Workload::Resp => resp::run(round),
            Workload::Grpc => grpc::run(round),
            Workload::Memory => memory::run(round),
            Workload::Stall => stall::run(round),
        }
    }
}
