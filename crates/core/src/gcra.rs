//! GCRA for inline keys: all that is kept of a key is its theoretical arrival time.
//!
//! Textbook GCRA with a capacity of `burst`: an arrival time in the past counts as `now`, a call of quantity
//! q moves it forward by `q x period / count`, and passes if it stays within `burst x period / count` of now.
//!
//! The arrival time is exact. Its whole nanoseconds are in [`Tat::ns`], and what is left over, in units of
//! `1/count` ns, is in [`Tat::rem`]. Rounding each call up to a nanosecond instead, as GCRA usually does,
//! never admits too much, but at 700,000,000 a second it admits 30 % too little, and at 7 a second it loses a
//! token in the end. In those units a nanosecond weighs `count` and a token weighs `period`, so a decision is
//! one comparison of integers.
//!
//! An arrival time that is further away than [`HORIZON_NS`](crate::limit::HORIZON_NS) does not fit as it is: `far` says how it is kept.

use crate::far;
use crate::limit::Limit;
use crate::wait::Wait;
use crate::{NANOS_PER_S, Nanos};

/// The theoretical arrival time of a key: when its bucket will be full again.
///
/// `Tat::default()` is the past, and so equal to a key that was never seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tat {
    /// Whole nanoseconds.
    pub ns: Nanos,
    /// What is left over, in units of `1/count` ns of the limit that was last applied.
    ///
    /// A caller that changes `count` between two calls may be off by less than a nanosecond, once.
    pub rem: u32,
}

impl Tat {
    /// Whether the bucket is full at `now`, so that the key may be forgotten.
    pub fn is_past(self, now: Nanos) -> bool {
        // A far one lies above every time: it will be decades, see `far`.
        self.ns < now || (self.ns == now && self.rem == 0)
    }
}

/// The answer to one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether it may run.
    pub allowed: bool,
    /// The burst of the limit.
    pub limit: u64,
    /// Whole tokens left after this call.
    pub remaining: u64,
    /// Nanoseconds until the bucket is full again.
    pub reset_after_ns: u64,
    /// When this call could pass. `Now` exactly if it did.
    pub retry_after: Wait,
}

impl Decision {
    /// Whole seconds until the bucket is full again, rounded up.
    pub fn reset_after_s(&self) -> i64 {
        self.reset_after_ns.div_ceil(NANOS_PER_S) as i64
    }
}

/// Decides a call of `quantity` tokens. The second value is the state to store, if it changed.
///
/// A quantity of 0 takes nothing, so it passes and changes nothing: a look at the key.
///
/// Inlined, so that whoever asks for `allowed` alone does not pay for the divisions behind the rest.
#[inline(always)]
pub fn take(tat: Tat, limit: &Limit, quantity: u64, now: Nanos) -> (Decision, Option<Tat>) {
    if limit.is_far() || far::is_far(tat) {
        return far::take(tat, limit, quantity, now);
    }
    let tat = current(tat, limit, now);
    let level = level(tat, limit, now);
    if quantity == 0 {
        return (decision(tat, limit, now, Wait::Now), None);
    }
    if quantity > limit.burst() {
        return (decision(tat, limit, now, Wait::Never), None);
    }
    let after = level + u128::from(quantity) * limit.period_ns();
    if after <= capacity(limit) {
        let tat = if quantity == 1 { step(tat, limit) } else { at_level(after, limit, now) };
        return (decision(tat, limit, now, Wait::Now), Some(tat));
    }
    let short = div_rem(after - capacity(limit), limit);
    let wait = short.0.saturating_add(u64::from(short.1 > 0));
    (decision(tat, limit, now, Wait::Ns(wait)), None)
}

/// What [`take`] would answer, without taking: `remaining` is what is there now.
pub fn peek(tat: Tat, limit: &Limit, quantity: u64, now: Nanos) -> Decision {
    let (would, _) = take(tat, limit, quantity, now);
    let (is, _) = take(tat, limit, 0, now);
    Decision { allowed: would.allowed, retry_after: would.retry_after, ..is }
}

/// Gives `quantity` tokens back, up to a full bucket.
pub fn refund(tat: Tat, limit: &Limit, quantity: u64, now: Nanos) -> Tat {
    if limit.is_far() || far::is_far(tat) {
        return far::refund(tat, limit, quantity, now);
    }
    let level = level(current(tat, limit, now), limit, now);
    let back = u128::from(quantity).saturating_mul(limit.period_ns());
    at_level(level.saturating_sub(back), limit, now)
}

/// The arrival time as it stands: not in the past, and with a remainder that this limit knows.
#[inline]
pub(crate) fn current(tat: Tat, limit: &Limit, now: Nanos) -> Tat {
    if tat.ns < now {
        Tat { ns: now, rem: 0 }
    } else if u64::from(tat.rem) >= limit.count() {
        // Left by a limit with a larger count: round it up.
        Tat { ns: tat.ns.saturating_add(1), rem: 0 }
    } else {
        tat
    }
}

/// What is taken out of the bucket.
#[inline]
pub(crate) fn level(tat: Tat, limit: &Limit, now: Nanos) -> u128 {
    u128::from(tat.ns - now) * u128::from(limit.count()) + u128::from(tat.rem)
}

/// What the bucket holds: see `Limit::new` for why it fits.
#[inline]
pub(crate) fn capacity(limit: &Limit) -> u128 {
    u128::from(limit.burst()) * limit.period_ns()
}

/// One token later: [`at_level`] without its division.
#[inline]
fn step(tat: Tat, limit: &Limit) -> Tat {
    let step = limit.step();
    let rem = u64::from(tat.rem) + u64::from(step.rem);
    let carry = rem >= limit.count();
    let rem = if carry { rem - limit.count() } else { rem };
    Tat { ns: tat.ns.saturating_add(step.ns).saturating_add(u64::from(carry)), rem: rem as u32 }
}

#[inline]
pub(crate) fn at_level(level: u128, limit: &Limit, now: Nanos) -> Tat {
    let (ns, rem) = div_rem(level, limit);
    Tat { ns: now.saturating_add(ns), rem }
}

#[inline]
fn decision(tat: Tat, limit: &Limit, now: Nanos, retry_after: Wait) -> Decision {
    let left = capacity(limit).saturating_sub(level(tat, limit, now));
    Decision {
        allowed: retry_after == Wait::Now,
        limit: limit.burst(),
        remaining: narrow_div(left, limit.period_ns()),
        reset_after_ns: (tat.ns - now).saturating_add(u64::from(tat.rem > 0)),
        retry_after,
    }
}

/// Whole nanoseconds of a level, and what is left over.
#[inline]
fn div_rem(level: u128, limit: &Limit) -> (u64, u32) {
    let nano = u128::from(limit.count());
    let ns = narrow_div(level, nano);
    // A quotient that did not fit leaves no remainder worth keeping.
    let rem = level.wrapping_sub(u128::from(ns).wrapping_mul(nano));
    (ns, u32::try_from(rem).unwrap_or(0))
}

/// 128-bit division is several times dearer than 64-bit, and nearly every limit fits 64.
#[inline]
fn narrow_div(a: u128, b: u128) -> u64 {
    match (u64::try_from(a), u64::try_from(b)) {
        (Ok(a), Ok(b)) => a / b,
        _ => u64::try_from(a / b).unwrap_or(u64::MAX),
    }
}
