//! A rate limit: `burst` tokens at once, `count` tokens back every period.
//!
//! A rate is a fraction, never a float. [`Limit::new`] is the only way to make one, and brings it to a form in
//! which whatever holds a `Limit` may multiply its parts without a thought for overflow: the count has at
//! most 32 bits, and `burst x period` at most 125.

use crate::NANOS_PER_S;
use crate::gcra::Tat;

/// The furthest that an arrival time may lie ahead and still be kept in nanoseconds: 2^60, 36 years.
pub const HORIZON_NS: u64 = 1 << 60;

/// Bits of `burst x period`, at most.
const SPAN_BITS: u32 = 125;

/// A checked rate limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limit {
    burst: u64,
    count: u32,
    far: bool,
    period_ns: u128,
    /// What one token takes, worked out once: `period / count`.
    step: Tat,
}

/// Why parameters make no limit. The message names the parameter as the caller does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidLimit {
    /// `burst` was 0: nothing could ever pass.
    Burst,
    /// `count` was 0: nothing would ever come back.
    Count,
    /// `period` was 0: the rate would be infinite.
    Period,
}

impl std::fmt::Display for InvalidLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            InvalidLimit::Burst => "burst must be at least 1",
            InvalidLimit::Count => "count must be at least 1",
            InvalidLimit::Period => "period must be longer than 0",
        })
    }
}

impl std::error::Error for InvalidLimit {}

/// The parts of a limit, named, so that no two of them can be swapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Tokens that may be taken at once.
    pub burst: u64,
    /// Tokens that come back every period.
    pub count: u64,
    /// The period, in nanoseconds.
    pub period_ns: u128,
}

impl Limit {
    /// A limit out of its parts.
    ///
    /// A rate that does not fit the form of the module is brought to it: exactly if its fraction reduces
    /// (5,000,000,000 a second is 5 a nanosecond), else made slower: by less than one part in 2^31, or in the number of
    /// tokens that come in 73 years if that is less. Beyond the form are rates above 2^31 a nanosecond, which may lose
    /// more, and a token that takes over 73 years, which may come sooner than it was asked to.
    #[inline]
    pub fn new(parts: Parts) -> Result<Limit, InvalidLimit> {
        let Parts { burst, count, period_ns } = parts;
        if burst == 0 {
            return Err(InvalidLimit::Burst);
        }
        if count == 0 {
            return Err(InvalidLimit::Count);
        }
        if period_ns == 0 {
            return Err(InvalidLimit::Period);
        }
        let (count, period_ns) = match u32::try_from(count) {
            Ok(count) if spans(burst, period_ns) => (count, period_ns),
            _ => reduce(burst, count, period_ns),
        };
        let far = u128::from(burst) * period_ns > u128::from(HORIZON_NS) * u128::from(count);
        Ok(Limit { burst, count, far, period_ns, step: step(count, period_ns) })
    }

    /// What one token takes.
    #[inline]
    pub(crate) fn step(&self) -> Tat {
        self.step
    }

    /// Whether it takes longer than [`HORIZON_NS`] to refill.
    #[inline]
    pub(crate) fn is_far(&self) -> bool {
        self.far
    }

    /// `count` tokens per second, and as many at once.
    pub fn per_second(count: u64) -> Result<Limit, InvalidLimit> {
        Limit::per(count, NANOS_PER_S)
    }

    /// `count` tokens per minute, and as many at once.
    pub fn per_minute(count: u64) -> Result<Limit, InvalidLimit> {
        Limit::per(count, 60 * NANOS_PER_S)
    }

    /// `count` tokens per hour, and as many at once.
    pub fn per_hour(count: u64) -> Result<Limit, InvalidLimit> {
        Limit::per(count, 3600 * NANOS_PER_S)
    }

    fn per(count: u64, period_ns: u64) -> Result<Limit, InvalidLimit> {
        // A count of 0 is reported as such, not as a burst of 0.
        Limit::new(Parts { burst: count.max(1), count, period_ns: period_ns.into() })
    }

    /// The same rate with another burst.
    pub fn with_burst(self, burst: u64) -> Result<Limit, InvalidLimit> {
        Limit::new(Parts { burst, count: self.count.into(), period_ns: self.period_ns })
    }

    /// Tokens that may be taken at once.
    pub fn burst(&self) -> u64 {
        self.burst
    }

    /// Tokens that come back every period.
    pub fn count(&self) -> u64 {
        self.count.into()
    }

