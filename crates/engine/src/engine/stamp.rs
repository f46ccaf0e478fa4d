//! Stamps: numbers that follow time. None is given out twice in a run, nor one that a run before left on disk. Ids of
//! messages are stamps, and so are places in line.

use tidegate_core::Nanos;

use crate::settings::NANOS_PER_MS;

/// Bits below the milliseconds: 65,536 stamps each, and time is borrowed beyond that.
const COUNTER_BITS: u32 = 16;

/// Gives out stamps.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stamps {
    last: u64,
}

impl Stamps {
    /// The next stamp: milliseconds, then a counter.
    pub fn next(&mut self, now: Nanos) -> u64 {
        self.last = (self.last + 1).max((now / NANOS_PER_MS) << COUNTER_BITS);
        self.last
    }

    /// Stamps after this one only.
    pub fn not_before(&mut self, stamp: u64) {
        self.last = self.last.max(stamp);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_grow_whatever_the_clock_does() {
        let mut stamps = Stamps::default();
        let first = stamps.next(5 * NANOS_PER_MS);
        assert_eq!(first >> COUNTER_BITS, 5);
        assert_eq!(stamps.next(5 * NANOS_PER_MS), first + 1);
        assert_eq!(stamps.next(3 * NANOS_PER_MS), first + 2);
        assert_eq!(stamps.next(6 * NANOS_PER_MS) >> COUNTER_BITS, 6);
    }
}
