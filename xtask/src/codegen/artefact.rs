//! Writing generated files, or telling which of the committed ones are not fresh.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use super::sources::SOURCES;
use crate::workspace::Workspace;

/// One folder of generated files and the function that makes them.
pub struct Source {
    /// Where the files go, from the root of the workspace.
    pub output_dir: &'static str,
    /// Makes all of them, in memory.
    pub produce: fn(&Workspace) -> Result<Vec<Artefact>>,
}

/// One generated file.
pub struct Artefact {
    /// Its name inside the source's `output_dir`.
    pub name: String,
    /// All of it.
    pub content: Vec<u8>,
}

/// What to do with the generated files.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Replace the committed files.
    Write,
    /// Leave them and fail when one differs.
    Check,
}

impl Mode {
    /// `--check` given or not.
    pub fn from_check_flag(check: bool) -> Self {
        if check { Self::Check } else { Self::Write }
    }
}

/// Produces everything, then writes it or compares it.
pub fn run(workspace: &Workspace, mode: Mode) -> Result<()> {
    let mut stale = Vec::new();
    for source in SOURCES {
        for artefact in (source.produce)(workspace)? {
            let relative = PathBuf::from(source.output_dir).join(&artefact.name);
            let path = workspace.path(&relative);
            if fs::read(&path).is_ok_and(|committed| committed == artefact.content) {
                continue;
            }
            match mode {
                Mode::Check => stale.push(relative.display().to_string()),
                Mode::Write => write(path, &artefact.content)?,
            }
        }
    }
    if !stale.is_empty() {
        bail!("not fresh: {}\nhint: run `cargo xtask codegen` and commit the result", stale.join(", "));
    }
    Ok(())
}

fn write(path: PathBuf, content: &[u8]) -> Result<()> {
    let folder = path.parent().context("a generated file lies in a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))?;
    println!("wrote {}", path.display());
    Ok(())
}
