//! `beanstalkd` from Debian's packages, with its binlog.

use std::net::SocketAddr;
use std::process::Command;

use anyhow::Result;

use super::install::Packaged;
use super::process::{Process, free_address};

const SERVER: Packaged = Packaged { program: "beanstalkd", package: "beanstalkd" };

/// A running beanstalkd.
pub struct Beanstalkd {
    /// The process.
    pub process: Process,
    /// Where it listens.
    pub address: SocketAddr,
}

/// When it syncs its binlog to disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fsync {
    /// After every write, before it answers.
    Always,
    /// When the kernel sees fit.
    Never,
}

impl Beanstalkd {
    /// Installs it if it is missing, and starts it.
    pub fn start(fsync: Fsync) -> Result<Beanstalkd> {
        let mut server = Command::new(SERVER.ensure()?);
        let address = free_address()?;
        server.args(["-l", "127.0.0.1", "-p", &address.port().to_string(), "-b", "."]);
        match fsync {
            Fsync::Always => server.args(["-f", "0"]),
            Fsync::Never => server.arg("-F"),
        };
        let mut process = Process::start("beanstalkd", server)?;
        process.await_listening(&[address])?;
        Ok(Beanstalkd { process, address })
    }
}
