//! What an operator does: queues, limits, stats.

use std::net::SocketAddr;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::super::body::Body;
use super::super::link::{Link, SILENCE_WITHIN};
use super::super::resp::{self, Cursor};

/// A connection for that.
pub struct Admin {
    link: Link,
}

/// A rate, as LIMIT SET takes it.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    /// Tokens at once.
    pub burst: u64,
    /// Tokens per period.
    pub count: u64,
    /// Seconds.
    pub period_s: u64,
}

/// What QUEUE STATS says.
pub struct Stats(Value);

impl Stats {
    /// One of its numbers.
    pub fn count(&self, name: &str) -> Result<u64> {
        self.0.get(name).and_then(Value::as_u64).with_context(|| format!("no {name} in {}", self.0))
    }
}

impl Admin {
    /// Connects.
    pub fn connect(address: SocketAddr) -> Result<Admin> {
        Ok(Admin { link: Link::connect(address)? })
    }

    /// QUEUE CREATE.
    pub fn create_queue(&mut self, name: &str, settings: &Value) -> Result<()> {
        let settings = settings.to_string();
        let words: [&[u8]; 4] = [b"QUEUE", b"CREATE", name.as_bytes(), settings.as_bytes()];
        resp::ask(&mut self.link, &words, resp::accepted)
    }

    /// QUEUE STATS.
    pub fn stats(&mut self, name: &str) -> Result<Stats> {
        let words: [&[u8]; 3] = [b"QUEUE", b"STATS", name.as_bytes()];
        let document = resp::ask(&mut self.link, &words, |reply| Ok(reply.text()?.to_vec()))?;
        Ok(Stats(serde_json::from_slice(&document).context("stats that are not JSON")?))
    }

    /// LIMIT SET, for all of these.
    pub fn set_limits(&mut self, names: &[String], rate: Rate) -> Result<()> {
        let numbers = [rate.burst, rate.count, rate.period_s].map(|number| number.to_string());
        let [burst, count, period_s] = numbers.each_ref().map(|number| number.as_bytes());
        self.for_each(names, |name| vec![b"LIMIT", b"SET", name, burst, count, period_s], resp::accepted)
    }

    /// LIMIT TAKE of one token, which must be there, for all of these.
    pub fn take(&mut self, names: &[String]) -> Result<()> {
        self.for_each(
            names,
            |name| vec![b"LIMIT", b"TAKE", name],
            |reply| {
                reply.many()?;
                match reply.text()? {
                    b"1" => Ok(()),
                    _ => bail!("the token was not there"),
                }
            },
        )
    }

    /// ENQUEUE of one message with a throttle key and this stamp.
    pub fn enqueue_throttled(&mut self, queue: &str, limit: &str, stamp: u64) -> Result<()> {
        let mut body = Body::new(0);
        let words: [&[u8]; 5] =
            [b"ENQUEUE", queue.as_bytes(), body.stamped(stamp), b"THROTTLE", limit.as_bytes()];
        resp::ask(&mut self.link, &words, resp::accepted)
    }

    /// The same command for each name, pipelined.
    fn for_each<'a>(
        &mut self,
        names: &'a [String],
        words: impl Fn(&'a [u8]) -> Vec<&'a [u8]>,
        read: impl Fn(&mut Cursor<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut bytes = Vec::new();
        for name in names {
            resp::command(&mut bytes, &words(name.as_bytes()));
        }
        self.link.send(&bytes)?;
        for name in names {
            let reply = resp::reply(&mut self.link, SILENCE_WITHIN, &read);
            reply.with_context(|| name.clone())?.context("no reply")?;
        }
        Ok(())
    }
}
