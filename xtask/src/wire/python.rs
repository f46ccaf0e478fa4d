//! A virtual environment under the target directory with the pinned Python clients.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};

use super::packages;
use crate::process;
use crate::workspace::Workspace;

/// Makes the environment unless it is there for the same requirements, and returns its python.
pub fn prepare(workspace: &Workspace) -> Result<Command> {
    let venv = workspace.target_dir().join("wire/venv");
    let python = venv.join("bin/python");
    let requirements = workspace.path("tests/wire/requirements.txt");
    let wanted = fs::read(&requirements).context("cannot read tests/wire/requirements.txt")?;
    let stamp = venv.join("installed-requirements.txt");
    if !fs::read(&stamp).is_ok_and(|installed| installed == wanted) {
        packages::require(&packages::PYTHON)?;
        process::run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&venv))?;
        process::run(
            Command::new(&python)
                .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"])
                .arg(&requirements),
        )?;
        fs::write(&stamp, wanted)?;
    }
    Ok(Command::new(python))
}
