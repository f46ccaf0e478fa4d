//! What a round grants per unit of weight.
//!
//! It is at least the largest cost of the last two rounds, so that one grant always pays the debt that one
//! message can leave behind: a turn is O(1) whatever the costs, and no turn is longer than the costs ask for.

/// The quantum of one round robin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quantum {
    /// Of this round.
    grant: u64,
    /// The largest cost noted in this round, and in the one before.
    largest: u64,
    before: u64,
    /// Turns until a round is over, for rings that have no other sign of it.
    left: u32,
}

impl Quantum {
    pub(super) fn new(least: u64) -> Quantum {
        Quantum { grant: least.max(1), largest: 0, before: 0, left: 0 }
    }

    #[inline]
    pub(super) fn note(&mut self, cost: u64) {
        self.largest = self.largest.max(cost);
    }

    /// The next round begins.
    #[inline]
    pub(super) fn tick(&mut self, least: u64) {
        self.grant = least.max(1).max(self.largest).max(self.before);
        (self.before, self.largest) = (self.largest, 0);
    }

    /// A grant for this weight, on top of what is left of the last one.
    ///
    /// It always makes a turn possible, also for a debt of which nothing was heard in two rounds.
    #[inline]
    pub(super) fn grant(&self, deficit: i64, weight: u64) -> i64 {
        deficit.saturating_add(clamp(weight.saturating_mul(self.grant))).max(1)
    }

    /// A whole turn as cost per weight, in 2^-16.
    pub(super) fn turn(&self) -> i64 {
        clamp(self.grant.min(u32::MAX.into())) << 16
    }

    /// A grant to one of `entries` in a ring: as many of them make a round.
    pub(super) fn grant_in_ring(&mut self, deficit: i64, weight: u64, entries: u32) -> i64 {
        if self.left == 0 {
            self.tick(1);
            self.left = entries;
        }
        self.left = self.left.saturating_sub(1);
        self.grant(deficit, weight)
    }
}

/// A cost as something to subtract; 0 acts as 1, so that every turn comes to an end.
#[inline]
pub(super) fn clamp(cost: u64) -> i64 {
    i64::try_from(cost.max(1)).unwrap_or(i64::MAX)
}
