//! What goes in and out of the scheduler.

use super::foresee::ForeseenFlow;
use super::id::{ConsumerId, LimitId, MessageId, Place, QueueId, Receipt};
use crate::Nanos;
use crate::bucket::Ready;

/// A message that comes in.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// Its id.
    pub id: MessageId,
    /// Where its record is.
    pub place: Place,
    /// Its fairness key.
    pub flow: &'a [u8],
    /// What is known of its flow, if it was foreseen.
    pub foreseen: Option<ForeseenFlow>,
    /// The weight of its flow from now on; the queue's if `None`, and 0 acts as 1.
    pub weight: Option<u32>,
    /// What its delivery costs the flow; 0 acts as 1.
    pub cost: u32,
    /// The buckets it is charged to. One that comes twice is charged the sum.
    pub charges: &'a [(LimitId, u64)],
    /// Not before this time.
    pub due: Option<Nanos>,
    /// Failed attempts so far.
    pub attempts: u32,
    /// Deliveries so far.
    pub delivery: u32,
}

/// The owner of bucket state, asked by the scheduler.
pub trait Buckets {
    /// Takes all that this message is charged, stated and involved, or nothing. A bucket without a limit passes. A
    /// refusal names the limit that is ready last: `Never` is after `Pending`, and that after any time.
    fn take_all(&mut self, message: MessageId, charges: &[(LimitId, u64)], now: Nanos) -> Result<(), Short>;

    /// Adds the other limits that taking from these would ask: parents, caps on concurrency. `limits` are the stated ones,
    /// each once, in order of id.
    fn involved(&mut self, limits: &[LimitId], out: &mut Vec<Involved>);

    /// Another number whenever [`involved`](Self::involved) might say something else than before.
    fn shape(&self) -> u64;
}

/// A limit that is asked beside the stated ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Involved {
    /// The limit. It may come several times, and may be a stated one: amounts add up.
    pub limit: LimitId,
    /// The place of the stated limit whose amount is taken from it too; `None`: 1 is.
    pub from: Option<u32>,
}

/// Why nothing was taken: of all limits that were asked, the one that has to wait longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Short {
    /// The limit, stated or involved.
    pub limit: LimitId,
    /// When it could pay; never [`Ready::Now`].
    pub ready: Ready,
    /// Whether it is `Pending` only until an answer is here that is being asked for: [`Scheduler::bucket_changed`] tells.
    ///
    /// [`Scheduler::bucket_changed`]: super::Scheduler::bucket_changed
    pub asked: bool,
}

/// A message on its way to a consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// Its queue.
    pub queue: QueueId,
    /// Who gets it.
    pub consumer: ConsumerId,
    /// What settles it.
    pub receipt: Receipt,
    /// Failed attempts so far.
    pub attempts: u32,
    /// Where its record is.
    pub place: Place,
    /// When the lease ends.
    pub deadline: Nanos,
}

/// Why a receipt settles nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// There is no such message.
    NotFound,
    /// The message is there, but not leased under this receipt.
    Stale,
}

impl std::fmt::Display for Lookup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Lookup::NotFound => "there is no such message",
            Lookup::Stale => "the message is no longer leased under this receipt",
        })
    }
}

impl std::error::Error for Lookup {}

/// A live lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leased {
    /// The queue of the message.
    pub queue: QueueId,
    /// Its failed attempts so far.
    pub attempts: u32,
    /// Where its record is.
    pub place: Place,
}

/// A message that is no longer here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone {
    /// The queue it was in.
    pub queue: QueueId,
    /// Where its record is.
    pub place: Place,
}

/// What a message is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// In its lane, or about to be.
    Waiting,
    /// Until this time.
    Delayed(Nanos),
    /// Until this time.
    Leased(Nanos),
}

/// All that is known of a message here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Its queue.
    pub queue: QueueId,
    /// Where its record is.
    pub place: Place,
    /// Failed attempts so far.
    pub attempts: u32,
    /// Deliveries so far.
    pub delivery: u32,
    /// What it is doing.
    pub state: State,
}
