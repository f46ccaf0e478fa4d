//! What the engine answers.

use serde::Serialize;
use tidegate_core::queue::{ConsumerId, MessageId};
use tidegate_store::disk::Disk;

use crate::delivery::Delivery;
use crate::settings::{InvalidSettings, Settings};

/// The answer to one operation.
#[derive(Debug)]
pub enum Outcome<D: Disk> {
    /// The message is in its queue.
    Enqueued(MessageId),
    /// Messages, perhaps none.
    Received(Vec<Delivery<D>>),
    /// The subscription stands.
    Subscribed(ConsumerId),
    /// It is done.
    Done,
    /// The queue as it is now.
    Queue(Box<QueueReport>),
    /// All queues of the namespace, by name.
    Queues(Vec<QueueReport>),
    /// Some flows of a queue.
    Flows(Vec<FlowReport>),
    /// So many messages were moved or dropped.
    Count(u64),
    /// It was not done, and this is why.
    Refused(Refused),
}

/// Why an operation was not done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// There is no such queue.
    #[error("there is no queue `{0}`")]
    QueueNotFound(String),
    /// There is one already.
    #[error("there is a queue `{0}` already")]
    QueueExists(String),
    /// The name is no name.
    #[error("`{0}` cannot name a queue")]
    InvalidName(String),
    /// The settings cannot be.
    #[error(transparent)]
    InvalidSettings(#[from] InvalidSettings),
    /// There is no such message, or nobody holds it.
    #[error("there is no message {0} in flight in this queue")]
    MessageNotFound(MessageId),
    /// The lease has ended, and perhaps somebody else has the message.
    #[error("the receipt is stale: the lease of message {0} has ended")]
    StaleReceipt(MessageId),
    /// There is no such subscription.
    #[error("there is no consumer {}", .0.0)]
    ConsumerNotFound(ConsumerId),
    /// The queue holds as much as it may.
    #[error("the queue is full: {0} is reached")]
    QueueFull(&'static str),
    /// The message asks more of a limit than the limit ever holds.
    #[error("a charge of {amount} on `{key}` can never pass: its burst is {burst}")]
    NeverPasses {
        /// The throttle key.
        key: String,
        /// What is asked for.
        amount: u64,
        /// What there is at most.
        burst: u64,
    },
    /// The queue takes no dead letters, so none can be moved back.
    #[error("`{0}` holds no dead letters")]
    NotADeadLetterQueue(String),
    /// The queue that dead letters came from is gone.
    #[error("the queue `{0}` that these dead letters came from is gone")]
    OriginGone(String),
    /// The limit is not set.
    #[error("throttle key `{0}` has no limit")]
    LimitNotFound(String),
    /// The disk takes no more.
    #[error("the disk takes no more writes: {0}")]
    Storage(String),
    /// The engine has stopped.
    #[error("the server is stopping")]
    Stopping,
}

/// A queue and how it is doing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QueueReport {
    /// Its name.
    pub name: String,
    /// Its settings.
    pub settings: Settings,
    /// How it is doing.
    pub stats: QueueStats,
}

/// How a queue is doing.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct QueueStats {
    /// Messages held: ready, parked, delayed and in flight.
    pub depth: u64,
    /// Messages that could be delivered to whoever asks.
    pub ready: u64,
    /// Messages that wait for a limit.
    pub parked: u64,
    /// Messages that wait for their time.
    pub delayed: u64,
    /// Messages delivered and not answered.
    pub in_flight: u64,
    /// Bytes held.
    pub bytes: u64,
    /// Flows with messages.
    pub flows: u64,
    /// Subscriptions and waiting receives.
    pub consumers: u64,
    /// Messages that they would take.
    pub credit: u64,
    /// Age of the oldest message.
    pub oldest_age_ms: Option<u64>,
    /// Whether it delivers nothing for now.
    pub paused: bool,
    /// What has happened since the server started.
    #[serde(flatten)]
    pub totals: Totals,
}

/// What has happened in a queue since the server started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Messages that came in.
    pub enqueued: u64,
    /// Deliveries.
    pub delivered: u64,
    /// Messages done with.
    pub acked: u64,
    /// Attempts that failed.
    pub nacked: u64,
    /// Leases that ran out.
    pub timed_out: u64,
    /// Messages that became dead letters.
    pub dead_lettered: u64,
    /// Messages that were older than the retention.
    pub expired: u64,
}

/// How a flow is doing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowReport {
    /// Its fairness key.
    pub fairness_key: String,
    /// Its weight.
    pub weight: u32,
    /// Messages that wait, parked ones included.
    pub waiting: u64,
    /// Messages delivered and not answered.
    pub in_flight: u64,
    /// Messages that wait for a limit.
    pub parked: u64,
    /// The throttle keys that they wait for.
    pub parked_on: Vec<String>,
    /// Deliveries while it has been active.
    pub delivered: u64,
    /// Its part of what active flows have been delivered.
    pub share: f64,
    /// The part that its weight asks for.
    pub fair_share: f64,
    /// Age of its oldest message.
    pub oldest_age_ms: Option<u64>,
}
