//! Where the workspace is on disk, and where things inside it are.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The checkout that this command works on.
pub struct Workspace {
    /// The folder with the workspace's `Cargo.toml`.
    pub root: PathBuf,
}

impl Workspace {
    /// Cargo tells a running package where its manifest is; the workspace is one folder up.
    pub fn locate() -> Result<Self> {
        let manifest_dir = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = manifest_dir.parent().context("xtask has no parent folder; run it as `cargo xtask`")?;
        Ok(Self { root: root.to_path_buf() })
    }

    /// A path inside the checkout.
    pub fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.root.join(relative)
    }

    /// Where cargo puts what it builds.
    pub fn target_dir(&self) -> PathBuf {
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| self.path("target"), |dir| self.root.join(dir))
    }
}
