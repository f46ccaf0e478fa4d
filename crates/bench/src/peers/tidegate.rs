//! Tidegate itself, as its users start it, on ports of its own choice.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use tempfile::TempDir;

use super::process::{Process, START_WITHIN, folder};

/// A running Tidegate.
pub struct Tidegate {
    /// The process.
    pub process: Process,
    /// Where each of its doors listens.
    pub doors: Doors,
}

/// The addresses that the server prints when it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doors {
    /// HTTP and gRPC on one port.
    pub http: SocketAddr,
    /// The Redis protocol.
    pub resp: SocketAddr,
    /// MessagePack over TCP.
    pub msgpack: SocketAddr,
}

impl Tidegate {
    /// Starts that binary with further options for `serve`.
    pub fn start(binary: &Path, options: &[&str]) -> Result<Tidegate> {
        Tidegate::start_in(folder()?, binary, options)
    }

    /// The same in the folder of one that has ended, with the data that it left.
    pub fn start_in(dir: TempDir, binary: &Path, options: &[&str]) -> Result<Tidegate> {
        Tidegate::launch(dir, Command::new(binary), options)
    }

    /// Starts that binary in a folder of its own with these variables.
    pub fn start_with_env(binary: &Path, environment: &[(&str, &str)]) -> Result<Tidegate> {
        let mut server = Command::new(binary);
        server.envs(environment.iter().copied());
        Tidegate::launch(folder()?, server, &[])
    }

    fn launch(dir: TempDir, mut server: Command, options: &[&str]) -> Result<Tidegate> {
        server.arg("serve");
        for door in ["--http", "--resp", "--msgpack"] {
            server.args([door, "127.0.0.1:0"]);
        }
        server.args(["--data-dir", "data"]).args(options);
        let (mut process, printed) = Process::start_printing(dir, "tidegate", server)?;
        let lines = std::iter::from_fn(|| printed.recv_timeout(START_WITHIN).ok());
        let doors = read_doors(lines).ok_or_else(|| process.failure("did not say where its doors are"))?;
        process.await_listening(&[doors.http, doors.resp, doors.msgpack])?;
        Ok(Tidegate { process, doors })
    }
}

/// Reads lines such as `  resp       127.0.0.1:6380` until all doors are known.
fn read_doors(lines: impl Iterator<Item = String>) -> Option<Doors> {
    let (mut http, mut resp, mut msgpack) = (None, None, None);
    for line in lines {
        let mut words = line.split_whitespace();
        let door = match words.next() {
            Some("http+grpc") => &mut http,
            Some("resp") => &mut resp,
            Some("msgpack") => &mut msgpack,
            _ => continue,
        };
        *door = words.next().and_then(|address| address.parse().ok());
        if let (Some(http), Some(resp), Some(msgpack)) = (http, resp, msgpack) {
            return Some(Doors { http, resp, msgpack });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(printed: &str, doors: Option<Doors>) {
        assert_eq!(read_doors(printed.lines().map(str::to_string)), doors, "{printed}");
    }

    #[test]
    fn doors_are_read_from_the_banner() {
        let address = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
        let doors = Doors { http: address(8080), resp: address(6380), msgpack: address(9090) };
        check(
            "tidegate 0.1.0\n  http+grpc  127.0.0.1:8080\n  resp       127.0.0.1:6380\n  msgpack    127.0.0.1:9090\n",
            Some(doors),
        );
        check("tidegate 0.1.0\n  resp       127.0.0.1:6380\n", None);
        check("", None);
    }
}
