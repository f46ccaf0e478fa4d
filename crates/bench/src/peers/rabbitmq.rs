//! `rabbitmq-server` from Debian's packages: one node, no plug-ins, everything it writes in its own folder.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use super::install::Packaged;
use super::process::{Process, folder, free_address};

const SERVER: Packaged = Packaged { program: "rabbitmq-server", package: "rabbitmq-server" };
/// Erlang's name service, which a node insists on.
const EPMD: Packaged = Packaged { program: "epmd", package: "erlang-base" };
/// The script behind the one on the PATH, which would change to a user and a folder of its own.
const SCRIPT: &str = "/usr/lib/rabbitmq/bin/rabbitmq-server";
/// Its runtime alone takes seconds to load.
const START_WITHIN: Duration = Duration::from_secs(60);

/// A running RabbitMQ.
pub struct RabbitMq {
    /// The process: Erlang's runtime, into which the start script turns.
    pub process: Process,
    /// Where it speaks AMQP.
    pub address: SocketAddr,
    /// Ours, so that none is left running.
    _epmd: Process,
}

impl RabbitMq {
    /// Installs it if it is missing, and starts it.
    pub fn start() -> Result<RabbitMq> {
        let on_path = SERVER.ensure()?;
        let script = if Path::new(SCRIPT).is_file() { PathBuf::from(SCRIPT) } else { on_path };
        let (names, address, peers) = (free_address()?, free_address()?, free_address()?);
        let epmd = start_epmd(names)?;

        let dir = folder()?;
        let plugins = dir.path().join("plugins");
        std::fs::write(&plugins, "[].").context("cannot write the list of plug-ins")?;
        let mut server = Command::new(script);
        server.env("HOME", dir.path());
        server.env("ERL_EPMD_PORT", names.port().to_string());
        server.env("RABBITMQ_NODENAME", "bench@localhost");
        server.env("RABBITMQ_NODE_IP_ADDRESS", address.ip().to_string());
        server.env("RABBITMQ_NODE_PORT", address.port().to_string());
        server.env("RABBITMQ_DIST_PORT", peers.port().to_string());
        server.env("RABBITMQ_MNESIA_BASE", dir.path().join("mnesia"));
        server.env("RABBITMQ_LOG_BASE", dir.path().join("logs"));
        server.env("RABBITMQ_CONFIG_FILE", dir.path().join("rabbitmq"));
        server.env("RABBITMQ_CONF_ENV_FILE", "/dev/null");
        server.env("RABBITMQ_ENABLED_PLUGINS_FILE", plugins);
        // The script then replaces itself with the runtime instead of waiting for it, and so has its process id.
        server.env("RABBITMQ_ALLOW_INPUT", "true").env("RABBITMQ_SERVER_START_ARGS", "-noinput");
        let mut process = Process::start_in(dir, "rabbitmq-server", server)?;
        process.await_listening_within(START_WITHIN, &[address])?;
        Ok(RabbitMq { process, address, _epmd: epmd })
    }
}

fn start_epmd(address: SocketAddr) -> Result<Process> {
    let mut epmd = Command::new(EPMD.ensure()?);
    epmd.args(["-port", &address.port().to_string()]);
    let mut epmd = Process::start("epmd", epmd)?;
    epmd.await_listening(&[address])?;
    Ok(epmd)
}
