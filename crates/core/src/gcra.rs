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

use crate::limit::Limit;
use crate::wait::Wait;
use crate::{NANOS_PER_S, Nanos};

/// The theoretical arrival time of a key: when its bucket will be full again.
///
/// `Tat::default()` is the past, and so equal to a key that was never seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
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
pub fn take(tat: Tat, limit: &Limit, quantity: u64, now: Nanos) -> (Decision, Option<Tat>) {
    let scale = Scale::of(limit);
    let level = scale.level(tat, now);
    let capacity = scale.capacity;
    if quantity == 0 {
        return (scale.decision(level, now, Wait::Now), None);
    }
    if quantity > limit.burst() {
        return (scale.decision(level, now, Wait::Never), None);
    }
    let after = level + u128::from(quantity) * scale.token;
    if after <= capacity {
        let tat = scale.tat(after, now);
        return (scale.decision(after, now, Wait::Now), Some(tat));
    }
    let short = div_ceil(after - capacity, scale.nano);
    (scale.decision(level, now, Wait::Ns(saturate(short))), None)
}

/// What [`take`] would answer, without taking: `remaining` is what is there now.
pub fn peek(tat: Tat, limit: &Limit, quantity: u64, now: Nanos) -> Decision {
    let (would, _) = take(tat, limit, quantity, now);
    let (is, _) = take(tat, limit, 0, now);
    Decision { allowed: would.allowed, retry_after: would.retry_after, ..is }
}

/// Gives `quantity` tokens back, up to a full bucket.
pub fn refund(tat: Tat, limit: &Limit, quantity: u64, now: Nanos) -> Tat {
    let scale = Scale::of(limit);
    let back = u128::from(quantity).saturating_mul(scale.token);
    scale.tat(scale.level(tat, now).saturating_sub(back), now)
}

/// A limit in the units of the arithmetic: 1 ns weighs `nano`, one token weighs `token`.
struct Scale {
    burst: u64,
    nano: u128,
    token: u128,
    capacity: u128,
}

impl Scale {
    #[inline]
    fn of(limit: &Limit) -> Scale {
        let (nano, token) = match u32::try_from(limit.count()) {
            Ok(count) => (u128::from(count), limit.period_ns()),
            Err(_) => narrow(limit),
        };
        // At most HORIZON x count for every limit there is: see `Limit::new`.
        Scale { burst: limit.burst(), nano, token, capacity: u128::from(limit.burst()) * token }
    }

    /// What is taken out of the bucket at `now`.
    #[inline]
    fn level(&self, tat: Tat, now: Nanos) -> u128 {
        let ahead = u128::from(tat.ns.saturating_sub(now)) * self.nano;
        let rem = u128::from(tat.rem);
        match tat.ns < now {
            true => 0,
            // A remainder left by a limit with a larger count: round it up.
            false => ahead + rem.min(self.nano),
        }
    }

    #[inline]
    fn tat(&self, level: u128, now: Nanos) -> Tat {
        let (ns, rem) = div_rem(level, self.nano);
        Tat { ns: now.saturating_add(saturate(ns)), rem: rem as u32 }
    }

    #[inline]
    fn decision(&self, level: u128, now: Nanos, retry_after: Wait) -> Decision {
        let Tat { ns, rem } = self.tat(level, now);
        Decision {
            allowed: retry_after == Wait::Now,
            limit: self.burst,
            remaining: saturate(div_rem(self.capacity.saturating_sub(level), self.token).0),
            reset_after_ns: (ns - now).saturating_add(u64::from(rem > 0)),
            retry_after,
        }
    }
}

/// A count above 32 bits, brought below: exactly if the fraction reduces (5,000,000,000 a second is 5 per
/// nanosecond), else rounded so that a token weighs more, by less than one part in 2^31.
#[cold]
fn narrow(limit: &Limit) -> (u128, u128) {
    let (count, period) = (u128::from(limit.count()), limit.period_ns());
    let divisor = gcd(count, period);
    let (count, period) = (count / divisor, period / divisor);
    let shift = (128 - count.leading_zeros()).saturating_sub(32);
    let up = (1u128 << shift) - 1;
    (count >> shift, (period + up) >> shift)
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// 128-bit division is several times dearer than 64-bit, and nearly every limit fits 64.
#[inline]
fn div_rem(a: u128, b: u128) -> (u128, u128) {
    match (u64::try_from(a), u64::try_from(b)) {
        (Ok(a), Ok(b)) => (u128::from(a / b), u128::from(a % b)),
        _ => (a / b, a % b),
    }
}

#[inline]
fn div_ceil(a: u128, b: u128) -> u128 {
    let (quotient, rem) = div_rem(a, b);
    quotient + u128::from(rem > 0)
}

#[inline]
fn saturate(n: u128) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}
