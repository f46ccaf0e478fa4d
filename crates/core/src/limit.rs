//! A rate limit: `burst` tokens at once, `count` tokens back every period.
//!
//! A rate is a fraction, never a float. [`Limit::new`] is the only way to make one, so whatever holds a
//! `Limit` may multiply its parts without a thought for overflow: `burst x period <= HORIZON x count` holds
//! for every one of them.

use crate::NANOS_PER_S;
use crate::gcra::Tat;

/// The longest time a limit may take to refill from empty: 2^62 ns, 146 years.
///
/// A slower limit (a burst of 2,000,000,000 at one token in 292 billion years, say) is kept as one that
/// refills in exactly this time, so that every state fits 64-bit nanoseconds. Nobody who reads the answer
/// will be there to see the difference.
pub const HORIZON_NS: u64 = 1 << 62;

/// A checked rate limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limit {
    burst: u64,
    count: u64,
    period_ns: u128,
    scale: Scale,
}

/// A limit in the units of GCRA's arithmetic, worked out once: a nanosecond weighs `nano`, a token weighs
/// `token`, and a token takes `step`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Scale {
    pub nano: u32,
    pub token: u128,
    pub step: Tat,
}

impl Scale {
    #[inline]
    fn new(count: u64, period_ns: u128) -> Scale {
        let (nano, token) = match u32::try_from(count) {
            Ok(nano) => (nano, period_ns),
            Err(_) => narrow(count, period_ns),
        };
        let step = match u64::try_from(token) {
            Ok(token) => Tat { ns: token / u64::from(nano), rem: (token % u64::from(nano)) as u32 },
            // Above 64 bits of nanoseconds only with a count that brings the quotient below them.
            Err(_) => Tat { ns: (token / u128::from(nano)) as u64, rem: (token % u128::from(nano)) as u32 },
        };
        Scale { nano, token, step }
    }
}

/// A count above 32 bits, brought below: exactly if the fraction reduces (5,000,000,000 a second is 5 per
/// nanosecond), else rounded so that a token weighs more, by less than one part in 2^31.
#[cold]
fn narrow(count: u64, period_ns: u128) -> (u32, u128) {
    let divisor = gcd(u128::from(count), period_ns);
    let (count, period) = (u128::from(count) / divisor, period_ns / divisor);
    let shift = (128 - count.leading_zeros()).saturating_sub(32);
    let up = (1u128 << shift) - 1;
    ((count >> shift) as u32, (period + up) >> shift)
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
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
        let horizon = u128::from(HORIZON_NS);
        let (count, period_ns) = match u128::from(burst).checked_mul(period_ns) {
            Some(span) if span <= horizon * u128::from(count) => (count, period_ns),
            _ => (burst, horizon),
        };
        Ok(Limit { burst, count, period_ns, scale: Scale::new(count, period_ns) })
    }

    #[inline]
    pub(crate) fn scale(&self) -> &Scale {
        &self.scale
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
        Limit::new(Parts { burst, count: self.count, period_ns: self.period_ns })
    }

    /// Tokens that may be taken at once.
    pub fn burst(&self) -> u64 {
        self.burst
    }

    /// Tokens that come back every period.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The period in which `count` tokens come back.
    pub fn period_ns(&self) -> u128 {
        self.period_ns
    }

    /// Nanoseconds in which an empty bucket is full again, rounded up.
    pub fn refill_ns(&self) -> u64 {
        let span = u128::from(self.burst) * self.period_ns;
        span.div_ceil(u128::from(self.count)) as u64
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
    fn a_limit_slower_than_the_horizon_refills_in_the_horizon() {
        let period_ns = u128::from(u64::MAX) * u128::from(NANOS_PER_S);
        let limit = Limit::new(Parts { burst: u64::MAX, count: 1, period_ns }).unwrap();
        assert_eq!(limit.refill_ns(), HORIZON_NS);
        // One token a second, written with huge numbers, is left as it is.
        let huge = i64::MAX as u64;
        let period_ns = u128::from(huge) * u128::from(NANOS_PER_S);
        let limit = Limit::new(Parts { burst: 10, count: huge, period_ns }).unwrap();
        assert_eq!(limit.refill_ns(), 10 * NANOS_PER_S);
    }
}
