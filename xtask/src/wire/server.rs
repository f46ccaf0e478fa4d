//! The server under test, as its users build it.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::process;
use crate::workspace::Workspace;

/// Builds the release server.
pub fn build(workspace: &Workspace) -> Result<()> {
    process::run(&mut process::cargo(workspace, &["build", "--release", "--package", "tidegate"]))
}

/// Where it then is.
pub fn binary(workspace: &Workspace) -> PathBuf {
    workspace.target_dir().join("release/tidegate")
}

/// A server on ports that are free, with an empty data directory; ended when dropped.
pub struct RunningServer {
    child: Child,
    /// Where its RESP door is.
    pub resp_address: String,
}

impl RunningServer {
    /// Starts it, and returns once it has said where its doors are.
    pub fn start(workspace: &Workspace) -> Result<Self> {
        let any_port = ["http", "resp", "msgpack"].map(|door| format!("--{door}=127.0.0.1:0"));
        let data_dir = workspace.target_dir().join("example-data");
        if data_dir.exists() {
            std::fs::remove_dir_all(&data_dir).context("cannot empty the data directory")?;
        }
        let mut command = Command::new(binary(workspace));
        command.arg("serve").args(any_port).arg("--data-dir").arg(data_dir);
        let mut child = command.stdout(Stdio::piped()).spawn().context("cannot start the server")?;
        let stdout = child.stdout.take().context("the server has no stdout")?;
        for line in BufReader::new(stdout).lines() {
            if let Some(address) = line?.trim_start().strip_prefix("resp ") {
                return Ok(Self { child, resp_address: address.trim().to_owned() });
            }
        }
        bail!("the server did not say where its RESP door is");
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        // One that has ended by itself needs nothing more.
        if self.child.kill().is_ok() {
            self.child.wait().ok();
        }
    }
}
