//! Peers that are not there: Debian packages are installed when we may, else the caller is told what to do.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::command;

/// A program, and the Debian package that brings it.
#[derive(Clone, Copy)]
pub struct Packaged {
    /// What is run.
    pub program: &'static str,
    /// What is installed.
    pub package: &'static str,
}

impl Packaged {
    /// The program on the PATH, installed first if it has to be.
    pub fn ensure(self) -> Result<PathBuf> {
        let Packaged { program, package } = self;
        if let Some(path) = on_path(program) {
            return Ok(path);
        }
        if !is_root() || on_path("apt-get").is_none() {
            bail!("{program} is not installed; run `apt-get install {package}`");
        }
        eprintln!("installing {package}");
        // The package lists may be absent or old: fetch them only when the first try fails.
        if apt_get(&["install", package]).is_err() {
            apt_get(&["update"]).context("cannot fetch the package lists")?;
            apt_get(&["install", package]).with_context(|| format!("cannot install {package}"))?;
        }
        on_path(program).with_context(|| format!("{package} brought no {program}"))
    }
}

fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(program)).find(|file| file.is_file())
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

fn apt_get(args: &[&str]) -> Result<()> {
    let mut apt_get = Command::new("apt-get");
    // Stdout is for the table.
    apt_get.args(["--yes", "--quiet", "--no-install-recommends"]).args(args).stdout(Stdio::null());
    command::run(apt_get.env("DEBIAN_FRONTEND", "noninteractive"))
}
