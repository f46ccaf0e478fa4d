//! How queues and flows are doing.

use serde::{Deserialize, Serialize};

use super::QueueSettings;

/// A queue and how it is doing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueueReport {
    /// Its name.
    pub name: String,
    /// Its settings.
    pub settings: QueueSettings,
    /// How it is doing.
    pub stats: QueueStats,
}

/// How a queue is doing. Counts of what has happened are since the server started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct QueueStats {
    /// Messages held: ready, parked, delayed and in flight.
    pub depth: u64,
    /// Messages that could be delivered to whoever asks.
    pub ready: u64,
    /// Messages that wait for a limit.
    pub parked: u64,
    /// Messages that wait for their time.
    pub delayed: u64,
    /// Messages delivered and not settled.
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FlowReport {
    /// Its fairness key.
    pub fairness_key: String,
    /// Its weight.
    pub weight: u32,
    /// Messages that wait, parked ones included.
    pub waiting: u64,
    /// Messages delivered and not settled.
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
