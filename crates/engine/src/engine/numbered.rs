//! Tables by a number that this server gave out, which nobody can choose so that they collide: several are looked into
//! for each message, and the hash that the standard library has for what strangers choose would cost more than the rest.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map from such a number.
pub(super) type Numbered<K, V> = HashMap<K, V, BuildHasherDefault<NumberHasher>>;

/// One multiplication. The table itself uses the highest and the lowest bits, so both halves of the product are in both.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NumberHasher(u64);

impl Hasher for NumberHasher {
    #[inline]
    fn write_u64(&mut self, number: u64) {
        let product = u128::from(self.0 ^ number) * 0x9e37_79b9_7f4a_7c15;
        self.0 = product as u64 ^ (product >> 64) as u64;
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64((*byte).into()));
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::hash::Hash;
    use tidegate_core::queue::MessageId;

    #[test]
    fn ids_in_a_row_are_spread() {
        let hash = |number: u64| {
            let mut hasher = NumberHasher::default();
            MessageId(number).hash(&mut hasher);
            hasher.finish()
        };
        let first = 0x0192_f3c4_a1b2_0000_u64;
        for step in [1, 16, 1 << 16, 1 << 20] {
            let hashes = (0..4096).map(|n| hash(first + n * step));
            let low: HashSet<u64> = hashes.clone().map(|hash| hash % 4096).collect();
            let high: HashSet<u64> = hashes.map(|hash| hash >> 57).collect();
            assert!(low.len() > 2048 && high.len() == 128, "{step}: {} and {}", low.len(), high.len());
        }
    }
}
