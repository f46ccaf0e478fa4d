//! One connection at a fixed rate, whatever the server does.
//!
//! A wait counts from the time at which the request was due, not from when it could be written, so a server
//! that pauses is charged for every request that came due meanwhile. The sender spins instead of sleeping: a
//! timer of this machine would add more than what is measured.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::keys::Keys;
use super::outcome::{Latency, Outcome};
use super::wire::{Incoming, Wire};

/// How long after the last request its reply may come.
const GRACE: Duration = Duration::from_secs(5);

/// At which pace, for how long.
#[derive(Clone, Copy, Debug)]
pub struct Paced {
    /// Where.
    pub address: SocketAddr,
    /// Requests due in a second.
    pub rate_per_s: u32,
    /// For how long.
    pub lasting: Duration,
}

impl Paced {
    /// Drives the load to its end. The first tenth warms up and is not counted as latency.
    pub fn run(&self, wire: &Wire, keys: &mut impl Keys) -> Result<Outcome> {
        let interval = Duration::from_secs(1) / self.rate_per_s;
        let total = self.lasting.div_duration_f64(interval) as u32;
        let mut stream = TcpStream::connect(self.address).context("cannot connect")?;
        stream.set_nodelay(true).context("no TCP_NODELAY")?;
        stream.set_nonblocking(true).context("no non-blocking socket")?;
        let (mut outgoing, mut incoming) = (Vec::new(), Incoming::default());
        let (mut latency, mut buffer) = (Latency::new()?, [0; 16 * 1024]);
        let (mut sent, mut answered) = (0, 0);
        let start = Instant::now();
        while answered < total {
            let now = start.elapsed();
            while sent < total && interval * sent <= now {
                wire.request.append(keys.next_key(), &mut outgoing);
                sent += 1;
            }
            if now > self.lasting + GRACE {
                bail!("only {answered} of {total} requests were answered");
            }
            flush(&mut stream, &mut outgoing)?;
            let replies = receive(&mut stream, &mut buffer, &mut incoming, wire)?;
            if replies > 0 {
                let now = start.elapsed();
                for index in answered..answered + replies {
                    if index >= total / 10 {
                        latency.record(now - interval * index, 1);
                    }
                }
                answered += replies;
            }
            std::hint::spin_loop();
        }
        Ok(Outcome { requests: answered.into(), elapsed: start.elapsed(), latency })
    }
}

fn flush(stream: &mut TcpStream, outgoing: &mut Vec<u8>) -> Result<()> {
    if outgoing.is_empty() {
        return Ok(());
    }
    match stream.write(outgoing) {
        Ok(written) => drop(outgoing.drain(..written)),
        Err(error) if error.kind() == ErrorKind::WouldBlock => {}
        Err(error) => return Err(error).context("cannot send"),
    }
    Ok(())
}

fn receive(stream: &mut TcpStream, buffer: &mut [u8], incoming: &mut Incoming, wire: &Wire) -> Result<u32> {
    match stream.read(buffer) {
        Ok(0) => bail!("the server closed the connection"),
        Ok(read) => Ok(u32::try_from(incoming.take(&buffer[..read], wire)?)?),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(0),
        Err(error) => Err(error).context("cannot receive"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::keys::RandomKeys;
    use super::super::{resp, toy};
    use super::*;

    #[test]
    fn as_many_requests_as_were_due_are_answered() {
        let lasting = Duration::from_millis(50);
        let load = Paced { address: toy::answering(b":1\r\n").unwrap(), rate_per_s: 1000, lasting };
        let outcome = load.run(&resp::incr(16), &mut RandomKeys::below(10)).unwrap();
        assert_eq!(outcome.requests, 50);
        assert!(outcome.elapsed >= Duration::from_millis(49));
    }
}
