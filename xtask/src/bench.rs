//! `cargo xtask bench NAME`: the benchmark crate, always in release.

use anyhow::Result;

use crate::process;
use crate::workspace::Workspace;

/// Builds and runs one benchmark; the crate itself starts the peers and prints the table.
pub fn run(workspace: &Workspace, name: &str, args: &[String]) -> Result<()> {
    let mut command =
        process::cargo(workspace, &["run", "--release", "--package", "tidegate-bench", "--", name]);
    process::run(command.args(args))
}
