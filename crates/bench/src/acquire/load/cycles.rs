//! Acquire and settle, over and over: many connections on one thread.
//!
//! A connection writes a pipeline of acquires at once, and when all of them are answered, the settlements of what was granted.
//! One operation is both together. The load ends at a time, not at a count, and leaves nothing open.

use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};

use crate::acquire::Dialect;
use crate::load::Outcome;
use crate::load::keys::Keys;
use crate::load::outcome::Latency;
use crate::queue::broker::link::SILENCE_WITHIN;
use crate::queue::broker::resp;

const READ_LEN: usize = 64 * 1024;

/// How hard to push.
#[derive(Clone, Copy, Debug)]
pub struct Cycles {
    /// Where.
    pub address: SocketAddr,
    /// Connections at once.
    pub connections: usize,
    /// Commands under way on each.
    pub pipeline: usize,
    /// For how long acquires are sent.
    pub lasting: Duration,
}

impl Cycles {
    /// Drives the load to its end. The waits are those for the reply of an acquire.
    pub fn run(&self, dialect: &dyn Dialect, entities: &mut impl Keys) -> Result<Outcome> {
        let mut poll = Poll::new().context("no poll")?;
        let mut connections = self.connect(&poll)?;
        let mut outcome = Outcome { requests: 0, elapsed: Duration::ZERO, latency: Latency::new()? };
        let mut buffer = vec![0; READ_LEN];
        let mut events = Events::with_capacity(self.connections);
        let start = Instant::now();
        for connection in &mut connections {
            connection.acquire(self.pipeline, dialect, entities)?;
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
                connection.receive(&mut buffer, dialect, &mut outcome.latency)?;
                match connection.step {
                    Step::Acquired => connection.settle()?,
                    Step::Settled => {
                        outcome.requests += self.pipeline as u64;
                        if start.elapsed() < self.lasting {
                            connection.acquire(self.pipeline, dialect, entities)?;
                        } else {
                            connection.step = Step::Done;
                            busy -= 1;
                        }
                    }
                    Step::Acquiring | Step::Settling | Step::Done => {}
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

/// Where a connection is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Acquires are under way.
    Acquiring,
    /// They are all granted.
    Acquired,
    /// Settlements are under way.
    Settling,
    /// They are all answered.
    Settled,
    /// There is no more to do.
    Done,
}

struct Connection {
    stream: TcpStream,
    step: Step,
    /// The entities of this cycle, in the order of their commands.
    entities: Vec<u64>,
    /// Commands that were answered.
    answered: usize,
    /// Bytes that are to be written.
    outgoing: Vec<u8>,
    /// The settlements, as far as leases are known.
    settlements: Vec<u8>,
    /// Bytes of replies that are not all there.
    incoming: Vec<u8>,
    sent_at: Instant,
}

impl Connection {
    fn new(stream: TcpStream) -> Connection {
        Connection {
            stream,
            step: Step::Settled,
            entities: Vec::new(),
            answered: 0,
            outgoing: Vec::new(),
            settlements: Vec::new(),
            incoming: Vec::new(),
            sent_at: Instant::now(),
        }
    }

    fn acquire(&mut self, pipeline: usize, dialect: &dyn Dialect, entities: &mut impl Keys) -> Result<()> {
        self.entities.clear();
        for _ in 0..pipeline {
            let entity = entities.next_key();
            self.entities.push(entity);
            dialect.acquire(entity, &mut self.outgoing);
        }
        self.begin(Step::Acquiring)
    }

    fn settle(&mut self) -> Result<()> {
        self.outgoing.append(&mut self.settlements);
        self.begin(Step::Settling)
    }

    fn begin(&mut self, step: Step) -> Result<()> {
        (self.step, self.answered, self.sent_at) = (step, 0, Instant::now());
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

    /// Reads all that is there.
    fn receive(&mut self, buffer: &mut [u8], dialect: &dyn Dialect, latency: &mut Latency) -> Result<()> {
        while matches!(self.step, Step::Acquiring | Step::Settling) {
            match self.stream.read(buffer) {
                Ok(0) => bail!("the server closed the connection"),
                Ok(read) => self.incoming.extend_from_slice(&buffer[..read]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error).context("cannot receive"),
            }
            self.read_replies(dialect, latency)?;
        }
        Ok(())
    }

    fn read_replies(&mut self, dialect: &dyn Dialect, latency: &mut Latency) -> Result<()> {
        let mut at = 0;
        while let Some(mut reply) = resp::first(&self.incoming[at..])? {
            let &entity = self.entities.get(self.answered).context("more replies than commands")?;
            if self.step == Step::Acquiring {
                let lease = dialect.granted(&mut reply)?;
                dialect.settle(entity, lease, &mut self.settlements);
                latency.record(self.sent_at.elapsed(), 1);
            } else {
                dialect.settled(&mut reply)?;
            }
            at += reply.whole_len();
            self.answered += 1;
        }
        self.incoming.drain(..at);
        if self.answered == self.entities.len() {
            self.step = if self.step == Step::Acquiring { Step::Acquired } else { Step::Settled };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::sync::mpsc::channel;

    use super::*;
    use crate::acquire::tidegate::{Commands, Told};
    use crate::load::keys::CountingKeys;

    /// Answers acquires with the lease `feed`, and says how many commands of each kind came in.
    fn serve(listener: TcpListener, granted: &'static [u8]) -> std::sync::mpsc::Receiver<[usize; 2]> {
        let (done, counts) = channel();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let (mut incoming, mut counts, mut buffer) = (Vec::new(), [0, 0], [0; 4096]);
            while let Ok(read) = stream.read(&mut buffer)
                && read > 0
            {
                incoming.extend_from_slice(&buffer[..read]);
                while let Some(mut command) = resp::first(&incoming).unwrap() {
                    let len = command.whole_len();
                    command.many().unwrap();
                    let acquires = command.text().unwrap() == b"ACQUIRE";
                    counts[usize::from(!acquires)] += 1;
                    // Whoever has heard enough may be gone.
                    stream.write_all(if acquires { granted } else { b"+OK\r\n" }).ok();
                    incoming.drain(..len);
                }
            }
            done.send(counts).ok();
        });
        counts
    }

    fn run(granted: &'static [u8]) -> (Result<Outcome>, [usize; 2]) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let counts = serve(listener, granted);
        let load = Cycles { address, connections: 1, pipeline: 7, lasting: Duration::from_millis(20) };
        let outcome = load.run(&Commands::new(Told::Quiet), &mut CountingKeys::default());
        (outcome, counts.recv().unwrap())
    }

    #[test]
    fn all_that_was_granted_is_settled() {
        let (outcome, [acquires, settlements]) = run(b"*4\r\n:1\r\n$4\r\nfeed\r\n:0\r\n:9\r\n");
        let outcome = outcome.unwrap();
        assert!(acquires >= 7 && acquires.is_multiple_of(7));
        assert_eq!((acquires, outcome.requests), (settlements, settlements as u64));
    }

    #[test]
    fn a_denial_ends_the_load() {
        let (outcome, [_, settlements]) = run(b"*4\r\n:0\r\n$-1\r\n:9\r\n:0\r\n");
        assert!(outcome.is_err());
        assert_eq!(settlements, 0);
    }
}
