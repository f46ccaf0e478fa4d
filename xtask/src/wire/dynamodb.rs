//! The tests of `tests/dynamodb`: a table that is shared with zae-limiter, faults of the service, several servers.

use anyhow::Result;

use super::{python, server};
use crate::emulator;
use crate::pipeline::Tally;
use crate::workspace::Workspace;

/// What a machine that has other things to do does not make fail: no shares of a limit over a few seconds, no outages.
const STEADY: [&str; 6] = [
    "test_shared_layout.py",
    "test_shared_refusals.py",
    "test_shared_settings.py",
    "test_shared_traffic.py",
    "test_table_commands.py",
    "test_faults_single.py",
];

/// Runs those that every run of the pipeline has.
pub fn run_steady(workspace: &Workspace) -> Result<Tally> {
    run(workspace, &STEADY.map(str::to_owned))
}

/// Runs all of them, or what the arguments select.
pub fn run(workspace: &Workspace, pytest_args: &[String]) -> Result<Tally> {
    let mut pytest = python::prepare(workspace, "dynamodb")?;
    server::build(workspace)?;
    let emulator = emulator::build_program(workspace)?;
    pytest
        .args(["-m", "pytest", "-p", "no:cacheprovider"])
        .args(pytest_args)
        .current_dir(workspace.path("tests/dynamodb"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("EMULATOR_BIN", emulator)
        .env("TIDEGATE_BIN", server::binary(workspace));
    Tally::of(&mut pytest)
}
