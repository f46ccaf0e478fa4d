//! The tests of `tests/dynamodb`: a table that is shared with zae-limiter, faults of the service, several servers.

use anyhow::Result;

use super::{python, server};
use crate::emulator;
use crate::pipeline::Tally;
use crate::workspace::Workspace;

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
