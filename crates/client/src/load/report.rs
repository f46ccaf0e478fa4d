//! What was seen.

use std::time::Duration;

use hdrhistogram::Histogram;

use super::answer::Answer;
use crate::Error;

/// What the load came to.
#[derive(Clone, Debug)]
pub struct Report {
    /// From the first request to the last answer.
    pub elapsed: Duration,
    /// Requests that were allowed.
    pub allowed: u64,
    /// Requests that were denied.
    pub denied: u64,
    /// Requests that the server refused. Not 0 means that the load was not what it was meant to be.
    pub refused: u64,
    /// The first refusal, as a sample.
    pub refusal: Option<Error>,
    /// How long each request took, in nanoseconds, from the write of its batch to the read of its own answer.
    pub latency_ns: Histogram<u64>,
}

impl Report {
    /// Requests answered.
    pub fn requests(&self) -> u64 {
        self.allowed + self.denied + self.refused
    }

    /// Requests answered per second.
    pub fn requests_per_s(&self) -> f64 {
        let elapsed_s = self.elapsed.as_secs_f64();
        if elapsed_s > 0.0 { self.requests() as f64 / elapsed_s } else { 0.0 }
    }

    pub(super) fn empty() -> Report {
        Report {
            elapsed: Duration::ZERO,
            allowed: 0,
            denied: 0,
            refused: 0,
            refusal: None,
            latency_ns: Histogram::new_with_bounds(LATENCY_MIN_NS, LATENCY_MAX_NS, 3)
                .expect("the bounds are in order"),
        }
    }

    pub(super) fn count(&mut self, answer: Answer<'_>) {
        match answer {
            Answer::Allowed => self.allowed += 1,
            Answer::Denied => self.denied += 1,
            Answer::Refused(text) => {
                self.refused += 1;
                self.refusal.get_or_insert_with(|| Error::refused(&String::from_utf8_lossy(text)));
            }
        }
    }

    /// Notes that `answers` came after `latency`.
    pub(super) fn time(&mut self, answers: u64, latency: Duration) {
        if answers == 0 {
            // Otherwise the histogram takes it for the longest latency of nothing.
            return;
        }
        let latency_ns = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        self.latency_ns.saturating_record_n(latency_ns, answers);
    }
}

/// Differences below this are of no interest.
const LATENCY_MIN_NS: u64 = 100;
/// Anything longer counts as this long.
const LATENCY_MAX_NS: u64 = 600_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_and_times_add_up() {
        let mut report = Report::empty();
        report.count(Answer::Allowed);
        report.count(Answer::Denied);
        report.count(Answer::Refused(b"ERR invalid_limit: no"));
        report.count(Answer::Refused(b"ERR table_full: later"));
        report.time(3, Duration::from_micros(250));
        report.time(1, Duration::from_secs(1));
        report.time(0, Duration::from_secs(9));
        report.elapsed = Duration::from_secs(2);

        assert_eq!((report.requests(), report.refused), (4, 2));
        assert_eq!(report.requests_per_s(), 2.0);
        assert!(matches!(&report.refusal, Some(Error::Refused { code, .. }) if code == "invalid_limit"));
        let median_us = report.latency_ns.value_at_quantile(0.5) / 1_000;
        assert_eq!((report.latency_ns.len(), median_us), (4, 250));
        assert_eq!(report.latency_ns.max() / 100_000_000, 10);

        report.time(1, Duration::MAX);
        assert_eq!(report.latency_ns.len(), 5);
    }
}
