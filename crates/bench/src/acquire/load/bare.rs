//! A thread that answers at once, and decides nothing: what the machine alone makes of the same load.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};

use anyhow::{Context, Result};

/// The name of the thread.
pub const THREAD: &str = "bare";
/// Granted, without a lease.
const GRANTED: &[u8] = b"*4\r\n:1\r\n$-1\r\n:0\r\n:0\r\n";

/// Listens for one connection, and answers whatever it reads there as granted until it ends. One that asks again only when
/// it is answered has one answer to each.
pub fn listen() -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").context("cannot listen")?;
    let address = listener.local_addr().context("has no address")?;
    let (starts, started) = std::sync::mpsc::channel();
    let answering = move || {
        starts.send(()).ok();
        let Ok((mut stream, _)) = listener.accept() else { return };
        let mut buffer = [0; 4096];
        while stream.read(&mut buffer).is_ok_and(|read| read > 0) && stream.write_all(GRANTED).is_ok() {}
    };
    std::thread::Builder::new().name(THREAD.to_owned()).spawn(answering).context("cannot start a thread")?;
    // It has its name by then.
    started.recv().context("the thread has ended")?;
    Ok(address)
}
