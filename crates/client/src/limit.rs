//! The limit a caller brings with its call.
//!
//! Nothing is checked here: the server owns the rules and refuses a limit it cannot keep with the code
//! `invalid_limit`.

/// `burst` tokens at once, `count` tokens back every `period_s` seconds.
///
/// ```
/// use tidegate_client::Limit;
///
/// let limit = Limit::per_minute(60).burst(10);
/// assert_eq!(limit, Limit { burst: 10, count: 60, period_s: 60 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limit {
    /// Tokens that may be taken at once.
    pub burst: u64,
    /// Tokens that come back every period.
    pub count: u64,
    /// The period, in seconds.
    pub period_s: u64,
}

impl Limit {
    /// `count` per second, and as many at once.
    pub const fn per_second(count: u64) -> Limit {
        Limit { burst: count, count, period_s: 1 }
    }

    /// `count` per minute, and as many at once.
    pub const fn per_minute(count: u64) -> Limit {
        Limit { burst: count, count, period_s: 60 }
    }

    /// `count` per hour, and as many at once.
    pub const fn per_hour(count: u64) -> Limit {
        Limit { burst: count, count, period_s: 3_600 }
    }

    /// `count` per day, and as many at once.
    pub const fn per_day(count: u64) -> Limit {
        Limit { burst: count, count, period_s: 86_400 }
    }

    /// The same rate with another burst.
    pub const fn burst(self, burst: u64) -> Limit {
        Limit { burst, ..self }
    }
}
