//! What the engine can be asked for.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;
use tidegate_core::Limit;
use tidegate_core::queue::{ConsumerId, FlowKey, MessageId, QueueId, Receipt};
use tidegate_ledger::{Edit, LeaseTerms};

use crate::definition::Lent;

/// Operations that arrived together: answered together, in order.
#[derive(Debug)]
pub struct Submission<R, S> {
    /// What to do, in order.
    pub ops: Vec<Op<S>>,
    /// Who is answered.
    pub reply: R,
}

/// One operation. `S` takes the deliveries of a subscription.
#[derive(Debug)]
pub enum Op<S> {
    /// Puts a message into a queue.
    Enqueue(Enqueue),
    /// Waits for messages, up to `wait_ms`.
    Receive(Receive),
    /// Delivers from a queue for as long as there is credit.
    Subscribe {
        /// From where.
        queue: QueueId,
        /// How many messages may be on their way.
        credit: u32,
        /// Who takes them.
        sink: S,
    },
    /// Lets a subscription have more messages.
    Credit {
        /// Which.
        consumer: ConsumerId,
        /// How many more.
        credit: u32,
    },
    /// Ends a subscription. Its leases come back at once, and count as no attempt.
    Unsubscribe {
        /// Which.
        consumer: ConsumerId,
    },
    /// Messages are done with: an outcome for each. Many in one operation are less for two threads to look at.
    Ack {
        /// Where they came from.
        queue: QueueId,
        /// Which deliveries of them.
        receipts: Vec<Receipt>,
        /// What each has cost in truth, by limit.
        cost: Cost,
    },
    /// The attempt has failed.
    Nack {
        /// Where it came from.
        queue: QueueId,
        /// Which delivery of it.
        receipt: Receipt,
        /// What went wrong, and what is to happen.
        nack: Nack,
    },
    /// The message needs longer.
    Extend {
        /// Where it came from.
        queue: QueueId,
        /// Which delivery of it.
        receipt: Receipt,
        /// From now on, in milliseconds.
        visibility_ms: u64,
    },
    /// Gives the message back: no attempt.
    Release {
        /// Where it came from.
        queue: QueueId,
        /// Which delivery of it.
        receipt: Receipt,
    },
    /// Waits in line until charges can be taken, up to `wait_ms`.
    Acquire(Box<WaitingAcquire>),
    /// Whoever waited for a receive or an acquire may have left: those that nobody listens to any more take nothing.
    Withdraw,
    /// About queues, limits and settings.
    Admin(Admin),
}

impl<S> Op<S> {
    /// How many outcomes it has.
    pub fn outcomes(&self) -> usize {
        match self {
            Op::Ack { receipts, .. } => receipts.len(),
            _ => 1,
        }
    }

    /// Adds an ack to operations: to the last of them, if that is one of the same queue and cost.
    pub fn ack(ops: &mut Vec<Op<S>>, queue: QueueId, receipt: Receipt, cost: Cost) {
        match ops.last_mut() {
            Some(Op::Ack { queue: last, receipts, cost: same }) if *last == queue && *same == cost => {
                receipts.push(receipt);
            }
            _ => ops.push(Op::Ack { queue, receipts: vec![receipt], cost }),
        }
    }
}

/// A message on its way into a queue.
#[derive(Clone, Debug)]
pub struct Enqueue {
    /// The queue, as its sender saw it.
    pub queue: Lent,
    /// The fairness key.
    pub flow: FlowKey,
    /// The weight of its flow from now on.
    pub weight: Option<u32>,
    /// What it costs in the round.
    pub cost: u32,
    /// What it takes from limits: names as [`charge`](tidegate_core::ledger::charge) has them, and amounts.
    pub charges: Vec<(Bytes, u64)>,
    /// When it may be delivered, in milliseconds.
    pub due: Due,
    /// Its headers, encoded: see [`Headers::encode`](tidegate_store::journal::Headers::encode).
    pub headers: Bytes,
    /// Its body.
    pub payload: Bytes,
}

/// When a message may first be delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Due {
    /// At once.
    #[default]
    Now,
    /// This many milliseconds after it has arrived.
    In(u64),
    /// At this time, in milliseconds since the epoch.
    At(u64),
}

/// Waits for messages.
#[derive(Clone, Debug)]
pub struct Receive {
    /// From where.
    pub queue: QueueId,
    /// At most so many.
    pub max: u32,
    /// For how long; 0 takes what is there.
    pub wait_ms: u64,
}

