//! The parts of `deny.toml` that can be checked offline. `cargo deny check` reads the same file.

use std::fs;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::workspace::Workspace;

/// What `deny.toml` allows.
#[derive(Default, Deserialize)]
pub struct Deny {
    /// Which licences a dependency may have.
    pub licenses: Licences,
    /// Which crates may not be used.
    pub bans: Bans,
    /// Where crates may come from.
    pub sources: Sources,
}

/// `[licenses]`
#[derive(Default, Deserialize)]
pub struct Licences {
    /// SPDX identifiers, `X WITH Y` included.
    pub allow: Vec<String>,
    /// More identifiers, for one crate each.
    #[serde(default)]
    pub exceptions: Vec<Exception>,
}

/// One crate that may have licences of its own.
#[derive(Deserialize)]
pub struct Exception {
    /// Its name.
    #[serde(rename = "crate")]
    pub name: String,
    /// What it may have besides.
    pub allow: Vec<String>,
}

/// `[bans]`
#[derive(Default, Deserialize)]
pub struct Bans {
    /// The crates that may not be used.
    pub deny: Vec<Ban>,
}

/// One crate that may not be used.
#[derive(Deserialize)]
pub struct Ban {
    /// Its name.
    #[serde(rename = "crate")]
    pub name: String,
    /// Why not.
    pub reason: String,
}

/// `[sources]`
#[derive(Default, Deserialize)]
pub struct Sources {
    /// Addresses of registry indexes.
    #[serde(rename = "allow-registry")]
    pub allow_registry: Vec<String>,
}

impl Deny {
    /// Reads the file.
    pub fn load(workspace: &Workspace) -> Result<Self> {
        let text = fs::read_to_string(workspace.path("deny.toml")).context("cannot read deny.toml")?;
        toml::from_str(&text).context("deny.toml is not as tidy expects it")
    }
}
