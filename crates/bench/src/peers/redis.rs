//! `redis-server` from Debian's packages, without persistence or with its log of commands.

use std::net::SocketAddr;
use std::process::Command;

use anyhow::{Context, Result};

use super::install::Packaged;
use super::process::{Process, START_WITHIN, free_address};
use crate::command;

const SERVER: Packaged = Packaged { program: "redis-server", package: "redis-server" };
const CLI: Packaged = Packaged { program: "redis-cli", package: "redis-tools" };
/// The load generator that comes with it.
pub const BENCHMARK: Packaged = Packaged { program: "redis-benchmark", package: "redis-tools" };

/// A running Redis.
pub struct Redis {
    /// The process.
    pub process: Process,
    /// Where it listens.
    pub address: SocketAddr,
}

/// When Redis syncs its log to disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fsync {
    /// Before it answers.
    Always,
    /// Once a second.
    EverySecond,
}

impl Redis {
    /// Installs it if it is missing, and starts it without persistence.
    pub fn start() -> Result<Redis> {
        Redis::start_with(&["--appendonly", "no"])
    }

    /// The same with its log of commands.
    pub fn start_durable(fsync: Fsync) -> Result<Redis> {
        let fsync = match fsync {
            Fsync::Always => "always",
            Fsync::EverySecond => "everysec",
        };
        Redis::start_with(&["--appendonly", "yes", "--appendfsync", fsync])
    }

    fn start_with(options: &[&str]) -> Result<Redis> {
        let mut server = Command::new(SERVER.ensure()?);
        let address = free_address()?;
        server.args(["--bind", "127.0.0.1", "--port", &address.port().to_string()]);
        server.args(["--save", ""]).args(options);
        let mut process = Process::start("redis-server", server)?;
        process.await_listening(&[address])?;
        Ok(Redis { process, address })
    }

    /// Stores a Lua script and returns the digest that EVALSHA calls it by.
    pub fn load_script(&self, lua: &str) -> Result<String> {
        let mut cli = Command::new(CLI.ensure()?);
        cli.args(["-p", &self.address.port().to_string(), "SCRIPT", "LOAD", lua]);
        let digest = command::stdout_within(&mut cli, START_WITHIN).context("cannot load the script")?;
        Ok(digest.trim().to_string())
    }
}
