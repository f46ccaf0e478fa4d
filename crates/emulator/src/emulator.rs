//! The emulator as a child process: a free port, nothing on disk, gone with its owner.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Instant;

use crate::patience::{PATIENCE, PAUSE};

/// Where `cargo xtask emulator` puts it, below the target directory.
const INSTALLED: &str = "tools/bin/dynoxide";

/// A port may be taken by somebody else between our look and its start.
const ATTEMPTS: usize = 10;

/// A running emulator with tables of its own; dropped, it ends and they are gone.
#[derive(Debug)]
pub struct Emulator {
    child: Child,
    address: SocketAddr,
}

impl Emulator {
    /// Starts one, and returns when it answers.
    ///
    /// # Panics
    /// When it is not installed, or does not come up: no test can go on then.
    #[must_use]
    pub fn start() -> Self {
        let program = program();
        for _ in 0..ATTEMPTS {
            let address = free_address().expect("a free port");
            if let Some(emulator) = Self::start_at(&program, address) {
                return emulator;
            }
        }
        panic!("{} did not start on any of {ATTEMPTS} ports", program.display());
    }

    /// Nothing if it ended at once, as it does when the port is taken.
    fn start_at(program: &PathBuf, address: SocketAddr) -> Option<Self> {
        let child = Command::new(program)
            .args([
                "--log",
                "quiet",
                "--host",
                &address.ip().to_string(),
                "--port",
                &address.port().to_string(),
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {}: {error}", program.display()));
        let mut emulator = Self { child, address };
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if !matches!(emulator.child.try_wait(), Ok(None)) {
                return None;
            }
            if is_healthy(address).unwrap_or(false) {
                return Some(emulator);
            }
            pause();
        }
        panic!("{} did not answer within {PATIENCE:?}", program.display());
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What to give to an SDK as the endpoint.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        // One that has ended by itself needs nothing more.
        if self.child.kill().is_ok() {
            self.child.wait().ok();
        }
    }
}

/// `DYNOXIDE_BIN`, or what is installed below the target directory that this program runs from.
fn program() -> PathBuf {
    if let Some(program) = std::env::var_os("DYNOXIDE_BIN") {
        return program.into();
    }
    let ours = std::env::current_exe().expect("a program knows where it is");
    let installed = ours.ancestors().map(|folder| folder.join(INSTALLED)).find(|program| program.is_file());
    installed.unwrap_or_else(|| {
        panic!("no {INSTALLED} in the target directory\nhint: install it with `cargo xtask emulator`, or name one by DYNOXIDE_BIN")
    })
}

fn free_address() -> io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}

/// It says so to a plain GET.
fn is_healthy(address: SocketAddr) -> io::Result<bool> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(format!("GET / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer.starts_with("HTTP/1.1 200"))
}

/// Nobody sends: this ends by its timeout.
fn pause() {
    let (_sender, nothing) = mpsc::channel::<()>();
    nothing.recv_timeout(PAUSE).ok();
}
