//! Events as lines to read.

use std::fmt::{self, Display, Formatter};

use crate::clock::{MS, SECOND};
use crate::event::{Answer, Event, Step, Taken};

/// A time as people read it: seconds of the hour that the simulation is in, to the nanosecond.
pub struct At(pub u64);

impl Display for At {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Some(since) = self.0.checked_sub(1_700_000_000 * SECOND) else { return write!(f, "t{}", self.0) };
        write!(f, "{}.{:09}", since / SECOND, since % SECOND)
    }
}

impl Display for Event {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Event::Started { run, now, queues, limits, .. } => {
                let (queues, limits) = (queues.len(), limits.len());
                write!(f, "run {run} starts at {}: {queues} queues, {limits} limits", At(*now))
            }
            Event::Crashed { power: true, .. } => write!(f, "the power is gone"),
            Event::Crashed { power: false, .. } => write!(f, "the process is killed"),
            Event::Stopped { .. } => write!(f, "the engine has stopped"),
            Event::Durable { upto } => write!(f, "on disk: all up to {}", At(*upto)),
            Event::Kept { at, is_flushed: true } => write!(f, "on disk: the ledger as of {}", At(*at)),
            Event::Kept { at, is_flushed: false } => write!(f, "the ledger is not on disk at {}", At(*at)),
            Event::Expired { at } => write!(f, "leases that end by {} are over", At(*at)),
            Event::QueueSet { queue, shape, .. } => write!(f, "queue {} is {shape:?}", queue.0),
            Event::PurgeAsked { queue, .. } => write!(f, "purge of queue {} asked for", queue.0),
            Event::RedriveAsked => write!(f, "dead letters are to go back"),
            Event::DeleteAsked { queue, .. } => write!(f, "end of queue {} asked for", queue.0),
            Event::Deleted { queue, .. } => write!(f, "queue {} is deleted", queue.0),
            Event::Enqueued(e) => {
                let (queue, at) = (e.queue.0, At(e.at));
                write!(f, "enqueued {} tag {} queue {queue} {:?} at {at}", e.id, e.tag, e.durability)?;
                write!(f, " flow {} weight {} cost {}", e.flow, e.weight, e.cost)?;
                if e.landed_at > e.at {
                    write!(f, " in its lane at {}", At(e.landed_at))?;
                }
                if e.is_free { Ok(()) } else { write!(f, " delayed or charged") }
            }
            Event::Delivered(d) => {
                let (queue, at, deadline) = (d.queue.0, At(d.at), At(d.deadline));
                write!(f, "delivered {} tag {} queue {queue} to {} at {at}", d.receipt, d.tag, d.holder)?;
                write!(f, " until {deadline} attempts {} flow {} cost {}", d.attempts, d.flow, d.cost)?;
                if d.charges.is_empty() { Ok(()) } else { write!(f, " charges {:?}", d.charges) }
            }
            Event::Asked { receipt, step, cost, at } => {
                write!(f, "{receipt} {step} at {}", At(*at))?;
                if cost.is_empty() { Ok(()) } else { write!(f, ", it has cost {cost:?}") }
            }
            Event::Answered { receipt, step, at, answer, .. } => {
                write!(f, "{receipt} {step} of {}: {answer}", At(*at))
            }
            Event::Judged { receipt, at } => write!(f, "{receipt} is judged at {}", At(*at)),
            Event::HolderGone { holder, at, .. } => write!(f, "consumer {holder} is gone at {}", At(*at)),
            Event::LimitSet { key, rate: Some(rate), at } => {
                let period_ms = rate.period_ns / MS;
                write!(f, "limit {key} at {}: {} and {}/{period_ms} ms", At(*at), rate.burst, rate.count)
            }
            Event::LimitSet { key, rate: None, at } => write!(f, "limit {key} removed at {}", At(*at)),
            Event::LimitUncertain { key } => write!(f, "limit {key} may be as it was or as it was to be"),
            Event::KeyClosed { key, until, at } => {
                write!(f, "key {key} closed at {} until {}", At(*at), At(*until))
            }
            Event::Edited { changes, actor, at, .. } => {
                write!(f, "a{actor} has changed {changes:?} at {}", At(*at))
            }
            Event::EditUncertain { changes } => write!(f, "may be changed or not: {changes:?}"),
            Event::AcquirePaid { at } => write!(f, "an acquire is paid for at {}", At(*at)),
            Event::Paid { message, at } => write!(f, "{message} is paid for at {}", At(*at)),
            Event::Unpaid { message, at } => write!(f, "{message} is given back at {}", At(*at)),
            Event::Acquired(taken) => {
                let Taken { lease, at, expires_at, held, .. } = taken;
                write!(f, "lease {:016x} of {} until {}:", lease.unwrap_or(0), At(*at), At(*expires_at))?;
                held.iter().try_for_each(|held| write!(f, " {} of {}", held.amount, held.bucket))
            }
            Event::LeaseStep { lease, step, at, is_done } => {
                let done = if *is_done { "done" } else { "not there" };
                write!(f, "lease {lease:016x} {step:?} at {}: {done}", At(*at))
            }
            Event::Refilled { buckets, amount, at, .. } => {
                write!(f, "{amount:?} put in at {}:", At(*at))?;
                buckets.iter().try_for_each(|bucket| write!(f, " {bucket}"))
            }
            Event::Looked { slots, leases, .. } => {
                write!(f, "{} leases, in flight:", leases.len())?;
                slots.iter().try_for_each(|slot| write!(f, " {} of {}", slot.counted, slot.bucket))
            }
            Event::Found(found) => {
                let (leases, audit) = (found.leases.len(), found.audit.len());
                write!(f, "{leases} leases, {audit} in the audit, used:")?;
                found
                    .usage
                    .iter()
                    .try_for_each(|(bucket, amount, events)| write!(f, " {amount} of {bucket} in {events}"))
            }
            Event::Disturbed { queue: Some(queue), .. } => write!(f, "queue {} is disturbed", queue.0),
            Event::Disturbed { queue: None, .. } => write!(f, "all queues are disturbed"),
            Event::Drained { depths, live_bytes, total_bytes, .. } => {
                let left: u64 = depths.iter().map(|(_, depth)| depth).sum();
                write!(
                    f,
                    "drained: {left} left in {} queues, {live_bytes} of {total_bytes} bytes live",
                    depths.len()
                )
            }
        }
    }
}

impl Display for Step {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Step::Ack => write!(f, "ack"),
            Step::Nack => write!(f, "nack"),
            Step::Release => write!(f, "release"),
            Step::Extend { deadline } => write!(f, "extend until {}", At(*deadline)),
        }
    }
}

impl Display for Answer {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Answer::Done => "done",
            Answer::NotHeld => "not held",
            Answer::Storage => "the disk takes nothing",
        })
    }
}
