//! A server for tests: one line for every command of two words, on a port of its own.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};

/// Listens until the test ends, and answers every `INCR key` with this line.
pub fn answering(line: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || answer(stream, line));
        }
    });
    address
}

/// Counts the stars that open commands; a key of the load generators has none.
fn answer(mut stream: TcpStream, line: &[u8]) {
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
