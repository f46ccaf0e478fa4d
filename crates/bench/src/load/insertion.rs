//! New keys, one batch after the other on one connection, and how long each batch took.
//!
//! A table that stops to grow shows as a batch that takes long. So does a machine that ran something else:
//! therefore the time that server and client waited for a core is read after every batch as well.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::keys::{CountingKeys, Keys};
use super::outcome::{Latency, Outcome};
use super::wire::{Incoming, Wire};
use crate::run_delay::RunDelay;

/// How long one batch may take before the server counts as stuck.
const BATCH_WITHIN: Duration = Duration::from_secs(10);

/// How many keys, and how.
pub struct Insertion {
    /// Where.
    pub address: SocketAddr,
    /// What the server and this thread wait for a core.
    pub run_delay: RunDelay,
    /// Distinct keys to insert.
    pub keys: u64,
    /// Keys in one pipeline.
    pub batch: u64,
}

/// What inserting showed.
pub struct Inserted {
    /// Keys, time, and the wait for each batch.
    pub outcome: Outcome,
    /// The longest wait for a batch, without the time in which the machine ran something else.
    pub longest_own: Duration,
}

impl Insertion {
    /// Inserts them all.
    pub fn run(&self, wire: &Wire) -> Result<Inserted> {
        let mut stream = TcpStream::connect(self.address).context("cannot connect")?;
        stream.set_nodelay(true).context("no TCP_NODELAY")?;
        stream.set_read_timeout(Some(BATCH_WITHIN)).context("no read time-out")?;
        let (mut keys, mut latency) = (CountingKeys::default(), Latency::new()?);
        let mut longest_own = Duration::ZERO;
        let mut delayed = self.run_delay.read();
        let (mut left, start) = (self.keys, Instant::now());
        while left > 0 {
            let batch = left.min(self.batch);
            let wait = insert(&mut stream, batch, wire, &mut keys)?;
            let delayed_before = std::mem::replace(&mut delayed, self.run_delay.read());
            latency.record(wait, 1);
            longest_own = longest_own.max(wait.saturating_sub(delayed.saturating_sub(delayed_before)));
            left -= batch;
        }
        let outcome = Outcome { requests: self.keys, elapsed: start.elapsed(), latency };
        Ok(Inserted { outcome, longest_own })
    }
}

fn insert(stream: &mut TcpStream, batch: u64, wire: &Wire, keys: &mut CountingKeys) -> Result<Duration> {
    let mut outgoing = Vec::new();
    for _ in 0..batch {
        wire.request.append(keys.next_key(), &mut outgoing);
    }
    let mut incoming = Incoming::default();
    let mut buffer = [0; 16 * 1024];
    let mut answered = 0;
    let sent_at = Instant::now();
    stream.write_all(&outgoing).context("cannot send")?;
    while answered < batch {
        let read = stream.read(&mut buffer).context("no reply")?;
        if read == 0 {
            bail!("the server closed the connection");
        }
        answered += incoming.take(&buffer[..read], wire)? as u64;
    }
    Ok(sent_at.elapsed())
}

#[cfg(test)]
mod tests {
    use super::super::{resp, toy};
    use super::*;

    #[test]
    fn the_last_batch_may_be_smaller() {
        let address = toy::answering(b":1\r\n").unwrap();
        let run_delay = RunDelay::of_process_and_this_thread(std::process::id()).unwrap();
        let insertion = Insertion { address, run_delay, keys: 100, batch: 64 };
        let inserted = insertion.run(&resp::incr(200)).unwrap();
        assert_eq!(inserted.outcome.requests, 100);
        assert!(inserted.longest_own.as_secs_f64() * 1e6 <= inserted.outcome.latency.quantile_us(1.0));
    }
}
