//! Prepares the clients, then runs pytest.

use anyhow::Result;

use super::{node, packages, python, server};
use crate::pipeline::Tally;
use crate::workspace::Workspace;

/// Runs the whole suite, or what the arguments select.
pub fn run(workspace: &Workspace, pytest_args: &[String]) -> Result<Tally> {
    packages::require(&packages::REDIS_TOOLS)?;
    let node_modules = node::prepare(workspace)?;
    let mut pytest = python::prepare(workspace)?;
    server::build(workspace)?;
    pytest
        .args(["-m", "pytest", "-p", "no:cacheprovider"])
        .args(pytest_args)
        .current_dir(workspace.path("tests/wire"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("NODE_PATH", node_modules)
        .env("TIDEGATE_BIN", server::binary(workspace));
    Tally::of(&mut pytest)
}
