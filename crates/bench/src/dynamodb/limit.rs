//! The limits that are set, and what they allow.

/// The name of the only limit.
pub const NAME: &str = "rpm";

/// A rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Tokens that come in a minute.
    pub per_minute: u64,
    /// Tokens at once.
    pub burst: u64,
}

impl Limit {
    /// So many a second, and a second's worth at once.
    pub fn per_second(count: u64) -> Limit {
        Limit { per_minute: count * 60, burst: count }
    }

    /// `rpm=60/minute,burst=10`.
    pub fn term(self) -> String {
        format!("{NAME}={}/minute,burst={}", self.per_minute, self.burst)
    }

    /// Tokens that come in a second.
    pub fn rate_per_s(self) -> f64 {
        self.per_minute as f64 / 60.0
    }

    /// The most that may be admitted within a time.
    pub fn within(self, seconds: f64) -> f64 {
        self.burst as f64 + self.rate_per_s() * seconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_allows_its_burst_and_what_comes() {
        let limit = Limit::per_second(10);
        assert_eq!(limit.term(), "rpm=600/minute,burst=10");
        assert_eq!(limit.within(1.5), 25.0);
    }
}
