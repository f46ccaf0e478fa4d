//! Prepares the clients, then runs pytest.

use anyhow::Result;

use super::store::Store;
use super::{node, packages, python, server};
use crate::pipeline::Tally;
use crate::workspace::Workspace;

/// Where the suite is.
const FOLDER: &str = "tests/wire";

/// Runs the whole suite, or what the arguments select.
pub fn run(workspace: &Workspace, store: Store, pytest_args: &[String]) -> Result<Tally> {
    packages::require(&packages::REDIS_TOOLS)?;
    let node_modules = node::prepare(workspace)?;
    let mut pytest = python::prepare(workspace, "wire")?;
    server::build(workspace)?;
    store.prepare(workspace, &mut pytest)?;
    pytest
        .args(["-m", "pytest", "-p", "no:cacheprovider"])
        .args(pytest_args)
        .current_dir(workspace.path(FOLDER))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("NODE_PATH", node_modules)
        .env("TIDEGATE_BIN", server::binary(workspace));
    Tally::of(&mut pytest)
}

/// What it says of entities, limits and leases, with all of them in a table: over the doors that differ most. All of it
/// is `cargo xtask wire --store dynamodb`.
pub fn run_ledger_on_dynamodb(workspace: &Workspace) -> Result<Tally> {
    let files = ["conformance", "entities", "leases"].map(|name| format!("test_ledger_{name}.py"));
    let doors = ["-k".to_owned(), "resp2 or http".to_owned()];
    run(workspace, Store::Dynamodb, &[&files[..], &doors[..]].concat())
}
