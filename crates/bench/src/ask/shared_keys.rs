//! The keys that the loads have in common: those of `redis-benchmark -r 100000`.

use crate::load::keys::RandomKeys;

/// Keys are drawn from so many.
pub const SPACE: u64 = 100_000;
/// `key:` and twelve digits.
pub const LEN: usize = 16;

/// The same draw for every system.
pub fn draw() -> RandomKeys {
    RandomKeys::below(SPACE)
}
