//! What a load generator saw.

use std::time::Duration;

use anyhow::{Context, Result};
use hdrhistogram::Histogram;

use crate::peers::Process;
use crate::row::Figures;

/// A finished load.
pub struct Outcome {
    /// Requests that were answered.
    pub requests: u64,
    /// How long that took.
    pub elapsed: Duration,
    /// How long each waited.
    pub latency: Latency,
}

impl Outcome {
    /// Runs a load against a server that has the machine to itself, and charges the CPU time that the server used meanwhile
    /// to the requests.
    pub fn measure(server: &Process, load: impl FnOnce() -> Result<Outcome>) -> Result<Figures> {
        let _alone = server.alone()?;
        let before = server.cpu().read()?;
        let outcome = load()?;
        let cpu = server.cpu().read()? - before;
        Ok(Figures { rss_bytes: Some(server.rss_bytes()? as f64), ..outcome.figures(cpu) })
    }

    /// The figures, when the server used that much CPU time meanwhile.
    pub fn figures(&self, server_cpu: Duration) -> Figures {
        Figures {
            ops_per_s: Some(self.requests as f64 / self.elapsed.as_secs_f64()),
            cpu_us_per_op: Some(server_cpu.as_secs_f64() * 1e6 / self.requests as f64),
            p50_us: Some(self.latency.quantile_us(0.5)),
            p99_us: Some(self.latency.quantile_us(0.99)),
            longest_us: Some(self.latency.quantile_us(1.0)),
            ..Figures::default()
        }
    }
}

/// Waiting times, to three digits, up to a minute.
pub struct Latency(Histogram<u64>);

impl Latency {
    /// None yet.
    pub fn new() -> Result<Latency> {
        let most_ns = 60 * 1_000_000_000;
        Ok(Latency(Histogram::new_with_bounds(1, most_ns, 3).context("no histogram")?))
    }

    /// Counts one wait, or several of the same length.
    pub fn record(&mut self, wait: Duration, times: u64) {
        self.0.saturating_record_n(u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX), times);
    }

    /// Adds what another connection saw.
    pub fn add(&mut self, other: &Latency) -> Result<()> {
        self.0.add(&other.0).context("histograms of one kind add up")
    }

    /// The wait that this share of all waits did not pass.
    pub fn quantile_us(&self, share: f64) -> f64 {
        self.0.value_at_quantile(share) as f64 / 1e3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_per_request_and_in_microseconds() {
        let mut latency = Latency::new().unwrap();
        latency.record(Duration::from_micros(10), 98);
        latency.record(Duration::from_micros(500), 2);
        let outcome = Outcome { requests: 100, elapsed: Duration::from_millis(10), latency };
        let figures = outcome.figures(Duration::from_millis(1));
        assert_eq!(figures.ops_per_s, Some(10_000.0));
        assert_eq!(figures.cpu_us_per_op, Some(10.0));
        assert!((figures.p50_us.unwrap() - 10.0).abs() < 0.1);
        assert!((figures.p99_us.unwrap() - 500.0).abs() < 1.0);
    }
}
