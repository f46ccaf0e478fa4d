//! Limits that take decades to refill: their tokens are counted, since no arrival time could hold them.
//!
//! A burst of 1,000,000 at one token a day is full after 2,700 years. Its state, in the two numbers of a [`Tat`], is
//! how many tokens are out ([`Tat::rem`]) as of when ([`Tat::ns`], above [`BASE`] so that it is told apart). A
//! caller may change from such a limit to another and back: tokens that are out stay out.

use crate::gcra::{Decision, Tat};
use crate::limit::{HORIZON_NS, Limit};
use crate::wait::Wait;
use crate::{Nanos, gcra};

/// Above every arrival time until the year 2091, so that what lies above it is a count.
const BASE: Nanos = 5_000_000_000_000_000_000;

/// The last arrival time that is told apart from a count.
pub const LAST_ARRIVAL: Nanos = BASE - 1;

/// Whether a state is a count.
#[inline]
pub fn is_counted(tat: Tat) -> bool {
    tat.ns >= BASE
}

/// Tokens that are out as of a moment at or before now.
struct Count {
    out: u64,
    since: Nanos,
}

impl Count {
    /// In steps of 2 ns, rounded up so that nothing comes back early: it has to fit beside `BASE`.
    fn tat(&self) -> Tat {
        let out = u32::try_from(self.out).unwrap_or(u32::MAX);
        Tat { ns: BASE.saturating_add(self.since.div_ceil(2)).min(i64::MAX as u64), rem: out }
    }

    /// What a state says, with the tokens that have come back since.
    fn read(tat: Tat, limit: &Limit, now: Nanos) -> Count {
        let (out, since) = match is_counted(tat) {
            true => (u64::from(tat.rem), (tat.ns - BASE).saturating_mul(2).min(now)),
            false => (tokens_up(tat.ns.saturating_sub(now), limit), now),
        };
        let back = tokens_down(now - since, limit);
        if back >= out {
            return Count { out: 0, since: now };
        }
        let time = u128::from(back).saturating_mul(limit.period_ns());
        let since = since.saturating_add(saturate(time.div_ceil(u128::from(limit.count())))).min(now);
        Count { out: out - back, since }
    }

    /// Nanoseconds until no more than `out` tokens are out.
    fn until(&self, out: u64, limit: &Limit, now: Nanos) -> u64 {
        let time = u128::from(self.out.saturating_sub(out)).saturating_mul(limit.period_ns());
        saturate(time.div_ceil(u128::from(limit.count()))).saturating_sub(now - self.since)
    }
}

fn saturate(n: u128) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

fn tokens_down(ns: u64, limit: &Limit) -> u64 {
    saturate(u128::from(ns) * u128::from(limit.count()) / limit.period_ns())
}

fn tokens_up(ns: u64, limit: &Limit) -> u64 {
    saturate((u128::from(ns) * u128::from(limit.count())).div_ceil(limit.period_ns()))
}

/// As [`gcra::take`], for a far limit or a state that one has left.
#[cold]
pub fn take(tat: Tat, limit: &Limit, quantity: u64, now: Nanos) -> (Decision, Option<Tat>) {
    let mut count = Count::read(tat, limit, now);
    if !limit.is_far() {
        // The limit has changed to one that arrival times can hold: so does the state.
        let tat = refund(count.tat(), limit, 0, now);
        let (decision, changed) = gcra::take_near(tat, limit, quantity, now);
        return (decision, Some(changed.unwrap_or(tat)));
    }
    // What can be counted. Nobody will take 4 billion tokens that take decades to come back.
    let capacity = limit.burst().min(u64::from(u32::MAX));
    let retry_after = match quantity {
        0 => Wait::Now,
        _ if quantity > capacity => Wait::Never,
        _ if count.out + quantity <= capacity => Wait::Now,
        _ => Wait::Ns(count.until(capacity - quantity, limit, now).max(1)),
    };
    let taken = retry_after == Wait::Now && quantity > 0;
    if taken {
        count.out += quantity;
    }
    let decision = Decision {
        allowed: retry_after == Wait::Now,
        limit: limit.burst(),
        remaining: limit.burst().saturating_sub(count.out),
        reset_after_ns: count.until(0, limit, now),
        retry_after,
    };
    (decision, taken.then(|| count.tat()))
}

/// As [`gcra::refund`]. Of nothing, it brings a state to the form that the limit wants.
#[cold]
pub fn refund(tat: Tat, limit: &Limit, quantity: u64, now: Nanos) -> Tat {
    let mut count = Count::read(tat, limit, now);
    count.out = count.out.saturating_sub(quantity);
    if limit.is_far() {
        return count.tat();
    }
    let back = u128::from(now - count.since) * u128::from(limit.count());
    let level = u128::from(count.out).saturating_mul(limit.period_ns()).saturating_sub(back);
    let horizon = u128::from(HORIZON_NS) * u128::from(limit.count());
    gcra::at_level(level.min(horizon), limit, now)
}
