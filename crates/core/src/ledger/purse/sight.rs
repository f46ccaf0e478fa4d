//! What a node knows of the source: how much it held when it was last seen.

use super::super::term::Bound;
use super::MILLI;
use crate::Nanos;
use crate::limit::Limit;

/// How the source was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sight {
    /// What it held, in thousandths of tokens or in slots; below 0 is debt.
    pub(super) left: i64,
    /// When that was; 0: never.
    at: Nanos,
    /// It was found that nobody has taken from it: it has no room for what is given back.
    pub(super) is_whole: bool,
}

impl Sight {
    /// It holds this.
    pub(super) fn of(left: i64, now: Nanos) -> Sight {
        Sight { left, at: now, is_whole: false }
    }

    /// Nobody has taken from it: it is full, whatever becomes of the bound.
    pub(super) fn whole() -> Sight {
        Sight { is_whole: true, ..Sight::default() }
    }

    /// Thousandths of tokens that it holds now. One that was never seen is taken to be full.
    pub(super) fn tokens(&self, limit: &Limit, now: Nanos) -> i64 {
        let burst = i64::try_from(limit.burst().saturating_mul(MILLI)).unwrap_or(i64::MAX);
        if self.at == 0 {
            return burst;
        }
        let elapsed = u128::from(now.saturating_sub(self.at));
        let gain = elapsed.saturating_mul(u128::from(limit.count()) * u128::from(MILLI)) / limit.period_ns();
        self.left.saturating_add(i64::try_from(gain).unwrap_or(i64::MAX)).min(burst)
    }

    /// Whether it would be the same if it was never seen.
    pub(super) fn is_full(&self, limit: &Limit, now: Nanos) -> bool {
        self.tokens(limit, now) >= Sight::default().tokens(limit, now)
    }

    /// Slots that it had; nothing if it was never seen.
    pub(super) fn slots(&self) -> Option<i64> {
        (self.at > 0).then_some(self.left)
    }

    /// The same under another bound, as far as that can be told.
    pub(super) fn change(&mut self, from: &Bound, to: &Bound, now: Nanos) {
        match (from, to) {
            _ if self.at == 0 => {}
            (Bound::Rate(old), Bound::Rate(_)) => *self = Sight::of(self.tokens(old, now), now),
            (Bound::Concurrency(old), Bound::Concurrency(new)) => {
                let left = i128::from(self.left) + i128::from(*new) - i128::from(*old);
                self.left = left.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
            }
            // Tokens tell nothing of slots.
            _ => *self = Sight::default(),
        }
    }
}
