//! `nats-server` from Debian's packages, with JetStream on files. This version syncs them every two minutes.

use std::net::SocketAddr;
use std::process::Command;

use anyhow::Result;

use super::install::Packaged;
use super::process::{Process, free_address};

const SERVER: Packaged = Packaged { program: "nats-server", package: "nats-server" };

/// A running nats-server.
pub struct Nats {
    /// The process.
    pub process: Process,
    /// Where it listens.
    pub address: SocketAddr,
}

impl Nats {
    /// Installs it if it is missing, and starts it.
    pub fn start() -> Result<Nats> {
        let mut server = Command::new(SERVER.ensure()?);
        let address = free_address()?;
        server.args(["--addr", "127.0.0.1", "--port", &address.port().to_string()]);
        server.args(["--jetstream", "--store_dir", "data"]);
        let mut process = Process::start("nats-server", server)?;
        process.await_listening(&[address])?;
        Ok(Nats { process, address })
    }
}
