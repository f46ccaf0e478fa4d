//! Where the server under test keeps entities and limits.

use std::process::Command;

use anyhow::Result;

use crate::emulator;
use crate::workspace::Workspace;

/// One of the two stores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Store {
    /// In its own data directory.
    #[default]
    Embedded,
    /// In a table on the emulator.
    Dynamodb,
}

impl Store {
    /// Makes what it needs, and tells the tests of it.
    pub fn prepare(self, workspace: &Workspace, pytest: &mut Command) -> Result<()> {
        if self == Self::Dynamodb {
            pytest.env("WIRE_STORE", "dynamodb").env("EMULATOR_BIN", emulator::build_program(workspace)?);
        }
        Ok(())
    }
}
