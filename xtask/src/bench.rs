//! `cargo xtask bench NAME`: the benchmark crate, always in release.

use anyhow::Result;

use crate::workspace::Workspace;
use crate::{emulator, process};

/// Builds and runs one benchmark; the crate itself starts the peers and prints the table.
pub fn run(workspace: &Workspace, name: &str, args: &[String]) -> Result<()> {
    if name == "dynamodb" {
        emulator::install(workspace)?;
    }
    let mut command =
        process::cargo(workspace, &["run", "--release", "--package", "tidegate-bench", "--", name]);
    process::run(command.args(args))
}
