//! What happens in a simulation, as the world outside the engine sees it. Checkers know nothing else.

use tidegate_core::Nanos;
use tidegate_core::queue::{MessageId, QueueId, Receipt};
use tidegate_engine::Durability;

use crate::budget::name::LimitNumber;
use crate::budget::{Bucket, Change, Charge, Tree};

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
    /// When it was in its lane, unless it is delayed: it may have been on its way to the disk before.
    pub landed_at: Nanos,
    /// Its flow, the weight it brings, and its cost.
    pub flow: FlowNumber,
    /// The weight of the flow from then on.
    pub weight: u32,
    /// What it costs in the round.
    pub cost: u32,
    /// Whether it may be delivered at once, as far as limits and delays go.
    pub is_free: bool,
    /// What it is charged.
    pub costs: Vec<Charge>,
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
    /// What it took from throttle keys.
    pub charges: Vec<(Key, u64)>,
    /// All that it was charged.
    pub costs: Vec<Charge>,
}

/// What somebody holds of a bucket, as the ledger tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Held {
    /// Which.
    pub bucket: Bucket,
    /// How much.
    pub amount: u64,
    /// Whether it was only counted.
    pub bypassed: bool,
}

/// An acquire that was granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Its lease, if it has one.
    pub lease: Option<u64>,
    /// When it was paid for.
    pub at: Nanos,
    /// When the lease ends.
    pub expires_at: Nanos,
    /// Whether its tokens come back then.
    pub gives_back: bool,
    /// Whether it has waited in line.
    pub has_waited: bool,
    /// What it asked for.
    pub charges: Vec<Charge>,
    /// What it holds, as the ledger tells it; only of leases.
    pub held: Vec<Held>,
}

/// What is done with a lease of the ask door.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LeaseStep {
    /// More or less is taken.
    Adjust(Vec<(LimitNumber, i64)>),
    /// It has cost this.
    Settle(Vec<(LimitNumber, u64)>),
    /// All comes back.
    Release,
    /// It ends later.
    Extend {
        /// When.
        expires_at: Nanos,
    },
}

/// A lease that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseFound {
    /// Which.
    pub lease: u64,
    /// When it ends.
    pub expires_at: Nanos,
    /// What it holds.
    pub held: Vec<Held>,
}

/// What is in flight of a cap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InFlight {
    /// Which.
    pub bucket: Bucket,
    /// As the ledger has it.
    pub counted: u64,
    /// What leases of the ask door hold.
    pub leases: u64,
    /// What deliveries hold.
    pub deliveries: u64,
}

/// What the ledger has written down, as somebody finds it who looks at everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Whether this is what a run begins with; otherwise everything is drained and flushed.
    pub is_start: bool,
    /// What is set.
    pub tree: Tree,
    /// Leases of the ask door.
    pub leases: Vec<LeaseFound>,
    /// What was used of each bucket: how much, and how often.
    pub usage: Vec<(Bucket, i64, u64)>,
    /// Who is in the audit, and how often.
    pub audit: Vec<(u64, usize)>,
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
    },
    /// The keeper of the ledger has ended leases that had run out by then.
    Expired {
        /// When.
        at: Nanos,
    },
    /// The keeper of the ledger has flushed.
    Kept {
        /// When.
        at: Nanos,
        /// Whether all that was taken and given back by then is on disk.
        is_flushed: bool,
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
        /// What is said to be its real cost.
        cost: Vec<(LimitNumber, u64)>,
        /// When.
        at: Nanos,
    },
    /// Entities or settings were changed.
    Edited {
        /// How.
        changes: Vec<Change>,
        /// Who is in the audit for it, and how often.
        actor: u64,
        /// How often.
        rows: usize,
        /// When.
        at: Nanos,
    },
    /// Nobody knows whether entities or settings were changed.
    EditUncertain {
        /// How.
        changes: Vec<Change>,
    },
    /// An acquire in line was paid for. Its number says nothing: a message may have had it that a crash has lost.
    AcquirePaid {
        /// When.
        at: Nanos,
    },
    /// A message was paid for.
    Paid {
        /// Which.
        message: MessageId,
        /// When.
        at: Nanos,
    },
    /// What was paid for a message is given back: it never ran.
    Unpaid {
        /// Which.
        message: MessageId,
        /// When.
        at: Nanos,
    },
    /// An acquire was granted.
    Acquired(Taken),
    /// Something was to be done with a lease of the ask door.
    LeaseStep {
        /// Which.
        lease: u64,
        /// What.
        step: LeaseStep,
        /// When.
        at: Nanos,
        /// Whether it was; otherwise there is no such lease.
        is_done: bool,
    },
    /// An administrator has put tokens in.
    Refilled {
        /// Where.
        buckets: Vec<Bucket>,
        /// How many; all that fit, if unsaid.
        amount: Option<u64>,
        /// When.
        at: Nanos,
        /// Who is in the audit for it.
        actor: u64,
    },
    /// Somebody looks at what is in flight, and who holds it.
    Looked {
        /// What is set, as the ledger has it.
        slots: Vec<InFlight>,
        /// The leases that there are.
        leases: Vec<u64>,
        /// Whether everything is drained.
        is_drained: bool,
    },
    /// Somebody looks at all that the ledger has written down.
    Found(Box<Found>),
    /// A hook has answered what becomes of a message.
    Judged {
        /// Which delivery of it.
        receipt: Receipt,
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
        /// What was said to be its real cost.
        cost: Vec<(LimitNumber, u64)>,
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
        /// Segments on disk, the last one included.
        segments: u64,
        /// The size of its segments.
        segment_bytes: u64,
        /// The time.
        now: Nanos,
    },
}
