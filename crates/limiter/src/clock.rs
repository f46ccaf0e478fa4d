//! Time for those who do not bring their own: monotonic, anchored to the wall once.

use std::time::{SystemTime, UNIX_EPOCH};

use tidegate_core::Nanos;

/// Nanoseconds since the Unix epoch that do not step.
///
/// The wall clock is read once. A step of it after that is not seen, so it mints nothing and takes nothing.
/// Between two reads the processor's own counter tells the time where it is steady (10 ns a read), and the
/// system's monotonic clock where it is not (23 ns).
#[derive(Clone, Debug)]
pub struct Clock {
    counter: quanta::Clock,
    /// What the counter showed at the start.
    origin: u64,
    anchor_ns: Nanos,
}

impl Clock {
    /// A clock that starts at the wall's time.
    pub fn new() -> Clock {
        Clock::not_before(0)
    }

    /// A clock that starts at the wall's time, or at `newest` if the wall is behind it: time that has been
    /// written down is not lived again.
    pub fn not_before(newest: Nanos) -> Clock {
        let counter = quanta::Clock::new();
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let wall_ns = u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX);
        Clock { origin: counter.raw(), counter, anchor_ns: wall_ns.max(newest) }
    }

    /// The time.
    #[inline]
    pub fn now(&self) -> Nanos {
        // Zero if the counter of this core is behind the one that started.
        self.anchor_ns + self.counter.delta_as_nanos(self.origin, self.counter.raw())
    }
}

impl Default for Clock {
    fn default() -> Clock {
        Clock::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_no_earlier_than_it_is_told() {
        let future = Clock::new().now() + 3_600_000_000_000;
        let clock = Clock::not_before(future);
        assert!(clock.now() >= future);
        assert!(clock.now() <= clock.now());
    }
}
