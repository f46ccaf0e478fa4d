//! `redis-benchmark`, the load that every Redis user knows: 50 connections, 100,000 random keys.

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use super::resp;
use crate::command;
use crate::peers::redis::BENCHMARK;
use crate::row::Figures;

/// Fewer requests than this say little.
const LEAST: u64 = 10_000;
/// A bound on one run, whatever the server promised when it was tried.
const MOST: u64 = 10_000_000;

/// A server that takes longer is stuck.
const ENDS_WITHIN: Duration = Duration::from_secs(120);

/// One command under one pipeline.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RedisBenchmark {
    /// Where.
    pub address: SocketAddr,
    /// Requests under way on each connection.
    pub pipeline: u32,
    /// The command, with `__rand_int__` in its key.
    pub command: Vec<String>,
}

impl RedisBenchmark {
    /// Runs so many requests. Server CPU is not its business: see the caller.
    pub fn run(&self, requests: u64) -> Result<Figures> {
        let mut benchmark = Command::new(BENCHMARK.ensure()?);
        benchmark.args(["-h", &self.address.ip().to_string(), "-p", &self.address.port().to_string()]);
        benchmark.args(["-c", "50", "-r", "100000", "-P", &self.pipeline.to_string()]);
        benchmark.args(["-n", &requests.to_string(), "--csv"]).args(&self.command);
        parse(&command::stdout_within(&mut benchmark, ENDS_WITHIN)?)
    }

    /// How many requests take about that long: it counts requests, and servers differ fifty-fold. Also makes
    /// sure that the command is answered at all, since error replies are counted like any other.
    pub fn requests_lasting(&self, lasting: Duration) -> Result<u64> {
        let words: Vec<&str> = self.command.iter().map(String::as_str).collect();
        resp::check_once(self.address, &words)?;
        let tried = self.run(LEAST)?.ops_per_s.context("redis-benchmark gave no rate")?;
        Ok(((tried * lasting.as_secs_f64()) as u64).clamp(LEAST, MOST))
    }
}

/// Reads the line after the header by the names in the header.
fn parse(csv: &str) -> Result<Figures> {
    let mut lines = csv.lines().skip_while(|line| !line.starts_with("\"test\""));
    let names = lines.next().context("redis-benchmark printed no header")?;
    let values = lines.next().context("redis-benchmark printed no figures")?;
    let column = |name: &str| -> Result<f64> {
        let at = fields(names).position(|field| field == name);
        let value = at.and_then(|at| fields(values).nth(at));
        value.and_then(|value| value.parse().ok()).with_context(|| format!("redis-benchmark gave no {name}"))
    };
    Ok(Figures {
        ops_per_s: Some(column("rps")?),
        p50_us: Some(column("p50_latency_ms")? * 1e3),
        p99_us: Some(column("p99_latency_ms")? * 1e3),
        longest_us: Some(column("max_latency_ms")? * 1e3),
        ..Figures::default()
    })
}

/// Fields are quoted and their quotes are not escaped; no command here has a quote in it.
fn fields(line: &str) -> impl Iterator<Item = &str> {
    line.trim().trim_matches('"').split("\",\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = r#""test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms","p99_latency_ms","max_latency_ms""#;

    #[test]
    fn milliseconds_become_microseconds() {
        let csv = format!(
            "{HEADER}\n{}\n",
            r#""INCR key:__rand_int__","523560.22","1.343","0.232","1.207","2.583","3.751","4.391""#
        );
        let figures = parse(&csv).unwrap();
        assert_eq!(figures.ops_per_s, Some(523_560.22));
        assert_eq!(figures.p50_us, Some(1207.0));
        assert_eq!(figures.p99_us, Some(3751.0));
        assert_eq!(figures.longest_us, Some(4391.0));
    }

    #[test]
    fn a_warning_before_the_header_is_passed_over() {
        let csv = format!(
            "WARNING: Could not fetch server CONFIG\n{HEADER}\n{}",
            r#""X","1","1","1","1","1","1","1""#
        );
        assert_eq!(parse(&csv).unwrap().ops_per_s, Some(1.0));
    }

    #[test]
    fn no_figures_is_an_error() {
        assert!(parse("").is_err());
        assert!(parse(HEADER).is_err());
        assert!(parse(&format!("{HEADER}\n\"X\"")).is_err());
    }
}
