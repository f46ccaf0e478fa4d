//! A quorum queue, its producers and its consumers.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::super::body::{Body, stamp_of};
use super::super::roles::{Broker, Consumer, Producer, Seat};
use super::frame::Frame;
use super::session::{CHANNEL, Session};
use super::wire::{Arguments, BODY, HEADER, METHOD, Method, frame};

const QUEUE: &str = "bench";
/// Messages that a consumer may hold.
const PREFETCH: u16 = 100;
/// The server hands messages out as it sees fit: what has not come after this time is at another consumer.
const HELD_ELSEWHERE: Duration = Duration::from_millis(20);

const DECLARE: (u16, u16) = (50, 10);
const DECLARE_OK: (u16, u16) = (50, 11);
const QOS: (u16, u16) = (60, 10);
const QOS_OK: (u16, u16) = (60, 11);
const CONSUME: (u16, u16) = (60, 20);
const CONSUME_OK: (u16, u16) = (60, 21);
const PUBLISH: (u16, u16) = (60, 40);
const DELIVER: (u16, u16) = (60, 60);
const ACK: (u16, u16) = (60, 80);
const CONFIRM_SELECT: (u16, u16) = (85, 10);
const CONFIRM_SELECT_OK: (u16, u16) = (85, 11);

/// Bits of a declaration: the queue survives a restart; it is only asked after.
const DURABLE: u8 = 0b10;
const PASSIVE: u8 = 0b01;
/// The one property of a message, its delivery mode, and that it is persistent.
const PERSISTENT: [u8; 3] = [0x10, 0x00, 2];

/// A quorum queue.
pub struct QuorumQueue {
    address: SocketAddr,
    body_len: usize,
}

impl QuorumQueue {
    /// Makes the queue.
    pub fn create(address: SocketAddr, body_len: usize) -> Result<QuorumQueue> {
        declare(&mut Session::open(address)?, DURABLE)?;
        Ok(QuorumQueue { address, body_len })
    }
}

/// Declares the queue or asks after it, and returns how many messages wait.
fn declare(session: &mut Session, bits: u8) -> Result<u64> {
    let method = Method::new(DECLARE).bytes(&[0, 0]).short(QUEUE).bytes(&[bits]);
    let method = method.table(&[("x-queue-type", "quorum")]);
    session.call(CHANNEL, &method, DECLARE_OK, |arguments| {
        arguments.short()?;
        Ok(arguments.u32()?.into())
    })
}

impl Broker for QuorumQueue {
    fn producer(&self, _seat: Seat) -> Result<Box<dyn Producer>> {
        let mut session = Session::open(self.address)?;
        session.call(CHANNEL, &Method::new(CONFIRM_SELECT).bytes(&[0]), CONFIRM_SELECT_OK, |_| Ok(()))?;
        let publish = Method::new(PUBLISH).bytes(&[0, 0]).short("").short(QUEUE).bytes(&[0]);
        let mut opening = Vec::new();
        frame(&mut opening, METHOD, CHANNEL, publish.payload());
        let (class, weight, len) = (60_u16.to_be_bytes(), [0, 0], (self.body_len as u64).to_be_bytes());
        let header = [&class[..], &weight, &len, &PERSISTENT].concat();
        frame(&mut opening, HEADER, CHANNEL, &header);
        let (body, open) = (Body::new(self.body_len), BTreeSet::new());
        Ok(Box::new(QueueProducer { session, body, opening, outgoing: Vec::new(), sent: 0, open }))
    }

    fn consumer(&self, _seat: Seat) -> Result<Box<dyn Consumer>> {
        let mut session = Session::open(self.address)?;
        let qos = Method::new(QOS).bytes(&[0; 4]).bytes(&PREFETCH.to_be_bytes()).bytes(&[0]);
        session.call(CHANNEL, &qos, QOS_OK, |_| Ok(()))?;
        let consume = Method::new(CONSUME).bytes(&[0, 0]).short(QUEUE).short("").bytes(&[0]).table(&[]);
        session.call(CHANNEL, &consume, CONSUME_OK, |_| Ok(()))?;
        Ok(Box::new(QueueConsumer { session, last: None, coming: None }))
    }

    fn left(&self) -> Result<u64> {
        declare(&mut Session::open(self.address)?, DURABLE | PASSIVE)
    }
}

