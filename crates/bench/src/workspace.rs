//! Where the checkout is, and what is built and kept in it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::command;

/// The checkout that is measured.
pub struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// The one that this program was built from.
    pub fn locate() -> Result<Workspace> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
        let root = root.context("the bench crate is not inside a workspace")?;
        Ok(Workspace { root: root.to_path_buf() })
    }

    /// Where reports and installed peers are kept.
    pub fn bench_dir(&self) -> PathBuf {
        self.root.join("target/bench")
    }

    /// A `cargo` of the same toolchain, at the root.
    pub fn cargo(&self, args: &[&str]) -> Command {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args(args).current_dir(&self.root);
        command
    }

    /// Builds the server as it is released, and says where it is.
    pub fn build_server(&self) -> Result<PathBuf> {
        command::run(&mut self.cargo(&["build", "--release", "--package", "tidegate"]))?;
        let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
        Ok(self.root.join(target).join("release/tidegate"))
    }
}
