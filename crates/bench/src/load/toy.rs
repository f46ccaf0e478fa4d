//! A server that decides nothing: one line for every command of two words, on a port of its own.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

use anyhow::{Context, Result};

/// Listens until this process ends, and answers every `INCR key` with this line.
pub fn answering(line: &'static [u8]) -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").context("no free loopback port")?;
    let address = listener.local_addr().context("a listener without an address")?;
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || answer(stream, line));
        }
    });
    Ok(address)
}

/// Counts the stars that open commands; a key of the load generators has none.
fn answer(mut stream: TcpStream, line: &[u8]) {
    // One that cannot be had costs time and nothing else.
    stream.set_nodelay(true).ok();
    let mut buffer = [0; 4096];
    while let Ok(read) = stream.read(&mut buffer)
        && read > 0
    {
        let commands = buffer[..read].iter().filter(|&&byte| byte == b'*').count();
        if stream.write_all(&line.repeat(commands)).is_err() {
            return;
        }
    }
}
