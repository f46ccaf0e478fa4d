//! Bypasses a script that keeps failing.

use tidegate_core::Nanos;

/// Opens after some failures in a row, lets one call try after a while, and closes when that one works.
///
/// Shared by both hooks of a queue: they share a sandbox.
#[derive(Clone, Debug)]
pub struct Breaker {
    failures_to_open: u32,
    cooldown_ns: u64,
    failures: u32,
    open_until: Option<Nanos>,
}

impl Default for Breaker {
    fn default() -> Self {
        Self::new(3, 10_000_000_000)
    }
}

impl Breaker {
    /// A closed one.
    pub fn new(failures_to_open: u32, cooldown_ns: u64) -> Self {
        Self { failures_to_open: failures_to_open.max(1), cooldown_ns, failures: 0, open_until: None }
    }

    /// Whether a call may run.
    pub fn allows(&self, now: Nanos) -> bool {
        self.open_until.is_none_or(|until| now >= until)
    }

    /// A call gave its verdict.
    pub fn succeeded(&mut self) {
        self.failures = 0;
        self.open_until = None;
    }

    /// A call failed; true when that opens the breaker. The call that tries after a cool-down opens it again at once.
    pub fn failed(&mut self, now: Nanos) -> bool {
        self.failures = self.failures.saturating_add(1);
        let opens = self.open_until.is_some() || self.failures >= self.failures_to_open;
        if opens {
            self.open_until = Some(now.saturating_add(self.cooldown_ns));
            self.failures = 0;
        }
        opens
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn opens_at_the_third_failure_in_a_row() {
        let mut breaker = Breaker::default();
        assert!(!breaker.failed(0));
        assert!(!breaker.failed(0));
        breaker.succeeded();
        assert!(!breaker.failed(1));
        assert!(!breaker.failed(2));
        assert!(breaker.allows(2));
        assert!(breaker.failed(3));
        assert!(!breaker.allows(3));
        assert!(!breaker.allows(3 + 10 * S - 1));
        assert!(breaker.allows(3 + 10 * S));
    }

    #[test]
    fn the_try_after_a_cool_down_decides() {
        let mut breaker = Breaker::new(1, 10 * S);
        assert!(breaker.failed(0));
        assert!(breaker.failed(10 * S));
        assert!(!breaker.allows(20 * S - 1));
        breaker.succeeded();
        assert!(breaker.allows(0));

        let mut breaker = Breaker::default();
        for now in 0..3 {
            breaker.failed(now);
        }
        breaker.succeeded();
        assert!(!breaker.failed(11 * S), "a fresh count after it closed");
    }

    #[test]
    fn the_end_of_time_is_no_overflow() {
        let mut breaker = Breaker::new(1, 10 * S);
        assert!(breaker.failed(u64::MAX - 1));
        assert!(!breaker.allows(u64::MAX - 1));
    }
}
