//! Waiting for a turn, on any async runtime.

use std::time::Duration;

use tidegate_core::{Decision, Limit, Wait};

use crate::limiter::Limiter;

impl Limiter {
    /// Waits until `n` tokens of a key could be taken, and takes them. `Err` at once if that can never be.
    ///
    /// Waiters are not lined up: whoever asks first when the tokens come has them, and the others wait on.
    pub async fn until_ready(
        &self,
        key: impl AsRef<[u8]>,
        limit: &Limit,
        n: u64,
    ) -> Result<Decision, Decision> {
        let key = key.as_ref();
        loop {
            let decision = self.check_n(key, limit, n);
            match decision.retry_after {
                Wait::Now => return Ok(decision),
                Wait::Never => return Err(decision),
                Wait::Ns(ns) => futures_timer::Delay::new(Duration::from_nanos(ns)).await,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn waits_as_long_as_it_has_to_and_no_longer_than_for_ever() {
        let limiter = Limiter::new();
        let limit = Limit::per_second(100).unwrap().with_burst(1).unwrap();
        let started = Instant::now();
        for _ in 0..3 {
            assert!(pollster::block_on(limiter.until_ready("k", &limit, 1)).is_ok());
        }
        assert!(started.elapsed() >= Duration::from_millis(20));
        let never = pollster::block_on(limiter.until_ready("k", &limit, 2)).unwrap_err();
        assert_eq!(never.retry_after, Wait::Never);
    }
}
