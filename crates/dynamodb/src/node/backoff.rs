//! How long to wait after a fault: longer each time, and not all at once.

use tidegate_core::Nanos;

const MS: u64 = 1_000_000;
/// After the first fault.
const FIRST_NS: u64 = 50 * MS;
/// However many there were.
const LONGEST_NS: u64 = 2_000 * MS;

/// A source of chance, from a seed: the same one every time in a test.
#[derive(Clone, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Chance {
        // 0 would stay 0.
        Chance(seed | 1)
    }

    /// A number below `below`, which is not 0.
    pub(crate) fn below(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below.max(1)
    }
}

/// When to try again after `faults` in a row: half of the time for certain, the rest by chance, so that those who failed
/// together do not come back together.
pub(crate) fn again_at(faults: u32, now: Nanos, chance: &mut Chance) -> Nanos {
    let wait = FIRST_NS.saturating_mul(1 << faults.saturating_sub(1).min(20)).min(LONGEST_NS);
    now.saturating_add(wait / 2 + chance.below(wait / 2 + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_a_bound_and_differ() {
        let mut chance = Chance::new(7);
        for (faults, longest) in
            [(0, 50), (1, 50), (2, 100), (3, 200), (6, 1600), (7, 2000), (u32::MAX, 2000)]
        {
            let waits: Vec<_> = (0..100).map(|_| again_at(faults, 0, &mut chance)).collect();
            let bounds = longest * MS / 2..=longest * MS;
            assert!(waits.iter().all(|wait| bounds.contains(wait)), "{faults}: {waits:?}");
            assert!(waits.iter().any(|wait| *wait != waits[0]));
        }
        assert_eq!(again_at(3, 9, &mut Chance::new(1)), again_at(3, 9, &mut Chance::new(1)));
    }
}
