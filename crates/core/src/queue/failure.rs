//! What happens to a message whose delivery failed: again, later, or a dead letter.

/// How long a message waits before the next attempt: `initial x factor^(attempts - 1)`, up to a maximum, and
/// up to `jitter` percent more or less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The wait after the first failed attempt.
    pub initial_ms: u64,
    /// What each further failure multiplies it by, in thousandths; below 1000 acts as 1000.
    pub factor_permille: u32,
    /// The longest wait, before jitter.
    pub max_ms: u64,
    /// How far a wait may be off its value, so that messages that failed together do not come back together.
    /// Above 100 acts as 100.
    pub jitter_percent: u8,
}

impl Default for Backoff {
    fn default() -> Backoff {
        Backoff { initial_ms: 1000, factor_permille: 2000, max_ms: 60_000, jitter_percent: 20 }
    }
}

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Back into its queue after this long.
    Retry {
        /// Nanoseconds from the failure.
        delay_ns: u64,
    },
    /// It has failed as often as it may.
    DeadLetter,
}

/// Decides on a message that has now failed `attempts` times, this one included. `draw` is any random number:
/// it places the jitter, and nothing else depends on it.
pub fn verdict(max_attempts: Option<u32>, backoff: &Backoff, attempts: u32, draw: u64) -> Verdict {
    if max_attempts.is_some_and(|max| attempts >= max) {
        return Verdict::DeadLetter;
    }
    Verdict::Retry { delay_ns: backoff.delay_ns(attempts, draw) }
}

impl Backoff {
    /// The wait after this many failed attempts.
    pub fn delay_ns(&self, attempts: u32, draw: u64) -> u64 {
        const NS_PER_MS: u128 = 1_000_000;
        let max = u128::from(self.max_ms) * NS_PER_MS;
        let factor = u128::from(self.factor_permille.max(1000));
        let mut delay = (u128::from(self.initial_ms) * NS_PER_MS).min(max);
        // A factor that grows at all passes any maximum in some 64,000 steps of 0.1 %; most in a few.
        let mut left = if factor == 1000 { 0 } else { attempts.saturating_sub(1) };
        while left > 0 && delay > 0 && delay < max {
            delay = (delay * factor / 1000).max(delay + 1).min(max);
            left -= 1;
        }
        u64::try_from(jittered(delay, self.jitter_percent.min(100), draw)).unwrap_or(u64::MAX)
    }
}

/// Somewhere between `delay` less and `delay` plus the percentage, both ends included.
fn jittered(delay: u128, percent: u8, draw: u64) -> u128 {
    // At most 2^64 x 10^6, so a percentage of it fits.
    let reach = delay * u128::from(percent) / 100;
    let low = delay - reach;
    // The product of both may need more than 128 bits for delays of centuries: they get the middle.
    match (2 * reach + 1).checked_mul(u128::from(draw)) {
        Some(scaled) => low + (scaled >> 64),
        None => delay,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn waits_grow_to_the_maximum() {
        let backoff = Backoff { jitter_percent: 0, ..Backoff::default() };
        let waits = [1, 2, 3, 4, 7, 8, u32::MAX].map(|attempts| backoff.delay_ns(attempts, 7) / MS);
        assert_eq!(waits, [1000, 2000, 4000, 8000, 60_000, 60_000, 60_000]);
        let slow = Backoff { factor_permille: 1001, max_ms: u64::MAX, ..backoff };
        assert!(slow.delay_ns(u32::MAX, 0) > 1 << 60);
        let flat = Backoff { factor_permille: 0, ..backoff };
        assert_eq!(flat.delay_ns(u32::MAX, 0), 1000 * MS);
        let none = Backoff { initial_ms: 0, ..backoff };
        assert_eq!(none.delay_ns(9, 0), 0);
    }

    #[test]
    fn jitter_stays_within_its_percentage() {
        let backoff = Backoff::default();
        assert_eq!(backoff.delay_ns(1, 0), 800 * MS);
        assert_eq!(backoff.delay_ns(1, u64::MAX), 1200 * MS);
        assert_eq!(backoff.delay_ns(1, 1 << 63), 1000 * MS);
        let all = Backoff { jitter_percent: 255, ..backoff };
        assert_eq!((all.delay_ns(1, 0), all.delay_ns(1, u64::MAX)), (0, 2000 * MS));
        let centuries = Backoff { initial_ms: u64::MAX, max_ms: u64::MAX, ..backoff };
        assert_eq!(centuries.delay_ns(3, u64::MAX), u64::MAX);
    }

    #[test]
    fn attempts_run_out() {
        let backoff = Backoff::default();
        let check = |max, attempts, dead| {
            assert_eq!(
                verdict(max, &backoff, attempts, 0) == Verdict::DeadLetter,
                dead,
                "{max:?} {attempts}"
            );
        };
        check(None, u32::MAX, false);
        check(Some(3), 2, false);
        check(Some(3), 3, true);
        check(Some(3), 4, true);
        check(Some(0), 0, true);
    }
}
