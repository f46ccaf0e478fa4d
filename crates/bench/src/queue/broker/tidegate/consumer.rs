//! RECEIVE and ACK in batches; CONSUME with credit for those who wait.

use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::super::link::{Link, SILENCE_WITHIN};
use super::super::resp::{self, Item};
use super::super::roles::Consumer;
use super::message;

/// Messages that a follower may have under way.
const CREDIT: usize = 1000;

/// One connection that consumes.
pub struct TidegateConsumer {
    link: Link,
    queue: Vec<u8>,
    outgoing: Vec<u8>,
    /// Received and not acknowledged.
    receipts: Vec<Vec<u8>>,
    /// The number of the subscription, once there is one.
    subscription: Option<Vec<u8>>,
}

impl TidegateConsumer {
    /// Not subscribed yet.
    pub fn new(link: Link, queue: &str) -> TidegateConsumer {
        let (queue, outgoing) = (queue.as_bytes().to_vec(), Vec::new());
        TidegateConsumer { link, queue, outgoing, receipts: Vec::new(), subscription: None }
    }

    fn flush(&mut self) -> Result<()> {
        self.link.send(&self.outgoing)?;
        self.outgoing.clear();
        Ok(())
    }

    fn acknowledge(&mut self) {
        resp::array(&mut self.outgoing, 2 + self.receipts.len());
        resp::bulk(&mut self.outgoing, b"ACK");
        resp::bulk(&mut self.outgoing, &self.queue);
        for receipt in self.receipts.drain(..) {
            resp::bulk(&mut self.outgoing, &receipt);
        }
    }

    fn subscribe(&mut self) -> Result<()> {
        let credit = CREDIT.to_string();
        let words: [&[u8]; 4] = [b"CONSUME", &self.queue, b"CREDIT", credit.as_bytes()];
        let number = resp::ask(&mut self.link, &words, |reply| Ok(reply.text()?.to_vec()))?;
        self.subscription = Some(number);
        Ok(())
    }

    /// Takes the next reply or delivery, if it comes in time.
    fn take(&mut self, within: Duration, stamps: &mut Vec<u64>) -> Result<bool> {
        let receipts = &mut self.receipts;
        let taken = resp::reply(&mut self.link, within, |reply| {
            // Replies are `OK` or arrays of them; a delivery begins with a word of its own.
            let Item::Many(len) = reply.item()? else { return Ok(()) };
            for index in 0..len {
                match reply.item()? {
                    Item::Text(b"message") if index == 0 => {
                        reply.skip()?;
                        let message = message::read(reply)?;
                        receipts.push(message.receipt);
                        stamps.push(message.stamp);
                        return Ok(());
                    }
                    Item::Text(_) => {}
                    other => bail!("neither a reply nor a delivery: {other:?}"),
                }
            }
            Ok(())
        })?;
        Ok(taken.is_some())
    }
}

impl Consumer for TidegateConsumer {
    fn receive(&mut self, want: usize, stamps: &mut Vec<u64>) -> Result<()> {
        let wait_ms = (SILENCE_WITHIN / 2).as_millis().to_string();
        while self.receipts.len() < want {
            let had = self.receipts.len();
            let count = (want - had).to_string();
            let words: [&[u8]; 6] =
                [b"RECEIVE", &self.queue, b"COUNT", count.as_bytes(), b"WAIT", wait_ms.as_bytes()];
            resp::command(&mut self.outgoing, &words);
            self.flush()?;
            let receipts = &mut self.receipts;
            let taken = resp::reply(&mut self.link, SILENCE_WITHIN, |reply| {
                for _ in 0..reply.many()? {
                    let message = message::read(reply)?;
                    receipts.push(message.receipt);
                    stamps.push(message.stamp);
                }
                Ok(())
            })?;
            taken.context("no reply")?;
            if self.receipts.len() == had {
                bail!("{} messages did not come", want - had);
            }
        }
        Ok(())
    }

    fn ack(&mut self) -> Result<()> {
        self.acknowledge();
        self.flush()?;
        resp::reply(&mut self.link, SILENCE_WITHIN, resp::accepted)?.context("no reply")
    }

    fn follow(&mut self, within: Duration, stamps: &mut Vec<u64>) -> Result<()> {
        if self.subscription.is_none() {
            self.subscribe()?;
        }
        if let Some(subscription) = &self.subscription
            && !self.receipts.is_empty()
        {
            let credit = self.receipts.len().to_string();
            resp::command(&mut self.outgoing, &[b"CREDIT", subscription, credit.as_bytes()]);
            self.acknowledge();
            self.flush()?;
        }
        let (had, mut within) = (stamps.len(), within);
        while self.take(within, stamps)? {
            if stamps.len() > had {
                within = Duration::ZERO;
            }
        }
        Ok(())
    }
}
