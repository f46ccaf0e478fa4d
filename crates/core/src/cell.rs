//! `CL.THROTTLE` as redis-cell 0.5 computes it, for callers who bring scripts written against it.
//!
//! It reads and writes the same arrival time as [`gcra`](crate::gcra), but counts in its own way: the burst
//! is on top of the first token, the interval is cut to whole nanoseconds, `remaining` divides whole
//! microseconds, a negative quantity gives tokens back, and seconds are rounded up from whole milliseconds.
//! Where redis-cell would overflow, this saturates; where it would bring its host down, this refuses.

use crate::far::LAST_ARRIVAL;
use crate::gcra::Tat;
use crate::{NANOS_PER_S, Nanos};

/// The arguments of one call, as they come: no sign is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Args {
    /// Tokens beside the first.
    pub max_burst: i64,
    /// Tokens that come back every period.
    pub count: i64,
    /// The period in seconds.
    pub period_s: i64,
    /// Tokens to take; negative gives back.
    pub quantity: i64,
}

/// The five integers of the reply, in the order of the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Whether the call was refused.
    pub limited: bool,
    /// `max_burst + 1`.
    pub limit: i64,
    /// Tokens left.
    pub remaining: i64,
    /// Seconds until it could pass; -1 if it passed, and if it never can.
    pub retry_after_s: i64,
    /// Seconds until the bucket is full.
    pub reset_after_s: i64,
}

/// Why redis-cell answers with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The interval between two tokens comes out as 0 ns.
    ZeroRate,
    /// A refund would leave the key fuller than full.
    NegativeExpiry,
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Error::ZeroRate => "Zero rates are not supported",
            Error::NegativeExpiry => "Error while setting key expire",
        })
    }
}

impl std::error::Error for Error {}

/// Decides one call. The second value is the state to store, if it passed.
pub fn throttle(tat: Tat, args: &Args, now: Nanos) -> Result<(Reply, Option<Tat>), Error> {
    let interval = interval_ns(args);
    if interval == 0 {
        return Err(Error::ZeroRate);
    }
    let now = i128::from(now);
    let limit = args.max_burst.saturating_add(1);
    let tolerance = interval * i128::from(limit);
    let increment = interval * i128::from(args.quantity);
    let stored = (i128::from(tat.ns.min(LAST_ARRIVAL)) + i128::from(tat.rem > 0)).max(now);
    let next = stored + increment;
    let wait = next - tolerance - now;
    let limited = wait > 0;

    let ttl = if limited { stored - now } else { next - now };
    if !limited && ttl / NANOS_PER_MS < -1 {
        return Err(Error::NegativeExpiry);
    }
    let reply = Reply {
        limited,
        limit,
        remaining: remaining(tolerance - ttl, interval),
        retry_after_s: if limited && increment <= tolerance { seconds(wait) } else { -1 },
        reset_after_s: seconds(ttl),
    };
    let arrival = (now + ttl).clamp(now, now.max(i128::from(LAST_ARRIVAL)));
    let store = (!limited).then_some(Tat { ns: arrival as u64, rem: 0 });
    Ok((reply, store))
}

const NANOS_PER_MS: i128 = 1_000_000;

/// Redis-cell divides in floating point and cuts: the same here, or the same call would answer otherwise.
fn interval_ns(args: &Args) -> i128 {
    if args.count == 0 {
        return 0;
    }
    let period_ns = i128::from(args.period_s) * i128::from(NANOS_PER_S);
    i128::from((period_ns as f64 / args.count as f64) as i64)
}

fn remaining(left_ns: i128, interval_ns: i128) -> i64 {
    if left_ns <= -interval_ns {
        return 0;
    }
    // An interval below 1 us divides by zero: the cast makes infinity i64::MAX, and 0/0 zero.
    ((left_ns / 1000) as f64 / (interval_ns / 1000) as f64) as i64
}

/// Whole seconds, and one more if at least a whole millisecond is left over.
fn seconds(ns: i128) -> i64 {
    let per_s = i128::from(NANOS_PER_S);
    let whole = ns / per_s;
    let part = i128::from((ns % per_s) / NANOS_PER_MS > 0);
    i64::try_from(whole + part).unwrap_or(if ns < 0 { i64::MIN } else { i64::MAX })
}
