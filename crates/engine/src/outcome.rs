//! What the engine answers.

use serde::Serialize;
use serde_json::Value;
use tidegate_core::queue::{ConsumerId, MessageId};
use tidegate_ledger::{Acquired, BucketName, Ledger};
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
    /// What came of an acquire that waited.
    Acquired(Box<Acquired>),
    /// What an edit has made of its subjects, in order; nothing for one that is gone.
    Edited(Vec<Option<Value>>),
    /// What something waits for.
    Why(Box<WhyReport>),
    /// Every namespace that holds something, by name.
    Namespaces(Vec<NamespaceReport>),
    /// It was not done, and this is why. Elsewhere, so that the many others are small: two threads look at them.
    Refused(Box<Refused>),
}

impl<D: Disk> Outcome<D> {
    /// Why it was not done, if it was not.
    pub fn refused(&self) -> Option<&Refused> {
        match self {
            Outcome::Refused(refused) => Some(refused),
            _ => None,
        }
    }
}

impl<D: Disk> From<Refused> for Outcome<D> {
    fn from(refused: Refused) -> Outcome<D> {
        Outcome::Refused(Box::new(refused))
    }
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
    /// The queue takes no dead letters, so none can be moved back.
    #[error("`{0}` holds no dead letters")]
    NotADeadLetterQueue(String),
    /// The queue that dead letters came from is gone.
    #[error("the queue `{0}` that these dead letters came from is gone")]
    OriginGone(String),
    /// The limit is not set.
    #[error("throttle key `{0}` has no limit")]
    LimitNotFound(String),
    /// Something about entities, stored limits or leases.
    #[error(transparent)]
    Ledger(#[from] tidegate_ledger::Refused),
    /// The namespace is deleted, and not purged.
    #[error("the namespace `{0}` is deleted")]
    NamespaceDeleted(String),
    /// The namespace holds nothing.
    #[error("there is no namespace `{0}`")]
    NamespaceNotFound(String),
    /// The namespace is not deleted.
    #[error("the namespace `{0}` is not deleted")]
    NamespaceNotDeleted(String),
    /// The namespace of those who name none stays.
    #[error("the namespace `default` cannot be deleted")]
    DefaultNamespace,
    /// There is no such flow.
    #[error("the queue has no flow `{0}`")]
    FlowNotFound(String),
    /// There is no such message in the queue.
    #[error("there is no message {0} in this queue")]
    NoSuchMessage(MessageId),
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

/// A namespace that holds something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NamespaceReport {
    /// Its name.
    pub name: String,
    /// When it was deleted, if it was.
    pub deleted_at_ms: Option<u64>,
    /// Its queues.
    pub queues: u64,
}

/// What a message or a flow waits for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WhyReport {
    /// The queue.
    pub queue: String,
    /// The fairness key.
    pub fairness_key: String,
    /// The message, if one was asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// In a sentence.
    pub summary: String,
    /// Each line that was asked about: of a message its own.
    pub lanes: Vec<WhyLane>,
}

/// A line of messages of one flow that depend on the same limits.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WhyLane {
    /// `ready`, `parked`, `stuck`, `delayed`, `leased` or `paused`.
    pub state: &'static str,
    /// Messages in it, where a flow was asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<u64>,
    /// Messages in it that go before the one that was asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ahead: Option<u64>,
    /// What it waits for, if it is parked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<WaitsFor>,
    /// Until when, if that is known, in milliseconds since the epoch.
    pub until_ms: Option<u64>,
}

/// A limit that somebody waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WaitsFor {
    /// The entity; for a throttle key, the key.
    pub entity: String,
    /// The resource.
    pub resource: String,
    /// The limit.
    pub limit: String,
}

impl WaitsFor {
    /// The names of a bucket.
    pub fn of(bucket: &BucketName, ledger: &Ledger) -> WaitsFor {
        WaitsFor {
            entity: String::from_utf8_lossy(&bucket.entity).into_owned(),
            resource: ledger.word(bucket.resource).to_string(),
            limit: ledger.word(bucket.limit).to_string(),
        }
    }

    /// In a sentence: for so long, or nobody knows for how long.
    pub fn summary(&self, wait_ms: Option<u64>) -> String {
        let WaitsFor { entity, resource, limit } = self;
        let until = match wait_ms {
            Some(wait_ms) => format!("for {wait_ms} ms"),
            None => "until somebody gives back or the limit changes".to_owned(),
        };
        format!("waits for limit `{limit}` of `{entity}` on `{resource}`, {until}")
    }
}

#[cfg(test)]
mod tests {
    use tidegate_store::disk::RealDisk;

    use super::*;

    #[test]
    fn an_outcome_is_small() {
        assert!(size_of::<Outcome<RealDisk>>() <= 32, "{}", size_of::<Outcome<RealDisk>>());
    }
}
