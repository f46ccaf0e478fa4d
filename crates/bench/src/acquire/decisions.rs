//! How long the server itself took for its decisions: what it tells in `/metrics`.
//!
//! It counts from when a request has been read until its answer is made. So a lock that somebody else holds is in it, and what
//! a thread waits for a core before it even reads is not.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use anyhow::{Context, Result};

/// The answers over the Redis protocol.
const BUCKET: &str = "tidegate_request_seconds_bucket{transport=\"resp\",le=\"";

/// Decisions so far, by how long they took: a bound in seconds, and how many were within.
pub struct Decisions(Vec<(f64, u64)>);

impl Decisions {
    /// Asks the server.
    pub fn read(http: SocketAddr) -> Result<Decisions> {
        let mut stream = TcpStream::connect(http).context("cannot connect")?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")?;
        let mut page = String::new();
        stream.read_to_string(&mut page).context("no metrics")?;
        parse(&page).context("the metrics tell no request times")
    }

    /// The bound that none has passed since then, in seconds. They are 1, 2 and 5 of every decade.
    pub fn longest_since(&self, before: &Decisions) -> Option<f64> {
        let since = |index: usize| self.0[index].1 - before.0[index].1;
        let all = since(self.0.len().checked_sub(1)?);
        (0..self.0.len()).find(|&index| since(index) == all).map(|index| self.0[index].0)
    }
}

fn parse(page: &str) -> Option<Decisions> {
    let lines = page.lines().filter_map(|line| line.strip_prefix(BUCKET)?.split_once("\"} "));
    let buckets = lines.map(|(bound, count)| {
        let bound = if bound == "+Inf" { f64::INFINITY } else { bound.parse().ok()? };
        Some((bound, count.trim().parse().ok()?))
    });
    let buckets: Vec<_> = buckets.collect::<Option<_>>()?;
    (!buckets.is_empty()).then_some(Decisions(buckets))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(counts: [u64; 3]) -> Decisions {
        let [short, long, all] = counts;
        let of = |transport: &str, le: &str, count: u64| {
            format!("tidegate_request_seconds_bucket{{transport=\"{transport}\",le=\"{le}\"}} {count}\n")
        };
        let lines = [of("http", "0.001", 1), of("resp", "0.001", short), of("resp", "0.002", long)];
        parse(&format!("# HELP x\n{}{}", lines.concat(), of("resp", "+Inf", all))).unwrap()
    }

    #[test]
    fn the_longest_is_the_first_bound_that_holds_all_that_are_new() {
        let before = page([5, 7, 9]);
        assert_eq!(page([8, 10, 12]).longest_since(&before), Some(0.001));
        assert_eq!(page([8, 11, 13]).longest_since(&before), Some(0.002));
        assert_eq!(page([8, 11, 14]).longest_since(&before), Some(f64::INFINITY));
        assert!(parse("nothing").is_none());
    }
}
