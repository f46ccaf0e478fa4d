//! Many connections on one thread, each with a fixed number of requests under way.
//!
//! As `redis-benchmark` does it: a connection writes a pipeline of requests at once, and the next when all of
//! them are answered. The load ends at a time, not at a count, so a slow server does not hold up the run.

use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};

use super::keys::Keys;
use super::outcome::{Latency, Outcome};
use super::wire::{Incoming, Wire};

/// How long a server may leave every connection without a reply.
const SILENCE_WITHIN: Duration = Duration::from_secs(5);
const READ_LEN: usize = 64 * 1024;

/// How hard to push.
#[derive(Clone, Copy, Debug)]
pub struct ClosedLoop {
    /// Where.
    pub address: SocketAddr,
    /// Connections at once.
    pub connections: usize,
    /// Requests under way on each.
    pub pipeline: usize,
    /// For how long new requests are sent.
    pub lasting: Duration,
}

impl ClosedLoop {
    /// Drives the load to its end.
    pub fn run(&self, wire: &Wire, keys: &mut impl Keys) -> Result<Outcome> {
        let mut poll = Poll::new().context("no poll")?;
        let mut connections = self.connect(&poll)?;
        let mut outcome = Outcome { requests: 0, elapsed: Duration::ZERO, latency: Latency::new()? };
        let mut buffer = vec![0; READ_LEN];
        let mut events = Events::with_capacity(self.connections);
        let start = Instant::now();
        for connection in &mut connections {
            connection.send_pipeline(self.pipeline, wire, keys)?;
        }
        let mut busy = connections.len();
        while busy > 0 {
            poll.poll(&mut events, Some(SILENCE_WITHIN)).context("poll failed")?;
            if events.is_empty() {
                bail!("no reply for {} s", SILENCE_WITHIN.as_secs());
            }
            for event in &events {
                let connection = &mut connections[event.token().0];
                connection.flush()?;
                outcome.requests += connection.receive(&mut buffer, wire, &mut outcome.latency)?;
                if connection.under_way == 0 {
                    if start.elapsed() < self.lasting {
                        connection.send_pipeline(self.pipeline, wire, keys)?;
                    } else {
                        busy -= 1;
                    }
                }
            }
        }
        outcome.elapsed = start.elapsed();
        Ok(outcome)
    }

    fn connect(&self, poll: &Poll) -> Result<Vec<Connection>> {
        (0..self.connections)
            .map(|index| {
                // Connects in the blocking way, so that the load starts with every connection ready.
                let stream = std::net::TcpStream::connect(self.address).context("cannot connect")?;
                stream.set_nodelay(true).context("no TCP_NODELAY")?;
                stream.set_nonblocking(true).context("no non-blocking socket")?;
                let mut stream = TcpStream::from_std(stream);
                let interest = Interest::READABLE | Interest::WRITABLE;
                poll.registry().register(&mut stream, Token(index), interest).context("cannot poll")?;
                Ok(Connection::new(stream))
            })
            .collect()
    }
}

struct Connection {
    stream: TcpStream,
    /// Bytes that are still to be written; usually none.
    outgoing: Vec<u8>,
    incoming: Incoming,
    /// Requests without a reply.
    under_way: usize,
    sent_at: Instant,
}

impl Connection {
    fn new(stream: TcpStream) -> Connection {
        let (outgoing, incoming) = (Vec::new(), Incoming::default());
        Connection { stream, outgoing, incoming, under_way: 0, sent_at: Instant::now() }
    }

    fn send_pipeline(&mut self, pipeline: usize, wire: &Wire, keys: &mut impl Keys) -> Result<()> {
        for _ in 0..pipeline {
            wire.request.append(keys.next_key(), &mut self.outgoing);
        }
        self.under_way = pipeline;
        self.sent_at = Instant::now();
        self.flush()
    }

    fn flush(&mut self) -> Result<()> {
        while !self.outgoing.is_empty() {
            match self.stream.write(&self.outgoing) {
                Ok(written) => drop(self.outgoing.drain(..written)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error).context("cannot send"),
            }
        }
        Ok(())
    }

    /// Reads all that is there and returns the number of replies.
    fn receive(&mut self, buffer: &mut [u8], wire: &Wire, latency: &mut Latency) -> Result<u64> {
        let mut replies = 0;
        while self.under_way > 0 {
            let read = match self.stream.read(buffer) {
                Ok(0) => bail!("the server closed the connection"),
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error).context("cannot receive"),
            };
            let answered = self.incoming.take(&buffer[..read], wire)?;
            latency.record(self.sent_at.elapsed(), answered as u64);
            self.under_way = self.under_way.checked_sub(answered).context("more replies than requests")?;
            replies += answered as u64;
        }
        Ok(replies)
    }
}

#[cfg(test)]
mod tests {
    use super::super::keys::RandomKeys;
    use super::super::{resp, toy};
    use super::*;

    fn run(line: &'static [u8]) -> Result<Outcome> {
        let lasting = Duration::from_millis(20);
        let load =
            ClosedLoop { address: toy::answering(line).unwrap(), connections: 3, pipeline: 7, lasting };
        load.run(&resp::incr(16), &mut RandomKeys::below(10))
    }

    #[test]
    fn every_request_is_answered_and_timed() {
        let outcome = run(b":1\r\n").unwrap();
        assert!(outcome.requests >= 21 && outcome.requests.is_multiple_of(7), "{}", outcome.requests);
        assert!(outcome.elapsed >= Duration::from_millis(20));
        assert!(outcome.latency.quantile_us(0.5) > 0.0);
    }

    #[test]
    fn a_refusal_ends_the_load() {
        assert!(run(b"-ERR no\r\n").is_err());
    }
}
