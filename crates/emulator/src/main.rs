//! The emulator and the proxy as a program, for tests that are not in Rust.
//!
//! `tidegate-emulator` starts an emulator and a proxy before it; `tidegate-emulator HOST:PORT` a proxy before what listens
//! there. It says where they are, a line each, and ends when its stdin does, so that none outlives the test.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, ToSocketAddrs};

use tidegate_emulator::{Emulator, Proxy};

fn main() -> io::Result<()> {
    let upstream = std::env::args().nth(1).map(|text| resolve(&text)).transpose()?;
    let emulator = upstream.is_none().then(Emulator::start);
    let behind = upstream.or_else(|| emulator.as_ref().map(Emulator::address));
    let proxy = Proxy::before_address(behind.ok_or(io::ErrorKind::AddrNotAvailable)?)?;
    let mut stdout = io::stdout();
    if let Some(emulator) = &emulator {
        writeln!(stdout, "emulator {}", emulator.endpoint())?;
    }
    writeln!(stdout, "proxy {}", proxy.endpoint())?;
    stdout.flush()?;
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

fn resolve(text: &str) -> io::Result<SocketAddr> {
    text.to_socket_addrs()?.next().ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
}
