//! Requests and replies of the Redis protocol.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::template::Template;
use super::wire::{Quota, Wire};

/// How long a single reply may take.
const REPLY_WITHIN: Duration = Duration::from_secs(5);

/// `INCR key`.
pub fn incr(key_len: usize) -> Wire {
    Wire { request: Template::new(key_len, |key| command(&["INCR", key])), reply_len }
}

/// `THROTTLE key burst count period`.
pub fn throttle(key_len: usize, quota: Quota) -> Wire {
    let [burst, count, period] = [quota.burst, quota.count, quota.period_s].map(|n| n.to_string());
    let request = Template::new(key_len, |key| command(&["THROTTLE", key, &burst, &count, &period]));
    Wire { request, reply_len }
}

/// Sends one command and checks that its reply is one of a decision, for load generators that do not look.
pub fn check_once(address: SocketAddr, words: &[&str]) -> Result<()> {
    let mut stream = TcpStream::connect(address).context("cannot connect")?;
    stream.set_read_timeout(Some(REPLY_WITHIN)).context("no read time-out")?;
    stream.write_all(&command(words)).context("cannot send")?;
    let (mut reply, mut buffer) = (Vec::new(), [0; 1024]);
    while reply_len(&reply)?.is_none() {
        let read = stream.read(&mut buffer).context("no reply")?;
        if read == 0 {
            bail!("the server closed the connection");
        }
        reply.extend_from_slice(&buffer[..read]);
    }
    Ok(())
}

/// A command as clients send it: an array of bulk strings.
fn command(words: &[&str]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend_from_slice(format!("${}\r\n{word}\r\n", word.len()).as_bytes());
    }
    bytes
}

/// Integers, and arrays of them: all that these commands answer.
fn reply_len(bytes: &[u8]) -> Result<Option<usize>> {
    let Some(mut at) = line_len(bytes) else { return Ok(None) };
    let lines_left = match bytes[0] {
        b':' => 0,
        b'*' if at == 4 => usize::from(bytes[1].wrapping_sub(b'0')),
        _ => bail!("not the reply of a decision: {}", String::from_utf8_lossy(&bytes[..at]).trim()),
    };
    for _ in 0..lines_left {
        match line_len(&bytes[at..]) {
            Some(len) => at += len,
            None => return Ok(None),
        }
    }
    Ok(Some(at))
}

fn line_len(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|&byte| byte == b'\n').map(|newline| newline + 1)
}

#[cfg(test)]
mod tests {
    use super::super::toy;
    use super::*;

    fn check(bytes: &str, len: Option<usize>) {
        assert_eq!(reply_len(bytes.as_bytes()).unwrap(), len, "{bytes:?}");
    }

    #[test]
    fn a_reply_ends_with_its_last_line() {
        check("", None);
        check(":1\r\n", Some(4));
        check(":12\r\n:13\r\n", Some(5));
        check("*2\r\n:1\r\n", None);
        check("*2\r\n:1\r\n:22\r\n:", Some(13));
        check("*5\r\n:1\r\n:1\r\n:1\r\n:1\r\n:-1\r\n", Some(25));
    }

    #[test]
    fn a_refusal_is_an_error() {
        assert!(reply_len(b"-ERR no\r\n").unwrap_err().to_string().contains("ERR no"));
    }

    #[test]
    fn a_single_command_tells_a_refusal() {
        assert!(check_once(toy::answering(b":1\r\n").unwrap(), &["INCR", "k"]).is_ok());
        assert!(check_once(toy::answering(b"-ERR no\r\n").unwrap(), &["INCR", "k"]).is_err());
    }

    #[test]
    fn a_command_is_an_array_of_bulk_strings() {
        assert_eq!(command(&["INCR", "k"]), b"*2\r\n$4\r\nINCR\r\n$1\r\nk\r\n");
    }
}