/// What went wrong, and what is to happen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nack {
    /// When to try again; the queue's backoff if unsaid.
    pub delay_ms: Option<u64>,
    /// What went wrong, for hooks and dead letters.
    pub error: Option<Box<str>>,
    /// A throttle key that is to be left alone for a while: a provider has answered 429.
    pub close: Option<Close>,
    /// What the attempt has cost in truth, by limit; all that it took if unsaid.
    pub cost: Cost,
}

/// Amounts by the name of the limit.
pub type Cost = Vec<(Box<str>, u64)>;

/// An acquire that waits in line, fairly among entities.
#[derive(Clone, Debug)]
pub struct WaitingAcquire {
    /// Where its entities live.
    pub namespace: Arc<str>,
    /// What it takes: names as [`charge`](tidegate_core::ledger::charge) has them, and amounts. At least one.
    pub charges: Vec<(Bytes, u64)>,
    /// The lease that it asks for; none if it spends at once.
    pub lease: Option<LeaseTerms>,
    /// For how long it waits.
    pub wait_ms: u64,
}

/// Leave a throttle key alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Close {
    /// Which.
    pub key: Bytes,
    /// For how long.
    pub retry_after_ms: u64,
}

/// About queues, limits and settings. Names are looked up in `namespace`.
#[derive(Clone, Debug)]
pub struct Admin {
    /// Where the names live.
    pub namespace: Arc<str>,
    /// What to do.
    pub task: Task,
}

/// What to do.
#[derive(Clone, Debug)]
pub enum Task {
    /// Makes a queue, and its dead-letter queue unless told otherwise.
    CreateQueue {
        /// Its name.
        name: String,
        /// Its settings, a JSON object; what is unsaid has its default.
        settings: Value,
    },
    /// Changes settings of a queue.
    UpdateQueue {
        /// Its name.
        name: String,
        /// What changes, a JSON object; null brings a default back.
        settings: Value,
    },
    /// Deletes a queue with all that is in it, and the dead-letter queue that was made with it.
    DeleteQueue {
        /// Its name.
        name: String,
    },
    /// Drops every message of a queue that is not in flight.
    Purge {
        /// The queue's name.
        name: String,
    },
    /// Delivers nothing until resumed.
    Pause {
        /// The queue's name.
        name: String,
    },
    /// Delivers again.
    Resume {
        /// The queue's name.
        name: String,
    },
    /// Moves dead letters back to where they came from.
    Redrive {
        /// The dead-letter queue's name.
        name: String,
        /// At most so many; all if unsaid.
        count: Option<u64>,
    },
    /// Tells what a queue is told to be, and how it is doing.
    Inspect {
        /// The queue's name.
        name: String,
    },
    /// Tells how every queue is doing.
    List,
    /// Tells how the flows of a queue are doing.
    Flows {
        /// The queue's name.
        name: String,
        /// At most so many.
        limit: usize,
    },
    /// Sets the rate of a throttle key.
    SetLimit {
        /// The key.
        key: Bytes,
        /// Its limit.
        limit: Limit,
    },
    /// Removes the rate of a throttle key.
    RemoveLimit {
        /// The key.
        key: Bytes,
    },
    /// Leaves a throttle key alone for a while.
    CloseKey(Close),
    /// Changes entities and stored limits: all of it or none, on disk when it is answered.
    Edit {
        /// What changes.
        edits: Vec<Edit>,
        /// Who wants it, for the audit.
        actor: Arc<str>,
        /// What was applied, to be compared with next time; kept with the change.
        manifest: Option<Vec<u8>>,
    },
    /// Tells what something waits for.
    Why(Why),
    /// Hides the namespace with all that is in it, until it is recovered or purged.
    DeleteNamespace {
        /// Who wants it, for the audit.
        actor: Arc<str>,
    },
    /// Brings a deleted namespace back.
    RecoverNamespace {
        /// Who wants it, for the audit.
        actor: Arc<str>,
    },
    /// Drops all that is in a deleted namespace, for good.
    PurgeNamespace,
    /// Tells of every namespace that holds something.
    Namespaces,
    /// Sets a value that hooks can read, or removes it.
    SetSetting {
        /// Its key.
        key: String,
        /// Its value; nothing removes it.
        value: Option<String>,
    },
}

/// Something that waits, or might.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// A message of a queue.
    Message {
        /// The queue's name.
        queue: String,
        /// The message.
        id: MessageId,
    },
    /// A flow of a queue.
    Flow {
        /// The queue's name.
        queue: String,
        /// Its fairness key.
        key: Bytes,
    },
}
