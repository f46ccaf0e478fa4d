//! One connection at a fixed pace, each acquire timed by itself, and what the machine took from it told apart.
//!
//! A wait counts from the time at which the acquire was due, so a server that pauses is charged for every one that came due
//! meanwhile. The sender spins instead of sleeping: a timer of this machine would add more than what is measured.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::acquire::Dialect;
use crate::load::Outcome;
use crate::load::keys::Keys;
use crate::load::outcome::Latency;
use crate::queue::broker::link::{Link, SILENCE_WITHIN};
use crate::queue::broker::resp;
use crate::run_delay::RunDelay;

/// At which pace, for how long.
pub struct Steady {
    /// Where.
    pub address: SocketAddr,
    /// What the server and this thread wait for a core.
    pub run_delay: RunDelay,
    /// Acquires due in a second.
    pub rate_per_s: u32,
    /// For how long.
    pub lasting: Duration,
}

/// What that showed.
pub struct Seen {
    /// Acquires, time, and the wait for each.
    pub outcome: Outcome,
    /// The longest from a send to its reply, without the time in which the machine ran something else.
    pub longest_own: Duration,
}

impl Steady {
    /// Drives the load to its end. Takes without a lease, so that nothing is left to end.
    pub fn run(&self, dialect: &dyn Dialect, entities: &mut impl Keys) -> Result<Seen> {
        let interval = Duration::from_secs(1) / self.rate_per_s;
        let total = self.lasting.div_duration_f64(interval) as u32;
        let mut link = Link::connect(self.address)?;
        let (mut latency, mut longest_own, mut outgoing) = (Latency::new()?, Duration::ZERO, Vec::new());
        let start = Instant::now();
        for index in 0..total {
            let due = interval * index;
            while start.elapsed() < due {
                std::hint::spin_loop();
            }
            outgoing.clear();
            dialect.touch(entities.next_key(), &mut outgoing);
            let (delayed, sent_at) = (self.run_delay.read(), Instant::now());
            link.send(&outgoing)?;
            let granted = |reply: &mut resp::Cursor<'_>| dialect.granted(reply).map(drop);
            resp::reply(&mut link, SILENCE_WITHIN, granted)?.context("no reply")?;
            let took = sent_at.elapsed();
            latency.record(start.elapsed() - due, 1);
            let delayed = self.run_delay.read().saturating_sub(delayed);
            longest_own = longest_own.max(took.saturating_sub(delayed));
        }
        let outcome = Outcome { requests: total.into(), elapsed: start.elapsed(), latency };
        Ok(Seen { outcome, longest_own })
    }
}
