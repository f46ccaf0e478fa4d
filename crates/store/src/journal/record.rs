//! What the journal says: one record per thing that became of a message.

use super::block::{Charges, Headers};
use tidegate_core::Nanos;
use tidegate_core::queue::{MessageId, QueueId};

/// One record of the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// A message, whole: an enqueue, or written again (by the cleaner, as a dead letter). The last one of an id
    /// is the message; records about it that came before no longer count.
    Message(MessageRecord<'a>),
    /// It was handed to a consumer.
    Delivered {
        /// The message.
        id: MessageId,
        /// The how-many-th delivery this is, 1 for the first.
        delivery: u32,
        /// When the lease ends.
        deadline: Nanos,
    },
    /// It went back into line: nack, time-out, release, redrive.
    Requeued {
        /// The message.
        id: MessageId,
        /// The queue that it is in from now on.
        queue: QueueId,
        /// Its place in line.
        order: u64,
        /// Failed attempts so far.
        attempts: u32,
        /// Not before this time.
        due: Option<Nanos>,
    },
    /// Its lease ends later.
    Extended {
        /// The message.
        id: MessageId,
        /// When the lease ends.
        deadline: Nanos,
    },
    /// It is no more: acked, expired, purged one by one.
    Gone {
        /// The message.
        id: MessageId,
    },
    /// Every message of the queue with a smaller id is no more.
    Purged {
        /// The queue.
        queue: QueueId,
        /// The first id that stays.
        below: MessageId,
    },
}

/// A message with all that is known of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageRecord<'a> {
    /// Its id.
    pub id: MessageId,
    /// The queue it is in.
    pub queue: QueueId,
    /// Its place in line: its id, or the stamp of its last requeue.
    pub order: u64,
    /// Failed attempts so far.
    pub attempts: u32,
    /// Deliveries so far.
    pub delivery: u32,
    /// When its lease ends, if it is leased.
    pub lease: Option<Nanos>,
    /// Not before this time.
    pub due: Option<Nanos>,
    /// Its fairness key.
    pub flow: &'a [u8],
    /// The weight it came with.
    pub weight: Option<u32>,
    /// What it costs in the round.
    pub cost: u32,
    /// The limits it draws on.
    pub charges: Charges<'a>,
    /// Why and when it became a dead letter.
    pub dead: Option<DeadLetter<'a>>,
    /// Its headers. Empty in a replay.
    pub headers: Headers<'a>,
    /// Its body. Empty in a replay.
    pub payload: &'a [u8],
}

/// Why and when a message became a dead letter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeadLetter<'a> {
    /// The name of the queue where it failed.
    pub queue: &'a str,
    /// When, in ms since the epoch.
    pub at_ms: u64,
    /// After how many failed attempts.
    pub attempts: u32,
    /// What was said.
    pub reason: &'a str,
}