struct QueueProducer {
    session: Session,
    body: Body,
    /// What comes before the body: the same for every message.
    opening: Vec<u8>,
    outgoing: Vec<u8>,
    sent: u64,
    /// Published and not confirmed, by their number on this channel.
    open: BTreeSet<u64>,
}

impl Producer for QueueProducer {
    fn send(&mut self, count: usize, stamp: u64) -> Result<()> {
        self.outgoing.clear();
        let body = self.body.stamped(stamp);
        for _ in 0..count {
            self.outgoing.extend_from_slice(&self.opening);
            frame(&mut self.outgoing, BODY, CHANNEL, body);
            self.sent += 1;
            self.open.insert(self.sent);
        }
        self.session.link.send(&self.outgoing)
    }

    fn confirmed(&mut self, within: Duration) -> Result<usize> {
        let before = self.open.len();
        let (open, mut within) = (&mut self.open, within);
        while self.session.next(within, |frame| confirm(open, &frame))?.is_some() {
            within = Duration::ZERO;
        }
        Ok(before - self.open.len())
    }
}

/// A confirmation names one message, or all up to one.
fn confirm(open: &mut BTreeSet<u64>, frame: &Frame<'_>) -> Result<()> {
    match frame {
        Frame::Method(ACK, arguments) => {
            let mut arguments = Arguments(arguments);
            let (tag, multiple) = (arguments.u64()?, arguments.u8()? != 0);
            if multiple {
                *open = open.split_off(&(tag + 1));
            } else {
                open.remove(&tag);
            }
            Ok(())
        }
        Frame::Heartbeat => Ok(()),
        other => bail!("publish: {other:?}"),
    }
}

struct QueueConsumer {
    session: Session,
    /// The newest message that was received and not acknowledged.
    last: Option<u64>,
    /// The delivery whose body is still to come.
    coming: Option<u64>,
}

impl QueueConsumer {
    /// Takes the next frame, if it comes in time; a body completes a message.
    fn take(&mut self, within: Duration, stamps: &mut Vec<u64>) -> Result<bool> {
        let (last, coming) = (&mut self.last, &mut self.coming);
        let taken = self.session.next(within, |frame| {
            match frame {
                Frame::Method(DELIVER, arguments) => {
                    let mut arguments = Arguments(arguments);
                    arguments.short()?;
                    *coming = Some(arguments.u64()?);
                }
                // A body of this size comes in one frame.
                Frame::Body(body) => {
                    *last = Some(coming.take().context("a body without a delivery")?);
                    stamps.push(stamp_of(body)?);
                }
                Frame::Header(_) | Frame::Heartbeat => {}
                other @ Frame::Method(..) => bail!("consume: {other:?}"),
            }
            Ok(())
        })?;
        Ok(taken.is_some())
    }

    fn acknowledge(&mut self) -> Result<()> {
        let Some(tag) = self.last.take() else { return Ok(()) };
        let ack = Method::new(ACK).bytes(&tag.to_be_bytes()).bytes(&[1]);
        let mut bytes = Vec::new();
        frame(&mut bytes, METHOD, CHANNEL, ack.payload());
        self.session.link.send(&bytes)
    }
}

impl Consumer for QueueConsumer {
    fn receive(&mut self, want: usize, stamps: &mut Vec<u64>) -> Result<()> {
        let target = stamps.len() + want;
        while stamps.len() < target && self.take(HELD_ELSEWHERE, stamps)? {}
        Ok(())
    }

    /// Nothing confirms it in this protocol.
    fn ack(&mut self) -> Result<()> {
        self.acknowledge()
    }

    fn follow(&mut self, within: Duration, stamps: &mut Vec<u64>) -> Result<()> {
        self.acknowledge()?;
        let (had, mut within) = (stamps.len(), within);
        while self.take(within, stamps)? {
            if stamps.len() > had {
                within = Duration::ZERO;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_confirmation_may_stand_for_many() {
        let mut open: BTreeSet<u64> = (1..=10).collect();
        let ack = |tag: u64, multiple: u8| [&tag.to_be_bytes()[..], &[multiple]].concat();
        confirm(&mut open, &Frame::Method(ACK, &ack(7, 0))).unwrap();
        assert_eq!(open.len(), 9);
        confirm(&mut open, &Frame::Method(ACK, &ack(8, 1))).unwrap();
        assert_eq!(open.into_iter().collect::<Vec<_>>(), [9, 10]);
        let nack = Frame::Method((60, 120), &[]);
        assert!(confirm(&mut BTreeSet::new(), &nack).is_err());
    }
}
