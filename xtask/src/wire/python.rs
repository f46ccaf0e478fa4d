//! Virtual environments under the target directory with the pinned Python packages.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};

use super::packages;
use crate::process;
use crate::workspace::Workspace;

/// Makes the environment of a folder of `tests` unless it is there for the same requirements, and returns its python.
pub fn prepare(workspace: &Workspace, folder: &str) -> Result<Command> {
    let venv = workspace.target_dir().join(folder).join("venv");
    let python = venv.join("bin/python");
    let requirements = workspace.path("tests").join(folder).join("requirements.txt");
    let wanted =
        fs::read(&requirements).with_context(|| format!("cannot read {}", requirements.display()))?;
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
