//! What happens in a simulation, as the world outside the engine sees it. Checkers know nothing else.

use tidegate_core::Nanos;
use tidegate_core::queue::{MessageId, QueueId, Receipt};
use tidegate_engine::Durability;

/// A throttle key, by number.
pub type Key = u8;
/// A fairness key, by number.
pub type FlowNumber = u8;
/// Whoever receives messages: one subscription, or one receive.
pub type Holder = u32;

/// A rate as it was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rate {
    /// Tokens at once.
    pub burst: u64,
    /// Tokens per period.
    pub count: u64,
    /// The period.
    pub period_ns: u64,
}

/// What checkers have to know of the settings of a queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Its retention.
    pub retention_ms: Option<u64>,
    /// Where its dead letters go.
    pub dead_letters: Option<QueueId>,
    /// Its quantum.
    pub quantum: u32,
}

/// A message that was taken in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enqueued {
    /// Its id.
    pub id: MessageId,
    /// What its payload says.
    pub tag: u64,
    /// Where to.
    pub queue: QueueId,
    /// What the queue promised when it was applied.
    pub durability: Durability,
    /// When it was applied.
    pub at: Nanos,
    /// Its flow, the weight it brings, and its cost.
    pub flow: FlowNumber,
    /// The weight of the flow from then on.
    pub weight: u32,
    /// What it costs in the round.
    pub cost: u32,
    /// Whether it may be delivered at once, as far as limits and delays go.
    pub is_free: bool,
}

/// A message that reached somebody.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Delivered {
    /// Its receipt.
    pub receipt: Receipt,
    /// What its payload says.
    pub tag: u64,
    /// Where from.
    pub queue: QueueId,
    /// Who has it.
    pub holder: Holder,
    /// The turn in which it was paid for.
    pub at: Nanos,
    /// When its lease ends.
    pub deadline: Nanos,
    /// Failed attempts.
    pub attempts: u32,
    /// Its flow.
    pub flow: FlowNumber,
    /// What it costs in the round.
    pub cost: u32,
    /// What it took from limits.
    pub charges: Vec<(Key, u64)>,
}

/// What somebody wants done with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// It is done with.
    Ack,
    /// It has failed.
    Nack,
    /// It goes back.
    Release,
    /// It is kept until then.
    Extend {
        /// The new end of the lease.
        deadline: Nanos,
    },
}

/// What was said to that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// It is done.
    Done,
    /// The receipt is no good any more.
    NotHeld,
    /// The disk takes nothing.
    Storage,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The engine runs, with what it found.
    Started {
        /// Which run this is.
        run: u32,
        /// Its clock.
        now: Nanos,
        /// Real time.
        elapsed: Nanos,
        /// The queues it found.
        queues: Vec<QueueId>,
        /// The rates it found.
        limits: Vec<(Key, Rate)>,
    },
    /// The process is gone, and so is the power, or not.
    Crashed {
        /// Whether the disk lost what was not synced.
        power: bool,
        /// The clock of the run at its end.
        at: Nanos,
    },
    /// The engine stopped as it was told, having written everything.
    Stopped {
        /// The clock of the run at its end.
        at: Nanos,
    },
    /// What was applied up to then is on disk, in queues of the durability `interval`, too.
    Durable {
        /// In time of this run.
        upto: Nanos,
        /// The same for what was taken from limits, and for keys that were closed.
        limits: Nanos,
    },
    /// A queue is there, or has changed.
    QueueSet {
        /// Which.
        queue: QueueId,
        /// How it is now.
        shape: Shape,
    },
    /// Somebody wants a queue emptied.
    PurgeAsked {
        /// Which.
        queue: QueueId,
        /// When.
        at: Nanos,
    },
    /// Somebody wants dead letters back where they came from, as if nothing had failed.
    RedriveAsked,
    /// Somebody wants a queue gone.
    DeleteAsked {
        /// Which.
        queue: QueueId,
        /// When.
        at: Nanos,
    },
    /// The queue was said to be gone.
    Deleted {
        /// Which.
        queue: QueueId,
        /// Since when.
        at: Nanos,
    },
    /// An enqueue was answered.
    Enqueued(Enqueued),
    /// A message reached somebody.
    Delivered(Delivered),
    /// Somebody settles a message.
    Asked {
        /// By which receipt.
        receipt: Receipt,
        /// How.
        step: Step,
        /// When.
        at: Nanos,
    },
    /// And was answered.
    Answered {
        /// By which receipt.
        receipt: Receipt,
        /// How.
        step: Step,
        /// When it was asked for.
        at: Nanos,
        /// What the queue promised then.
        durability: Durability,
        /// What was said.
        answer: Answer,
    },
    /// A subscription has ended; what it had goes back.
    HolderGone {
        /// Which.
        holder: Holder,
        /// Whether the engine was told; if not, it finds out with the next delivery.
        is_told: bool,
        /// When.
        at: Nanos,
    },
    /// A rate was set, or removed.
    LimitSet {
        /// Whose.
        key: Key,
        /// To what.
        rate: Option<Rate>,
        /// When.
        at: Nanos,
    },
    /// A change of a rate was refused because of the disk, or a crash came before its answer.
    LimitUncertain {
        /// Whose.
        key: Key,
    },
    /// A key is left alone.
    KeyClosed {
        /// Which.
        key: Key,
        /// Until when.
        until: Nanos,
        /// Since when.
        at: Nanos,
    },
    /// Deliveries of a queue may have gone unseen, or messages left it otherwise: its shares are counted anew.
    Disturbed {
        /// Which; all, if none is named.
        queue: Option<QueueId>,
        /// Every delivery up to then was seen.
        seen: Nanos,
        /// When.
        at: Nanos,
    },
    /// Everything that was to be taken was taken.
    Drained {
        /// What is left in queues.
        depths: Vec<(QueueId, u64)>,
        /// Live bytes of the journal.
        live_bytes: u64,
        /// All bytes of the journal.
        total_bytes: u64,
        /// The size of its segments.
        segment_bytes: u64,
        /// The time.
        now: Nanos,
    },
}
