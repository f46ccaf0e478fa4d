//! Requests at a fixed pace over all nodes.
//!
//! A wait counts from when the request was due. Each node has a pool of connections, and a request takes one that is free, as
//! a client's pool does, so that one that has to wait for the table holds up nobody else; when none is free it stands behind
//! another. Shortly before something is due the sender spins: a timer of this machine would add more than what is measured.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::lane::{Answer, Lane, Pending};
use super::turns::Turns;
use crate::dynamodb::admission::Admitted;
use crate::dynamodb::limit;
use crate::load::keys::Keys;
use crate::load::outcome::{Latency, Outcome};
use crate::queue::broker::resp;

/// How long after the last request its reply may come.
const GRACE: Duration = Duration::from_secs(5);
/// How long nothing has to happen, and to be due, before the sender sleeps.
const SPIN: Duration = Duration::from_micros(200);

/// Who is asked, how often, for how long.
pub struct Demand<'a> {
    /// The nodes.
    pub nodes: &'a [SocketAddr],
    /// The share of each.
    pub weights: &'a [u32],
    /// Connections to each.
    pub connections: usize,
    /// Requests due in a second, at all nodes together.
    pub rate_per_s: u32,
    /// Requests in all.
    pub total: u64,
    /// What is asked for.
    pub ask: Ask<'a>,
}

/// What a request says.
#[derive(Clone, Copy, Debug)]
pub enum Ask<'a> {
    /// One token of an entity's limit on this resource, which is in the table.
    Acquire(&'a str),
    /// A decision that no table is behind: what sockets, and cores that have to wake, take.
    Throttle,
}

/// What that showed.
pub struct Seen {
    /// Decisions, time, and the waits of all. The first tenth warms up and is not counted as a wait.
    pub outcome: Outcome,
    /// Those that were admitted.
    pub admitted: Vec<Admitted>,
    /// How many were asked for.
    pub asked: u64,
    /// How many of them were answered by neither yes nor no, or not at all.
    pub refused: u64,
    /// What one of those was told.
    pub refusal: Option<String>,
}

impl Demand<'_> {
    /// Drives the load to its end.
    pub fn run(&self, entities: &mut impl Keys) -> Result<Seen> {
        let mut driver = Driver::connect(self)?;
        let (mut turns, mut command) = (Turns::new(self.weights), Vec::new());
        let interval = Duration::from_secs(1).div_f64(self.rate_per_s.into());
        let due = |index: u64| interval.mul_f64(index as f64);
        let (mut sent, mut moved) = (0, Duration::ZERO);
        while driver.answered < self.total {
            let now = driver.start.elapsed();
            while sent < self.total && due(sent) <= now {
                let entity = entities.next_key();
                self.ask.write(&mut command, entity);
                driver.send(turns.next_turn(), &command, Pending { index: sent, entity, sent: now })?;
                (sent, moved) = (sent + 1, now);
            }
            if now > due(self.total) + GRACE {
                break;
            }
            let idle = if sent < self.total { due(sent).saturating_sub(now) } else { GRACE };
            let spins = idle < SPIN || now < moved + SPIN;
            if driver.receive(if spins { Duration::ZERO } else { idle - SPIN }, &due)? {
                moved = driver.start.elapsed();
            }
        }
        Ok(driver.end(&due))
    }
}

impl Ask<'_> {
    /// Writes one command, over the one before.
    pub fn write(self, command: &mut Vec<u8>, entity: u64) {
        command.clear();
        let entity = name(entity);
        let entity = entity.as_bytes();
        match self {
            Ask::Acquire(resource) => {
                let (resource, limit) = (resource.as_bytes(), limit::NAME.as_bytes());
                resp::command(command, &[b"ACQUIRE", entity, resource, limit, b"1", b"NOLEASE", b"QUIET"]);
            }
            Ask::Throttle => resp::command(command, &[b"THROTTLE", entity, b"1000000", b"1000000", b"1"]),
        }
    }
}

/// An entity by its number.
fn name(entity: u64) -> String {
    format!("key-{entity:06}")
}

struct Driver {
    start: Instant,
    lanes: Vec<Lane>,
    connections: usize,
    counted_from: u64,
    answered: u64,
    seen: Seen,
}

impl Driver {
    fn connect(demand: &Demand<'_>) -> Result<Driver> {
        let each = demand.nodes.iter().flat_map(|&node| std::iter::repeat_n(node, demand.connections));
        let lanes = each.map(Lane::connect).collect::<Result<_>>()?;
        let outcome = Outcome { requests: 0, elapsed: Duration::ZERO, latency: Latency::new()? };
        let admitted = Vec::with_capacity(usize::try_from(demand.total)?);
        Ok(Driver {
            start: Instant::now(),
            lanes,
            connections: demand.connections,
            counted_from: demand.total / 10,
            answered: 0,
            seen: Seen { outcome, admitted, asked: demand.total, refused: 0, refusal: None },
        })
    }

