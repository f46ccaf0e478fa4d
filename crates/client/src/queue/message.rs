//! A delivered message.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;

use super::settle::Settling;
use super::{MessageId, Nack, Receipt};
use crate::Error;

/// A delivered message: the caller's until it is settled, or the queue's visibility timeout has passed.
///
/// Settle it with [`ack`](Message::ack), [`nack`](Message::nack) or [`release`](Message::release). A message that is
/// dropped without that is told to nobody: it comes back when its visibility timeout has passed, which counts as a
/// failed attempt.
///
/// Its bytes are slices of what was read from the connection, up to 64 KB at a time: who keeps small parts of many
/// messages for long should copy them.
#[derive(Debug)]
pub struct Message {
    /// Its id.
    pub id: MessageId,
    /// What settles it, wherever that is done: see [`Queue::ack`](super::Queue::ack).
    pub receipt: Receipt,
    /// Attempts that have failed before this one.
    pub attempts: u32,
    /// Its fairness key.
    pub key: Bytes,
    /// The weight of that key.
    pub weight: u32,
    /// What it counts for in its tenant's share.
    pub cost: u32,
    /// When it was enqueued, to the millisecond.
    pub enqueued_at: SystemTime,
    /// Its headers, in the order in which they were given.
    pub headers: Vec<(Bytes, Bytes)>,
    /// Its body.
    pub payload: Bytes,
    /// The throttle keys whose limits it has drawn on.
    pub throttle_keys: Vec<Bytes>,
    /// What was taken for it from the limits of entities.
    pub charges: Vec<MessageCharge>,
    /// Why it is a dead letter, if it is one.
    pub dead_letter: Option<Box<DeadLetter>>,
    pub(super) lease: Lease,
}

/// What was taken for a message from one limit of an entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageCharge {
    /// The entity.
    pub entity: Bytes,
    /// The resource.
    pub resource: Bytes,
    /// The limit.
    pub limit: Bytes,
    /// How much.
    pub amount: u64,
}

/// Why a message is a dead letter, and since when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// The queue it comes from.
    pub queue: String,
    /// Why its attempts failed.
    pub reason: String,
    /// When it became a dead letter, to the millisecond.
    pub at: SystemTime,
    /// How many attempts failed.
    pub attempts: u32,
}

impl Message {
    /// The value of a header, if there is one by this name.
    pub fn header(&self, name: &str) -> Option<&Bytes> {
        self.headers.iter().find(|(own, _)| own == name.as_bytes()).map(|(_, value)| value)
    }

    /// It is done with. Acknowledgements of one queue that are under way together become one command.
    pub async fn ack(self) -> Result<(), Error> {
        self.lease.settle().ack(self.receipt).await
    }

    /// It is done with, and this is what it really cost, by limit: applied to every entity charge of the message. Limits
    /// that are not named stay as taken.
    pub async fn ack_with_cost(self, cost: &[(&str, u64)]) -> Result<(), Error> {
        self.lease.settle().ack_with_cost(self.receipt, cost).await
    }

    /// The attempt has failed: the queue's failure policy says what happens next.
    pub async fn nack(self, nack: Nack<'_>) -> Result<(), Error> {
        self.lease.settle().nack(self.receipt, nack).await
    }

    /// Gives it back, to the end of its line. That is no failed attempt.
    pub async fn release(self) -> Result<(), Error> {
        self.lease.settle().release(self.receipt).await
    }

    /// Keeps it for so long from now on, instead of what is left of the visibility timeout.
    pub async fn extend(&self, visibility_timeout: Duration) -> Result<(), Error> {
        self.lease.settling.extend(self.receipt, visibility_timeout).await
    }
}

/// What a message in hand counts for: the credit of its consumer, which is given back once.
pub(super) struct Lease {
    settling: Arc<Settling>,
    settled: bool,
}

impl Lease {
    pub(super) fn new(settling: Arc<Settling>) -> Lease {
        Lease { settling, settled: false }
    }

    /// The way to settle. Its credit is given back before the call is made, so that both leave together.
    fn settle(mut self) -> Arc<Settling> {
        self.settled = true;
        if let Some(hand) = &self.settling.hand {
            hand.count_back();
        }
        self.settling.clone()
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let (false, Some(hand)) = (self.settled, &self.settling.hand) {
            hand.give_back();
        }
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease").field("queue", &self.settling.queue).finish_non_exhaustive()
    }
}
