//! The table: on an emulator, behind a proxy that makes every call longer and counts what it cost.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use tidegate_emulator::{Emulator, Proxy};

use super::meter::Meter;
use crate::command;

/// What every call takes longer than on the emulator itself.
pub const LATENCY: Duration = Duration::from_millis(5);
/// The table's name.
pub const NAME: &str = "bench";
/// Where it would be.
pub const REGION: &str = "us-east-1";
const CREATE_WITHIN: Duration = Duration::from_secs(20);

/// No chain of credentials may reach further than this: nothing here is for AWS.
pub const CREDENTIALS: [(&str, &str); 4] = [
    ("AWS_ACCESS_KEY_ID", "test"),
    ("AWS_SECRET_ACCESS_KEY", "test"),
    ("AWS_REGION", REGION),
    ("AWS_EC2_METADATA_DISABLED", "true"),
];

/// A table that nodes and the Python library share.
pub struct Table {
    emulator: Emulator,
    proxy: Proxy,
    /// What calls cost so far.
    pub meter: Meter,
}

impl Table {
    /// Starts the emulator, and makes the table as users do.
    pub fn create(tidegate: &Path) -> Result<Table> {
        let emulator = Emulator::start();
        let proxy = Proxy::before(&emulator);
        let mut create = Command::new(tidegate);
        create.args(["dynamodb", "create-table", "--table", NAME, "--region", REGION]);
        create.args(["--endpoint", &emulator.endpoint()]).envs(CREDENTIALS);
        command::stdout_within(&mut create, CREATE_WITHIN).context("cannot create the table")?;
        proxy.set_latency(LATENCY);
        let meter = Meter::on(&proxy);
        Ok(Table { emulator, proxy, meter })
    }

    /// Where it is reached.
    pub fn endpoint(&self) -> String {
        self.proxy.endpoint()
    }

    /// The proxy, without what it says of itself.
    pub fn address(&self) -> SocketAddr {
        self.proxy.address()
    }

    /// The emulator behind it.
    pub fn direct_address(&self) -> SocketAddr {
        self.emulator.address()
    }

    /// Does something while calls take no longer than they do.
    pub fn without_latency<T>(&self, work: impl FnOnce() -> T) -> T {
        self.proxy.set_latency(Duration::ZERO);
        let done = work();
        self.proxy.set_latency(LATENCY);
        done
    }
}
