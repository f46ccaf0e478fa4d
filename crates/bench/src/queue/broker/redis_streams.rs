//! A Redis stream with one consumer group: what was consumed is acknowledged and deleted.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::body::{Body, stamp_of};
use super::link::{Link, SILENCE_WITHIN};
use super::resp;
use super::roles::{Broker, Consumer, Producer, Seat};

const STREAM: &[u8] = b"bench";
const GROUP: &[u8] = b"workers";
/// Most messages that are followed at once.
const FOLLOWED: usize = 100;

/// A stream.
pub struct RedisStream {
    address: SocketAddr,
    body_len: usize,
}

impl RedisStream {
    /// Makes the stream and its group.
    pub fn create(address: SocketAddr, body_len: usize) -> Result<RedisStream> {
        let mut link = Link::connect(address)?;
        let words: [&[u8]; 6] = [b"XGROUP", b"CREATE", STREAM, GROUP, b"$", b"MKSTREAM"];
        resp::ask(&mut link, &words, resp::accepted)?;
        Ok(RedisStream { address, body_len })
    }
}

impl Broker for RedisStream {
    fn producer(&self, _seat: Seat) -> Result<Box<dyn Producer>> {
        let (link, body) = (Link::connect(self.address)?, Body::new(self.body_len));
        Ok(Box::new(StreamProducer { link, body, outgoing: Vec::new() }))
    }

    fn consumer(&self, seat: Seat) -> Result<Box<dyn Consumer>> {
        let (link, name) = (Link::connect(self.address)?, format!("worker-{}", seat.index).into_bytes());
        Ok(Box::new(StreamConsumer { link, name, outgoing: Vec::new(), ids: Vec::new(), deleting: 0 }))
    }

    fn left(&self) -> Result<u64> {
        resp::ask(&mut Link::connect(self.address)?, &[b"XLEN", STREAM], resp::counted)
    }
}

struct StreamProducer {
    link: Link,
    body: Body,
    outgoing: Vec<u8>,
}

impl Producer for StreamProducer {
    fn send(&mut self, count: usize, stamp: u64) -> Result<()> {
        self.outgoing.clear();
        let body = self.body.stamped(stamp);
        for _ in 0..count {
            resp::command(&mut self.outgoing, &[b"XADD", STREAM, b"*", b"p", body]);
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

struct StreamConsumer {
    link: Link,
    name: Vec<u8>,
    outgoing: Vec<u8>,
    /// Received and not acknowledged.
    ids: Vec<Vec<u8>>,
    /// How many of these XACK and XDEL were sent for, without their replies so far.
    deleting: u64,
}

impl StreamConsumer {
    fn read(&mut self, most: usize, within: Duration) {
        let most = most.to_string();
        let within_ms = within.as_millis().max(1).to_string();
        let words: [&[u8]; 11] = [
            b"XREADGROUP",
            b"GROUP",
            GROUP,
            &self.name,
            b"COUNT",
            most.as_bytes(),
            b"BLOCK",
            within_ms.as_bytes(),
            b"STREAMS",
            STREAM,
            b">",
        ];
        resp::command(&mut self.outgoing, &words);
    }

    fn delete(&mut self) {
        let verbs: [&[&[u8]]; 2] = [&[b"XACK", STREAM, GROUP], &[b"XDEL", STREAM]];
        for verb in verbs {
            resp::array(&mut self.outgoing, verb.len() + self.ids.len());
            verb.iter().for_each(|word| resp::bulk(&mut self.outgoing, word));
            self.ids.iter().for_each(|id| resp::bulk(&mut self.outgoing, id));
        }
        self.deleting = self.ids.len() as u64;
        self.ids.clear();
    }

    fn flush(&mut self) -> Result<()> {
        self.link.send(&self.outgoing)?;
        self.outgoing.clear();
        Ok(())
    }

    fn deleted(&mut self) -> Result<()> {
        for verb in ["XACK", "XDEL"] {
            let count = resp::reply(&mut self.link, SILENCE_WITHIN, resp::counted)?.context("no reply")?;
            if count != self.deleting {
                bail!("{verb} of {} messages found {count}", self.deleting);
            }
        }
        self.deleting = 0;
        Ok(())
    }

    fn take(&mut self, stamps: &mut Vec<u64>) -> Result<()> {
        let ids = &mut self.ids;
        let taken = resp::reply(&mut self.link, SILENCE_WITHIN, |reply| {
            for _ in 0..reply.many()? {
                reply.many()?;
                reply.skip()?;
                for _ in 0..reply.many()? {
                    reply.many()?;
                    ids.push(reply.text()?.to_vec());
                    reply.many()?;
                    reply.skip()?;
                    stamps.push(stamp_of(reply.text()?)?);
                }
            }
            Ok(())
        })?;
        taken.context("no reply")
    }
}

impl Consumer for StreamConsumer {
    fn receive(&mut self, want: usize, stamps: &mut Vec<u64>) -> Result<()> {
        while self.ids.len() < want {
            let had = self.ids.len();
            self.read(want - had, SILENCE_WITHIN / 2);
            self.flush()?;
            self.take(stamps)?;
            if self.ids.len() == had {
                bail!("{} messages did not come", want - had);
            }
        }
        Ok(())
    }

    fn ack(&mut self) -> Result<()> {
        self.delete();
        self.flush()?;
        self.deleted()
    }

    fn follow(&mut self, within: Duration, stamps: &mut Vec<u64>) -> Result<()> {
        let acks = !self.ids.is_empty();
        if acks {
            self.delete();
        }
        self.read(FOLLOWED, within);
        self.flush()?;
        if acks {
            self.deleted()?;
        }
        self.take(stamps)
    }
}
