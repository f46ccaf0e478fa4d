//! How much is taken of a limit over time, as far as a few numbers can tell.

use crate::{NANOS_PER_S, Nanos};

/// How much is taken over time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Demand {
    since: Nanos,
    count: u64,
    takes: u32,
    per_s: u64,
}

/// The least time over which demand is counted.
const COUNTED_NS: u64 = NANOS_PER_S / 4;
/// So many takes tell of a demand sooner.
const MANY_TAKES: u32 = 8;

impl Demand {
    pub(super) fn note(&mut self, n: u64, now: Nanos) {
        if now.saturating_sub(self.since) >= COUNTED_NS {
            self.per_s = self.rate(now);
            (self.since, self.count, self.takes) = (now, 0, 0);
        }
        self.count = self.count.saturating_add(n);
        self.takes = self.takes.saturating_add(1);
    }

    /// What was taken in a second, lately: the mean of what was, and of what is being counted. One take is no demand.
    fn rate(&self, now: Nanos) -> u64 {
        let elapsed = now.saturating_sub(self.since);
        let counted = |over: u64| {
            let counted = u128::from(self.count) * u128::from(NANOS_PER_S) / u128::from(over.max(1));
            u64::try_from(counted).unwrap_or(u64::MAX)
        };
        if elapsed < COUNTED_NS {
            let many = self.takes >= MANY_TAKES;
            return if many { self.per_s.max(counted(COUNTED_NS)) } else { self.per_s };
        }
        // The longer it is ago, the less the old rate says.
        let old = if elapsed >= 4 * COUNTED_NS && self.per_s > 0 { counted(elapsed) } else { self.per_s };
        let new = if self.takes > 1 || self.per_s > 0 { counted(elapsed) } else { counted(elapsed) / 2 };
        old / 2 + new / 2 + (old & new & 1)
    }

    /// What is to be expected within this time.
    pub(super) fn within(&self, ns: u64, now: Nanos) -> u64 {
        let expected = u128::from(self.rate(now)) * u128::from(ns) / u128::from(NANOS_PER_S);
        u64::try_from(expected).unwrap_or(u64::MAX)
    }
}
