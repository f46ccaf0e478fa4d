//! `throttlecrab-server` from the crate registry, with all of its transports and its default store.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use super::install::Packaged;
use super::process::{Process, free_address};
use crate::command;
use crate::workspace::Workspace;

/// The version that Tidegate is held against.
pub const VERSION: &str = "0.4.40";
/// Its build script needs this.
const PROTOC: Packaged = Packaged { program: "protoc", package: "protobuf-compiler" };

/// A running throttlecrab-server.
pub struct Throttlecrab {
    /// The process.
    pub process: Process,
    /// Where it speaks RESP.
    pub resp: SocketAddr,
    /// Where it speaks HTTP.
    pub http: SocketAddr,
    /// Where it speaks gRPC.
    pub grpc: SocketAddr,
}

impl Throttlecrab {
    /// Installs it if it is missing, and starts it.
    pub fn start(workspace: &Workspace) -> Result<Throttlecrab> {
        let (resp, http, grpc) = (free_address()?, free_address()?, free_address()?);
        let mut server = Command::new(ensure(workspace)?);
        for (transport, address) in [("redis", resp), ("http", http), ("grpc", grpc)] {
            server.arg(format!("--{transport}"));
            server.args([format!("--{transport}-host"), address.ip().to_string()]);
            server.args([format!("--{transport}-port"), address.port().to_string()]);
        }
        server.args(["--log-level", "warn"]);
        let mut process = Process::start("throttlecrab-server", server)?;
        process.await_listening(&[resp, http, grpc])?;
        Ok(Throttlecrab { process, resp, http, grpc })
    }
}

fn ensure(workspace: &Workspace) -> Result<PathBuf> {
    let root = workspace.bench_dir().join("peers");
    let program = root.join("bin/throttlecrab-server");
    if program.is_file() {
        return Ok(program);
    }
    PROTOC.ensure().context("throttlecrab-server cannot be built")?;
    eprintln!("installing throttlecrab-server {VERSION}");
    let mut install = workspace.cargo(&["install", "throttlecrab-server", "--version", VERSION, "--root"]);
    // A target folder that is shared would keep the outcome of a build script that ran before protoc was there.
    install.arg(&root).env_remove("CARGO_TARGET_DIR").stdout(Stdio::null());
    command::run(&mut install).context("cannot install throttlecrab-server")?;
    Ok(program)
}