    /// On a free connection to that node, or the one with the least to do.
    fn send(&mut self, node: usize, command: &[u8], pending: Pending) -> Result<()> {
        let pool = &mut self.lanes[node * self.connections..][..self.connections];
        let free = pool.iter().position(|lane| lane.depth() == 0);
        let least = || (0..pool.len()).min_by_key(|&index| pool[index].depth());
        let index = free.or_else(least).context("a node without connections")?;
        pool[index].send(command, pending)
    }

    /// Waits at most that long for replies, and says whether some came.
    fn receive(&mut self, within: Duration, due: &impl Fn(u64) -> Duration) -> Result<bool> {
        let busy: Vec<usize> = (0..self.lanes.len()).filter(|&index| self.lanes[index].depth() > 0).collect();
        let mut watched: Vec<libc::pollfd> = busy
            .iter()
            .map(|&index| libc::pollfd { fd: self.lanes[index].fd(), events: libc::POLLIN, revents: 0 })
            .collect();
        if !poll(&mut watched, within)? {
            return Ok(false);
        }
        let before = self.answered;
        for (&index, watched) in busy.iter().zip(&watched) {
            let lane = &mut self.lanes[index];
            lane.flush()?;
            if watched.revents == 0 {
                continue;
            }
            let (now, counted_from) = (self.start.elapsed(), self.counted_from);
            let (seen, answered) = (&mut self.seen, &mut self.answered);
            lane.receive(|pending, answer| {
                *answered += 1;
                seen.note(pending, answer, now);
                if pending.index >= counted_from {
                    seen.outcome.latency.record(now.saturating_sub(due(pending.index)), 1);
                }
            })?;
        }
        Ok(self.answered > before)
    }

    /// What was never answered has waited until now.
    fn end(mut self, due: &impl Fn(u64) -> Duration) -> Seen {
        let now = self.start.elapsed();
        for pending in self.lanes.iter().flat_map(Lane::unanswered) {
            self.seen.refused += 1;
            self.seen.outcome.latency.record(now.saturating_sub(due(pending.index)), 1);
        }
        self.seen.outcome.elapsed = now;
        self.seen
    }
}

impl Seen {
    fn note(&mut self, pending: Pending, answer: Answer, now: Duration) {
        self.outcome.requests += u64::from(!matches!(answer, Answer::Refused(_)));
        match answer {
            Answer::Granted => self.admitted.push(Admitted {
                entity: pending.entity,
                sent_s: pending.sent.as_secs_f64(),
                answered_s: now.as_secs_f64(),
            }),
            Answer::Denied => {}
            Answer::Refused(why) => {
                self.refused += 1;
                self.refusal.get_or_insert(why);
            }
        }
    }
}

/// Whether any of them is readable within that time.
fn poll(watched: &mut [libc::pollfd], within: Duration) -> Result<bool> {
    let timeout = libc::timespec {
        tv_sec: i64::try_from(within.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(within.subsec_nanos()),
    };
    let count = libc::nfds_t::try_from(watched.len())?;
    // SAFETY: the descriptors are a live slice of the announced length, the time is a live local, and no mask is given.
    let ready = unsafe { libc::ppoll(watched.as_mut_ptr(), count, &raw const timeout, std::ptr::null()) };
    if ready < 0 {
        let error = std::io::Error::last_os_error();
        anyhow::ensure!(error.kind() == std::io::ErrorKind::Interrupted, "poll failed: {error}");
    }
    Ok(ready > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::keys::CountingKeys;
    use crate::load::toy;

    fn ask(reply: &'static [u8], total: u64) -> Seen {
        let nodes = [toy::answering(reply).unwrap(), toy::answering(reply).unwrap()];
        let demand = Demand {
            nodes: &nodes,
            weights: &[3, 1],
            connections: 2,
            rate_per_s: 2_000,
            total,
            ask: Ask::Acquire("r"),
        };
        demand.run(&mut CountingKeys::default()).unwrap()
    }

    #[test]
    fn all_that_is_due_is_asked_at_its_pace() {
        let seen = ask(b"*2\r\n:1\r\n$-1\r\n", 100);
        assert_eq!((seen.outcome.requests, seen.admitted.len(), seen.refused), (100, 100, 0));
        assert!(seen.outcome.elapsed >= Duration::from_micros(49_500));
        assert!(seen.admitted.iter().all(|one| one.answered_s >= one.sent_s));
    }

    #[test]
    fn denials_are_not_admitted_and_refusals_are_counted() {
        let denied = ask(b"*2\r\n:0\r\n$-1\r\n", 10);
        assert_eq!((denied.admitted.len(), denied.outcome.requests, denied.refused), (0, 10, 0));
        let refused = ask(b"-ERR no\r\n", 10);
        assert_eq!((refused.outcome.requests, refused.refused), (0, 10));
    }
}
