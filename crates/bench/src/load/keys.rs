//! Which key each request names: a number that [`super::template::Template`] writes into it.

/// An endless run of key numbers.
pub trait Keys {
    /// The next one.
    fn next_key(&mut self) -> u64;
}

/// Keys drawn at random from a space, the same draw for the same seed (xorshift64*).
pub struct RandomKeys {
    state: u64,
    space: u64,
}

impl RandomKeys {
    /// Keys below `space`.
    pub fn below(space: u64) -> RandomKeys {
        RandomKeys { state: 0, space }.seeded(0)
    }

    /// Another draw of them.
    pub fn seeded(self, seed: u64) -> RandomKeys {
        // Zero is the one state that xorshift never leaves.
        RandomKeys { state: (seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1, ..self }
    }
}

impl Keys for RandomKeys {
    fn next_key(&mut self) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        let draw = self.state.wrapping_mul(0x2545_F491_4F6C_DD1D);
        // The high half of a 128-bit product is an even draw without a division.
        ((u128::from(draw) * u128::from(self.space)) >> 64) as u64
    }
}

/// Keys 0, 1, 2 and so on: each is new.
#[derive(Default)]
pub struct CountingKeys(u64);

impl Keys for CountingKeys {
    fn next_key(&mut self) -> u64 {
        let key = self.0;
        self.0 += 1;
        key
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_keys_stay_below_and_reach_all() {
        let mut keys = RandomKeys::below(10).seeded(7);
        let mut seen = [0_u32; 10];
        for _ in 0..10_000 {
            seen[usize::try_from(keys.next_key()).unwrap()] += 1;
        }
        assert!(seen.iter().all(|&count| count > 800), "{seen:?}");
    }

    #[test]
    fn counting_keys_never_repeat() {
        let mut keys = CountingKeys::default();
        assert_eq!([keys.next_key(), keys.next_key(), keys.next_key()], [0, 1, 2]);
    }
}
