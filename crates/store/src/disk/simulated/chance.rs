//! Chance from a seed: the same seed gives the same faults.

/// A stream of numbers (SplitMix64).
#[derive(Clone, Debug)]
pub(super) struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Chance {
        Chance(seed)
    }

    /// The next number below `bound`; 0 if that is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        if bound == 0 { 0 } else { mixed % bound }
    }

    /// True once in `of` times.
    pub fn one_in(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }
}
