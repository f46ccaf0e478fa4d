//! The pinned Node.js clients, installed under the target directory.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use super::packages;
use crate::process;
use crate::workspace::Workspace;

/// Installs them unless the same ones are there, and returns the folder for NODE_PATH.
pub fn prepare(workspace: &Workspace) -> Result<PathBuf> {
    packages::require(&packages::NODE)?;
    let folder = workspace.target_dir().join("wire/node");
    let modules = folder.join("node_modules");
    let manifest = workspace.path("tests/wire/node/package.json");
    let wanted = fs::read(&manifest).context("cannot read tests/wire/node/package.json")?;
    let stamp = folder.join("installed-package.json");
    if !fs::read(&stamp).is_ok_and(|installed| installed == wanted) {
        fs::create_dir_all(&folder)?;
        fs::copy(&manifest, folder.join("package.json"))?;
        process::run(
            Command::new("npm")
                .args(["install", "--no-audit", "--no-fund", "--loglevel=error"])
                .current_dir(&folder),
        )?;
        fs::write(&stamp, wanted)?;
    }
    Ok(modules)
}
