//! ENQUEUE, pipelined.

use std::time::Duration;

use anyhow::Result;

use super::super::body::Body;
use super::super::link::Link;
use super::super::resp;
use super::super::roles::Producer;
use super::shape::Writer;

/// One connection that enqueues.
pub struct TidegateProducer {
    /// The connection.
    pub link: Link,
    /// What messages carry.
    pub body: Body,
    /// What else they have.
    pub writer: Writer,
    /// Bytes that are about to be sent.
    pub outgoing: Vec<u8>,
}

impl Producer for TidegateProducer {
    fn send(&mut self, count: usize, stamp: u64) -> Result<()> {
        self.outgoing.clear();
        let body = self.body.stamped(stamp);
        for _ in 0..count {
            self.writer.append(body, &mut self.outgoing);
        }
        self.link.send(&self.outgoing)
    }

    fn confirmed(&mut self, within: Duration) -> Result<usize> {
        let (mut confirmed, mut within) = (0, within);
        while resp::reply(&mut self.link, within, resp::accepted)?.is_some() {
            confirmed += 1;
            within = Duration::ZERO;
        }
        Ok(confirmed)
    }
}
