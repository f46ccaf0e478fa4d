//! `tidegate bench`: put load on a running server and see how it does.

mod ask;
mod duration;
mod latency_chart;
mod progress;
mod summary;

use std::process::ExitCode;

use clap::Subcommand;

use super::Failure;

/// Put load on a running server and measure it.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub struct Args {
    #[command(subcommand)]
    door: Door,
}

#[derive(Debug, Subcommand)]
enum Door {
    Ask(ask::Args),
}

/// Runs the load and prints what it came to.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    match args.door {
        Door::Ask(args) => ask::run(args),
    }
}
