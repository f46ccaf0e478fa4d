//! The libraries behind one question. Each reads its own clock, as it does for its users.
//!
//! The limit allows everything that a benchmark can ask and is slow enough that a key, once asked, stays
//! live: what is measured is a decision on a key that is there, not an insertion.

use std::num::NonZeroU32;
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use throttlecrab::PeriodicStore;
use tidegate_limiter::{Limit, Limiter, Parts};

use super::super::systems;

const BURST: u32 = 10_000_000;
const PERIOD_S: u32 = 10;

/// May one more call of this key run now?
pub trait Decider: Sync {
    /// Who decides.
    const SYSTEM: &str;
    /// True if so.
    #[expect(clippy::ptr_arg, reason = "governor asks for its own key type, not for a borrowed form of it")]
    fn allows(&self, key: &String) -> bool;
}

/// Tidegate's library with an inline limit.
pub struct Tidegate {
    limiter: Limiter,
    limit: Limit,
}

impl Tidegate {
    /// With no keys.
    pub fn new() -> Result<Tidegate> {
        let period_ns = Duration::from_secs(PERIOD_S.into()).as_nanos();
        let limit = Limit::new(Parts { burst: BURST.into(), count: 1, period_ns })?;
        Ok(Tidegate { limiter: Limiter::new(), limit })
    }
}

impl Decider for Tidegate {
    const SYSTEM: &str = systems::TIDEGATE_LIMITER;

    fn allows(&self, key: &String) -> bool {
        self.limiter.check(key, &self.limit).allowed
    }
}

/// Governor's keyed limiter on its default store, DashMap.
pub struct Governor(DefaultKeyedRateLimiter<String>);

impl Governor {
    /// With no keys.
    pub fn new() -> Result<Governor> {
        let burst = NonZeroU32::new(BURST).context("a burst of nothing")?;
        let quota = Quota::with_period(Duration::from_secs(PERIOD_S.into())).context("no period")?;
        Ok(Governor(RateLimiter::keyed(quota.allow_burst(burst))))
    }
}

impl Decider for Governor {
    const SYSTEM: &str = systems::GOVERNOR;

    fn allows(&self, key: &String) -> bool {
        self.0.check_key(key).is_ok()
    }
}

/// Throttlecrab's library; behind a mutex, because it decides through `&mut self`.
pub struct Throttlecrab(Mutex<throttlecrab::RateLimiter<PeriodicStore>>);

impl Throttlecrab {
    /// With no keys.
    pub fn new() -> Throttlecrab {
        Throttlecrab(Mutex::new(throttlecrab::RateLimiter::new(PeriodicStore::new())))
    }
}

impl Decider for Throttlecrab {
    const SYSTEM: &str = systems::THROTTLECRAB_LIBRARY;

    fn allows(&self, key: &String) -> bool {
        let Ok(mut limiter) = self.0.lock() else { return false };
        let decision = limiter.rate_limit(key, BURST.into(), 1, PERIOD_S.into(), 1, SystemTime::now());
        decision.is_ok_and(|(allowed, _)| allowed)
    }
}
