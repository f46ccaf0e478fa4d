//! How the table is reached, and how long things are kept in it.

use std::time::Duration;

use tidegate_core::ledger::Window;
use tidegate_store::history::Retention;

const DAY_MS: u64 = 86_400_000;

/// How the table is reached, and how long things are kept in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The table's name.
    pub table: String,
    /// The region; by the standard chain if unsaid.
    pub region: Option<String>,
    /// Where to find something else that speaks DynamoDB's API.
    pub endpoint: Option<String>,
    /// How long one attempt of a call may take.
    pub timeout_ms: u64,
    /// How often a call is attempted.
    pub attempts: u32,
    /// After how long what is set is looked at again.
    pub config_refresh_ms: u64,
    /// From which difference between this node's clock and the table's on there is an alarm.
    pub max_clock_skew_ms: u64,
    /// In which windows usage is kept.
    pub usage_windows: Vec<Window>,
    /// How long usage and audit are kept.
    pub retention: Retention,
    /// Where other nodes reach this one.
    pub address: Option<String>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            table: "tidegate".into(),
            region: None,
            endpoint: None,
            timeout_ms: 500,
            attempts: 3,
            config_refresh_ms: 5_000,
            max_clock_skew_ms: 500,
            usage_windows: Window::ALL.to_vec(),
            retention: Retention {
                minute_ms: Some(7 * DAY_MS),
                hour_ms: Some(90 * DAY_MS),
                day_ms: Some(730 * DAY_MS),
                month_ms: None,
                audit_ms: Some(90 * DAY_MS),
            },
            address: None,
        }
    }
}

impl Settings {
    /// How long one attempt may take.
    pub fn attempt_timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms.max(1))
    }

    /// How long a call may take with all its attempts, and the pauses between them.
    pub fn call_timeout(&self) -> Duration {
        self.attempt_timeout() * self.attempts.max(1) + longest_pauses(self.attempts.max(1))
    }
}

/// The first pause between attempts, at most; each one after may be twice as long.
pub(crate) const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// The longest pause between attempts.
pub(crate) const LONGEST_PAUSE: Duration = Duration::from_secs(1);

fn longest_pauses(attempts: u32) -> Duration {
    let pause = |attempt: u32| (FIRST_PAUSE * (1 << attempt.min(10))).min(LONGEST_PAUSE);
    (0..attempts.saturating_sub(1)).map(pause).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_has_time_for_all_its_attempts() {
        let settings = Settings { timeout_ms: 100, attempts: 3, ..Settings::default() };
        assert_eq!(settings.call_timeout(), Duration::from_millis(3 * 100 + 50 + 100));
        let settings = Settings { attempts: 0, ..settings };
        assert_eq!(settings.call_timeout(), Duration::from_millis(100));
    }
}
