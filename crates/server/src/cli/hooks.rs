//! `tidegate hooks`: look at the scripts of queues without a server.

mod message;
mod report;
mod trial;

use std::process::ExitCode;

use clap::Subcommand;

use super::Failure;

pub use trial::Error;

/// Try the Lua hooks of a queue.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Test(trial::Args),
}

/// Runs what was asked for.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    match args.action {
        Action::Test(args) => trial::run(args),
    }
}
