//! `cargo xtask`: the one entry for developers. `test` is what CI runs; the other commands are its parts.
//!
//! Depends on no other crate of the workspace, so that it builds while they do not.

mod bench;
mod codegen;
mod emulator;
mod pipeline;
mod process;
mod tidy;
mod wire;
mod workspace;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// The one entry for developers of Tidegate.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run everything that CI runs, installing what the tests need
    Test,
    /// Check the rules of the codebase: crate edges, module docs, licences and so on
    Tidy,
    /// Install the DynamoDB emulator that tests and benchmarks run on, unless it is there
    Emulator,
    /// Run the real-client tests of `tests/wire` against the release server
    Wire {
        /// Where servers keep entities and limits
        #[arg(long, value_enum, default_value_t)]
        store: wire::Store,
        /// Passed on to pytest, e.g. `-k resp3 -x`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        pytest_args: Vec<String>,
    },
    /// Run the tests of limits on DynamoDB of `tests/dynamodb` against the release server
    Dynamodb {
        /// Passed on to pytest, e.g. `-k cascade -x`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        pytest_args: Vec<String>,
    },
    /// Check the Python package and run its tests against the release server
    Python {
        /// Passed on to pytest, e.g. `-k acquire -x`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        pytest_args: Vec<String>,
    },
    /// Run a benchmark beside its peers, e.g. `cargo xtask bench ask --quick`
    Bench {
        /// Which benchmark to run
        name: String,
        /// Passed on to the benchmark, e.g. `--quick`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Regenerate the committed files that are produced from a definition elsewhere
    Codegen {
        /// Change nothing; fail when a committed file is not fresh
        #[arg(long)]
        check: bool,
    },
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<()> {
    let workspace = workspace::Workspace::locate()?;
    match command {
        Command::Test => pipeline::run(&workspace),
        Command::Tidy => tidy::run(&workspace),
        Command::Emulator => emulator::install(&workspace),
        Command::Wire { store, pytest_args } => wire::run(&workspace, store, &pytest_args).map(drop),
        Command::Dynamodb { pytest_args } => wire::run_dynamodb(&workspace, &pytest_args).map(drop),
        Command::Python { pytest_args } => wire::run_package(&workspace, &pytest_args).map(drop),
        Command::Bench { name, args } => bench::run(&workspace, &name, &args),
        Command::Codegen { check } => codegen::run(&workspace, codegen::Mode::from_check_flag(check)),
    }
}
