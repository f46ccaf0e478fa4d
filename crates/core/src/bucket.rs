//! A token bucket for stored limits: an exact level that may go into debt, with its own refill position.
//!
//! The level is kept in units of `1/period` of a token, so a nanosecond brings `count` of them and no
//! fraction is ever dropped. A refill that stays below a token is not lost, a clock that steps back brings
//! nothing and takes nothing, and polling at any pace admits the same.

use crate::Nanos;
use crate::limit::Limit;

/// When a take could pass. What is ready later is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ready {
    /// It passes now.
    Now,
    /// It could pass at this time, if nobody else takes before.
    At(Nanos),
    /// Nobody knows: when somebody gives something back, or a setting changes.
    Pending,
    /// It asks for more than the burst.
    Never,
}

/// Why nothing was taken: of several charges, the one that has to wait longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Short {
    /// Its place in the call.
    pub charge: usize,
    /// When it could pass; `Never` if it asks for more than the burst.
    pub ready: Ready,
}

impl std::fmt::Display for Short {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.ready {
            Ready::Never => {
                write!(f, "charge {} asks for more than its burst and can never pass", self.charge)
            }
            _ => write!(f, "charge {} is short of tokens", self.charge),
        }
    }
}

impl std::error::Error for Short {}

/// Bytes of a bucket that is kept: level, scale, refill position.
pub const KEPT_BYTES: usize = 40;

/// The state of one limit for one holder. Packed, so that a million of them take 24 bytes each and not 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(Rust, packed(8))]
pub struct Bucket {
    /// Tokens times period. Never above `burst x period` once refilled; below 0 is debt.
    level: i128,
    /// Up to when the refill has been counted.
    refilled_at: Nanos,
}

impl Bucket {
    /// A full bucket.
    pub fn full(limit: &Limit, now: Nanos) -> Bucket {
        Bucket { level: capacity(limit), refilled_at: now }
    }

    /// A bucket that holds nothing, under no limit yet.
    pub fn empty(now: Nanos) -> Bucket {
        Bucket { level: 0, refilled_at: now }
    }

    /// The bucket as bytes to keep. They tell which scale its level is in.
    pub fn to_bytes(&self, limit: &Limit) -> [u8; KEPT_BYTES] {
        let mut bytes = [0; KEPT_BYTES];
        bytes[..16].copy_from_slice(&self.level.to_le_bytes());
        bytes[16..32].copy_from_slice(&limit.period_ns().to_le_bytes());
        bytes[32..].copy_from_slice(&self.refilled_at.to_le_bytes());
        bytes
    }

    /// The bucket that was kept, under `limit`, which may have changed since: whole tokens are kept then. Time that
    /// lies ahead of `now` is not lived twice. Nothing if these are not the bytes of a bucket.
    pub fn from_bytes(bytes: &[u8], limit: &Limit, now: Nanos) -> Option<Bucket> {
        let (level, rest) = bytes.split_first_chunk()?;
        let (period_ns, rest) = rest.split_first_chunk()?;
        let level = i128::from_le_bytes(*level);
        let period_ns = i128::try_from(u128::from_le_bytes(*period_ns)).ok().filter(|period| *period > 0)?;
        let refilled_at = Nanos::from_le_bytes(rest.try_into().ok()?);
        let level = match period_ns == limit.period_ns() as i128 {
            true => level,
            false => level.div_euclid(period_ns).saturating_mul(limit.period_ns() as i128),
        };
        let mut bucket = Bucket { level: level.min(capacity(limit)), refilled_at };
        bucket.refill(limit, now);
        Some(bucket)
    }

    /// Nanoseconds from the last refill until the bucket is full, rounded up.
    pub fn until_full_ns(&self, limit: &Limit) -> u64 {
        let short = capacity(limit).saturating_sub(self.level).max(0) as u128;
        u64::try_from(short.div_ceil(u128::from(limit.count()))).unwrap_or(u64::MAX)
    }

    /// Drops what was given back beyond the burst.
    pub fn trim(&mut self, limit: &Limit) {
        self.level = self.level.min(capacity(limit));
    }

    /// A bucket that holds this many whole tokens, which may be a debt, or more than the burst until `now` passes.
    pub fn holding(tokens: i64, limit: &Limit, now: Nanos) -> Bucket {
        Bucket { level: scaled(tokens, limit), refilled_at: now }
    }

    /// Counts the time since the last refill.
    pub fn refill(&mut self, limit: &Limit, now: Nanos) {
        if now <= self.refilled_at {
            return;
        }
        let elapsed = i128::from(now - self.refilled_at);
        // At most 2^64 x 2^64, which fits only unsigned; a gain that large fills any bucket.
        let gain = elapsed.checked_mul(i128::from(limit.count())).unwrap_or(i128::MAX);
        if self.level > capacity(limit) && gain < limit.period_ns() as i128 {
            // What was given back beyond the burst may be spent until a whole token would have come.
            return;
        }
        self.level = self.level.saturating_add(gain).min(capacity(limit));
        self.refilled_at = now;
    }

    /// Whole tokens in the bucket as of the last refill, rounded down; negative is debt.
    pub fn tokens(&self, limit: &Limit) -> i64 {
        let tokens = self.level.div_euclid(limit.period_ns() as i128);
        i64::try_from(tokens).unwrap_or(if tokens < 0 { i64::MIN } else { i64::MAX })
    }

    /// When `n` tokens could be taken. Refill first.
    pub fn ready(&self, limit: &Limit, n: u64) -> Ready {
        if n > limit.burst() {
            return Ready::Never;
        }
        let short = cost(limit, n).saturating_sub(self.level);
        if short <= 0 {
            return Ready::Now;
        }
        let wait = (short as u128).div_ceil(u128::from(limit.count()));
        Ready::At(self.refilled_at.saturating_add(u64::try_from(wait).unwrap_or(u64::MAX)))
    }

    /// Refills, and takes `n` tokens if they are there.
    pub fn try_take(&mut self, limit: &Limit, n: u64, now: Nanos) -> Ready {
        self.refill(limit, now);
        let ready = self.ready(limit, n);
        if ready == Ready::Now {
            self.level = self.level.saturating_sub(cost(limit, n));
        }
        ready
    }

    /// Refills, and takes `n` tokens whether they are there or not: into debt, or, below 0, given back.
    pub fn charge(&mut self, limit: &Limit, n: i64, now: Nanos) {
        self.refill(limit, now);
        self.level = self.level.saturating_sub(scaled(n, limit));
    }

    /// The same bucket under another limit: its tokens are kept, and cut to the new burst.
    pub fn change(&mut self, from: &Limit, to: &Limit, now: Nanos) {
        self.refill(from, now);
        let (old, new) = (from.period_ns() as i128, to.period_ns() as i128);
        let tokens = self.level.div_euclid(old).saturating_mul(new);
        let part =
            (self.level.rem_euclid(old) as u128).checked_mul(new as u128).map_or(0, |p| p / old as u128);
        self.level = tokens.saturating_add(part as i128).min(capacity(to));
    }
}

fn capacity(limit: &Limit) -> i128 {
    cost(limit, limit.burst())
}

/// For `n` up to the burst this has at most 125 bits: see `Limit::new`.
fn cost(limit: &Limit, n: u64) -> i128 {
    (u128::from(n) * limit.period_ns()) as i128
}

fn scaled(tokens: i64, limit: &Limit) -> i128 {
    i128::from(tokens).saturating_mul(limit.period_ns() as i128)
}
