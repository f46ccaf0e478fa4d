//! A binary without DynamoDB shares no table.

use std::path::Path;
use std::sync::Arc;

use tidegate_ledger::{Ledger, RemoteOptions};
use tidegate_limiter::Clock;

use super::Error;
use crate::api::ledger::Embedded;
use crate::config::{self, Config};

/// There is none.
pub enum Shared {}

/// There is none.
pub enum Drawing {}

impl Shared {
    /// None. A configuration that names one is refused where it is read.
    pub fn connect(_: &Config, _: &Path) -> Result<Option<Shared>, Error> {
        Ok(None)
    }

    /// Never.
    pub fn remote(&self, _: &config::Ledger) -> RemoteOptions {
        match *self {}
    }

    /// Never.
    pub fn start(self, _: &Config, _: &Arc<Ledger>, _: &Clock) -> Result<(Drawing, Embedded), Error> {
        match self {}
    }
}

impl Drawing {
    /// Never.
    pub fn stop(self) {
        match self {}
    }
}
