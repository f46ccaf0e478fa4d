//! Prepares the clients, then runs pytest.

use std::io;

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

/// What is promised within a time: it is measured on the embedded store in every run, and on a table when somebody asks.
const TIMED: &str = "test_ledger_promises.py";

/// What queues are to do wherever limits are.
const QUEUES: &str = "test_queue_conformance.py";

/// All that it says of entities, limits and leases, and of queues, with all limits in a table.
pub fn run_ledger_on_dynamodb(workspace: &Workspace) -> Result<Tally> {
    let files = std::fs::read_dir(workspace.path(FOLDER))?.collect::<io::Result<Vec<_>>>()?;
    let names = files.into_iter().filter_map(|file| file.file_name().into_string().ok());
    let mut ledger: Vec<String> = names
        .filter(|name| name.starts_with("test_ledger_") && name.ends_with(".py") && name != TIMED)
        .collect();
    // A folder has no order, and a test that fails is to fail in the same company again.
    ledger.sort_unstable();
    ledger.push(QUEUES.to_owned());
    run(workspace, Store::Dynamodb, &ledger)
}