    /// The period in which `count` tokens come back.
    pub fn period_ns(&self) -> u128 {
        self.period_ns
    }

    /// Nanoseconds in which an empty bucket is full again, rounded up; `u64::MAX` is 584 years or more.
    pub fn refill_ns(&self) -> u64 {
        let span = u128::from(self.burst) * self.period_ns;
        u64::try_from(span.div_ceil(u128::from(self.count))).unwrap_or(u64::MAX)
    }
}

#[inline]
fn spans(burst: u64, period_ns: u128) -> bool {
    // Fast for any period below 2^61 ns, 73 years.
    period_ns >> 61 == 0
        || u128::from(burst).checked_mul(period_ns).is_some_and(|span| span >> SPAN_BITS == 0)
}

/// The fraction with a count of at most 32 bits, and a span of at most [`SPAN_BITS`].
#[cold]
fn reduce(burst: u64, count: u64, period_ns: u128) -> (u32, u128) {
    let divisor = gcd(u128::from(count), period_ns);
    let (count, period_ns) = (u128::from(count) / divisor, period_ns / divisor);
    match u32::try_from(count) {
        Ok(count) if spans(burst, period_ns) => (count, period_ns),
        _ => approximate(burst, count, period_ns),
    }
}

/// The longest period that fits, and the whole tokens that come in it: the more there are, the less does the part of one
/// matter that is lost.
fn approximate(burst: u64, count: u128, period_ns: u128) -> (u32, u128) {
    let most = u128::from(u32::MAX);
    let longest = (1 << SPAN_BITS) / u128::from(burst);
    let period = (period_ns.saturating_mul(most) / count).clamp(1, longest);
    let tokens = (count * period / period_ns).clamp(1, most);
    (tokens as u32, period)
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[inline]
fn step(count: u32, period_ns: u128) -> Tat {
    match u64::try_from(period_ns) {
        Ok(period) => Tat { ns: period / u64::from(count), rem: (period % u64::from(count)) as u32 },
        Err(_) => {
            let (ns, rem) = (period_ns / u128::from(count), period_ns % u128::from(count));
            // Only of a far limit, which takes no such steps, can it be more than 64 bits.
            Tat { ns: u64::try_from(ns).unwrap_or(u64::MAX), rem: rem as u32 }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeroes_are_refused_by_name() {
        let parts = Parts { burst: 1, count: 1, period_ns: 1 };
        assert_eq!(Limit::new(Parts { burst: 0, ..parts }), Err(InvalidLimit::Burst));
        assert_eq!(Limit::new(Parts { count: 0, ..parts }), Err(InvalidLimit::Count));
        assert_eq!(Limit::new(Parts { period_ns: 0, ..parts }), Err(InvalidLimit::Period));
        assert_eq!(Limit::per_second(0), Err(InvalidLimit::Count));
    }

    #[test]
    fn huge_numbers_keep_their_rate() {
        let huge = i64::MAX as u64;
        let check = |burst, count, period_s: u64, rate: (u64, u128)| {
            let period_ns = u128::from(period_s) * u128::from(NANOS_PER_S);
            let limit = Limit::new(Parts { burst, count, period_ns }).unwrap();
            assert_eq!((limit.burst(), limit.count(), limit.period_ns()), (burst, rate.0, rate.1));
        };
        check(huge, huge, huge, (1, u128::from(NANOS_PER_S)));
        check(10, 5_000_000_000, 1, (5, 1));
        check(2_000_000_000, 1, huge, (1, u128::from(huge) * u128::from(NANOS_PER_S)));
        // One token in 292 billion years comes in 146 if there are to be 2^63 of them.
        check(huge, 1, huge, (1, 1 << 62));
        check(1, huge, 1, (u32::MAX.into(), 1));
    }

    #[test]
    fn a_rate_that_does_not_fit_is_slower_by_a_part_in_two_billion() {
        for (count, period_ns) in
            [(10_000_000_000_001, 1_000_000_000u128), (1 << 61 | 1, 3_600_000_000_000), (4_294_967_311, 7)]
        {
            for burst in [1, 1_000_000_007, i64::MAX as u64] {
                let limit = Limit::new(Parts { burst, count, period_ns }).unwrap();
                let asked = u128::from(count) * limit.period_ns();
                let gets = u128::from(limit.count()) * period_ns;
                assert!(gets <= asked && asked - gets <= asked >> 31, "{count} in {period_ns}: {limit:?}");
            }
        }
    }
}
