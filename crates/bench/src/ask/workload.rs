//! The workloads, by the names that `--only` takes.

use super::round::Round;
use super::{grpc, http, latency, library, memory, msgpack, one_core, resp};

/// One kind of load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Workload {
    /// redis-benchmark at pipelines of 1, 16 and 64
    Resp,
    /// POST /throttle on 50 keep-alive connections
    Http,
    /// Unary calls, 8 connections with 8 calls under way on each
    Grpc,
    /// MessagePack beside RESP under the same load generator
    Msgpack,
    /// 20,000 requests a second over one connection
    Latency,
    /// The most that one server thread answers
    OneCore,
    /// Memory per live key, and the longest pause while inserting
    Memory,
    /// Decisions inside a Rust program
    Library,
}

impl Workload {
    /// All of them, in the order of the report.
    pub const ALL: [Workload; 8] = [
        Workload::Resp,
        Workload::Http,
        Workload::Grpc,
        Workload::Msgpack,
        Workload::Latency,
        Workload::OneCore,
        Workload::Memory,
        Workload::Library,
    ];

    /// Whether it is about servers that stay up from one round to the next.
    pub fn uses_stage(self) -> bool {
        self != Workload::Library
    }

    /// One round of it.
    pub fn run(self, round: &mut Round<'_>) {
        match self {
            Workload::Resp => resp::run(round),
            Workload::Http => http::run(round),
            Workload::Grpc => grpc::run(round),
            Workload::Msgpack => msgpack::run(round),
            Workload::Latency => latency::run(round),
            Workload::OneCore => one_core::run(round),
            Workload::Memory => memory::run(round),
            Workload::Library => {
                library::contest::run(round);
                library::bucket::run(round);
            }
        }
    }
}
