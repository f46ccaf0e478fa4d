//! Arrival times that lie beyond the horizon.
//!
//! A burst of 1,000,000 at one token a day is full after 2,700 years, and 64 bits of nanoseconds end after 584. Such an
//! arrival time is kept as a floating-point number is: in units of 2^k ns, with k in [`Tat::ns`] (above [`BASE`], so that it is
//! told apart) and 87 bits of units behind it there and in [`Tat::rem`]. It is rounded up, to a nanosecond and by
//! less than one part in 2^86, so that nothing comes back early. A later one is a larger pair of numbers, as among all others.
//!
//! A far limit whose bucket is nearly full has an arrival time like any other, which is forgotten when it is past.

use crate::Nanos;
use crate::gcra::{self, Decision, Tat};
use crate::limit::{HORIZON_NS, Limit};
use crate::wait::Wait;

/// Above every arrival time until the year 2188, so that what lies above it is a far one.
const BASE: Nanos = (1 << 63) - (1 << FLOAT_BITS);

/// The last arrival time that is told apart from a far one.
pub const LAST_ARRIVAL: Nanos = BASE - 1;

/// Bits above [`BASE`]: 6 of k, and the upper ones of the units.
const FLOAT_BITS: u32 = 61;
const UPPER_BITS: u32 = 55;
/// Bits of units in all.
const UNIT_BITS: u32 = UPPER_BITS + u32::BITS;

/// Whether an arrival time is a far one.
#[inline]
pub fn is_far(tat: Tat) -> bool {
    tat.ns >= BASE
}

/// The far form of an arrival time, not before it.
fn written(arrival_ns: u128) -> Tat {
    let mut k = (u128::BITS - arrival_ns.leading_zeros()).saturating_sub(UNIT_BITS);
    let mut units = (arrival_ns >> k) + u128::from(arrival_ns & ((1 << k) - 1) != 0);
    if units >> UNIT_BITS != 0 {
        // Rounded up to one bit more, of which the last is zero.
        units >>= 1;
        k += 1;
    }
    let upper = (units >> u32::BITS) as u64;
    Tat { ns: BASE + (u64::from(k) << UPPER_BITS) + upper, rem: units as u32 }
}

/// The arrival time that a far form stands for.
fn read(tat: Tat) -> u128 {
    let bits = tat.ns - BASE;
    let k = (bits >> UPPER_BITS) as u32;
    let upper = bits & ((1 << UPPER_BITS) - 1);
    let units = u128::from(upper) << u32::BITS | u128::from(tat.rem);
    if k > units.leading_zeros() { u128::MAX } else { units << k }
}

/// What is taken out of the bucket, in units of `1/count` ns.
fn level(tat: Tat, limit: &Limit, now: Nanos) -> u128 {
    match is_far(tat) {
        true => read(tat).saturating_sub(now.into()).saturating_mul(limit.count().into()),
        false => gcra::level(gcra::current(tat, limit, now), limit, now),
    }
}

/// The state of a bucket out of which so much is taken.
fn state(level: u128, limit: &Limit, now: Nanos) -> Tat {
    let ns = level.div_ceil(limit.count().into());
    if ns <= u128::from(HORIZON_NS) {
        gcra::at_level(level, limit, now)
    } else {
        written(ns + u128::from(now))
    }
}

/// As [`gcra::take`], for a far limit or an arrival time that one has left.
#[cold]
pub fn take(tat: Tat, limit: &Limit, quantity: u64, now: Nanos) -> (Decision, Option<Tat>) {
    let mut level = level(tat, limit, now);
    let capacity = gcra::capacity(limit);
    let retry_after = match quantity {
        0 => Wait::Now,
        _ if quantity > limit.burst() => Wait::Never,
        _ => {
            let short = level.saturating_add(taking(quantity, limit)).saturating_sub(capacity);
            if short == 0 { Wait::Now } else { Wait::Ns(time(short, limit)) }
        }
    };
    let allowed = retry_after == Wait::Now;
    let taken = allowed && quantity > 0;
    if taken {
        level += taking(quantity, limit);
    }
    let decision = Decision {
        allowed,
        limit: limit.burst(),
        remaining: saturated(capacity.saturating_sub(level) / limit.period_ns()),
        reset_after_ns: time(level, limit),
        retry_after,
    };
    (decision, taken.then(|| state(level, limit, now)))
}

/// As [`gcra::refund`].
#[cold]
pub fn refund(tat: Tat, limit: &Limit, quantity: u64, now: Nanos) -> Tat {
    state(level(tat, limit, now).saturating_sub(taking(quantity, limit)), limit, now)
}

/// What so many tokens weigh.
fn taking(quantity: u64, limit: &Limit) -> u128 {
    u128::from(quantity).saturating_mul(limit.period_ns())
}

/// How long it takes for so much to come back.
fn time(level: u128, limit: &Limit) -> u64 {
    saturated(level.div_ceil(limit.count().into()))
}

fn saturated(n: u128) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_no_earlier() {
        let mut last = Tat { ns: LAST_ARRIVAL, rem: u32::MAX };
        for bits in 61..126 {
            for arrival in [1u128 << bits, (1 << bits) + 1, (1 << bits) * 3 / 2 + 12_345, (2 << bits) - 1] {
                let tat = written(arrival);
                assert!(is_far(tat) && tat.ns < 1 << 63);
                let late = read(tat) - arrival;
                assert!(late <= arrival >> (UNIT_BITS - 1), "{arrival} is {late} ns late");
                assert!(last <= tat, "{arrival} comes before an earlier one");
                last = tat;
            }
        }
    }
}
