//! `tidegate-bench`: what `cargo xtask bench` runs.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tidegate_bench::{acquire, ask, dynamodb, queue};

/// Tidegate beside its peers on this machine: the same load, one table, one JSON file
#[derive(Parser)]
#[command(name = "tidegate-bench")]
struct Cli {
    #[command(subcommand)]
    bench: Bench,
}

#[derive(Subcommand)]
enum Bench {
    /// The Ask door: RESP, HTTP, gRPC, MessagePack, memory, and the library
    Ask(ask::Options),
    /// The Queue door: whole lives, latency, flows, throttling, hooks, memory, start-up
    Queue(queue::Options),
    /// Entities and leases: acquire and settle over RESP and gRPC, memory, a change of the default
    Acquire(acquire::Options),
    /// Limits on DynamoDB: write units and latency of a decision, nodes that share a limit, beside zae-limiter
    Dynamodb(dynamodb::Options),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().bench {
        Bench::Ask(options) => ask::run(options),
        Bench::Queue(options) => queue::run(options),
        Bench::Acquire(options) => acquire::run(options),
        Bench::Dynamodb(options) => dynamodb::run(options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
