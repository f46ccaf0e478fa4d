//! One connection, and what is under way on it.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::queue::broker::resp;

/// A request under way.
#[derive(Clone, Copy, Debug)]
pub struct Pending {
    /// Which one, from 0.
    pub index: u64,
    /// Whom for.
    pub entity: u64,
    /// When it was sent, from the start.
    pub sent: Duration,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Admitted.
    Granted,
    /// Not.
    Denied,
    /// Neither: the server could not say, and why.
    Refused(String),
}

/// A connection on which replies come in the order of the requests.
pub struct Lane {
    stream: TcpStream,
    outgoing: Vec<u8>,
    incoming: Vec<u8>,
    pending: VecDeque<Pending>,
}

impl Lane {
    /// Connects.
    pub fn connect(address: SocketAddr) -> Result<Lane> {
        let stream = TcpStream::connect(address).context("cannot connect")?;
        stream.set_nodelay(true).context("no TCP_NODELAY")?;
        stream.set_nonblocking(true).context("no non-blocking socket")?;
        Ok(Lane { stream, outgoing: Vec::new(), incoming: Vec::new(), pending: VecDeque::new() })
    }

    /// For a poll.
    pub fn fd(&self) -> RawFd {
        self.stream.as_raw_fd()
    }

    /// Requests under way.
    pub fn depth(&self) -> usize {
        self.pending.len()
    }

    /// Those that were never answered.
    pub fn unanswered(&self) -> impl Iterator<Item = &Pending> {
        self.pending.iter()
    }

    /// Sends one, or as much of it as goes now.
    pub fn send(&mut self, command: &[u8], pending: Pending) -> Result<()> {
        self.outgoing.extend_from_slice(command);
        self.pending.push_back(pending);
        self.flush()
    }

    /// Sends what is left of it.
    pub fn flush(&mut self) -> Result<()> {
        while !self.outgoing.is_empty() {
            match self.stream.write(&self.outgoing) {
                Ok(written) => drop(self.outgoing.drain(..written)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error).context("cannot send"),
            }
        }
        Ok(())
    }

    /// Hands over the replies that have come.
    pub fn receive(&mut self, mut answered: impl FnMut(Pending, Answer)) -> Result<()> {
        let mut buffer = [0; 16 * 1024];
        match self.stream.read(&mut buffer) {
            Ok(0) => bail!("the server closed the connection"),
            Ok(read) => self.incoming.extend_from_slice(&buffer[..read]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error).context("cannot receive"),
        }
        let mut at = 0;
        while let Some(mut reply) = resp::first(&self.incoming[at..])? {
            at += reply.whole_len();
            let pending = self.pending.pop_front().context("a reply to nothing")?;
            answered(pending, read(&mut reply));
        }
        self.incoming.drain(..at);
        Ok(())
    }
}

/// `[granted, lease, ...]`. What is granted while the store is away is no decision.
pub fn read(reply: &mut resp::Cursor<'_>) -> Answer {
    match reply.many().and_then(|_| reply.text()) {
        Ok(b"1") => Answer::Granted,
        Ok(b"0") => Answer::Denied,
        Ok(other) => Answer::Refused(format!("granted {}", String::from_utf8_lossy(other))),
        Err(error) => Answer::Refused(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(reply: &[u8], answer: &Answer) {
        assert_eq!(read(&mut resp::first(reply).unwrap().unwrap()), *answer);
    }

    #[test]
    fn replies_are_told_apart() {
        check(b"*4\r\n:1\r\n$4\r\nfeed\r\n:0\r\n:9\r\n", &Answer::Granted);
        check(b"*4\r\n:0\r\n$-1\r\n:9\r\n:0\r\n", &Answer::Denied);
        check(b"*4\r\n:3\r\n$-1\r\n:9\r\n:0\r\n", &Answer::Refused("granted 3".into()));
        check(b"-ERR no: x\r\n", &Answer::Refused("refused: ERR no: x".into()));
    }
}
