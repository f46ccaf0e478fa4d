//! Counts of a queue and of a flow, kept as things happen and never found by walking messages.

use super::id::{LimitId, MessageId};

/// A queue at a glance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueStats {
    /// Messages that could be delivered but for credit or a bucket; parked ones included.
    pub waiting: u64,
    /// Messages that wait for their time.
    pub delayed: u64,
    /// Of those waiting, the ones in a lane that waits at a bucket.
    pub parked: u64,
    /// Messages that are leased.
    pub in_flight: u64,
    /// Bytes of all of these.
    pub bytes: u64,
    /// Flows with a message waiting.
    pub flows_active: u64,
    /// Subscriptions.
    pub consumers: u64,
    /// What they may still be sent.
    pub credit: u64,
    /// Deliveries since the start.
    pub delivered: u64,
    /// The message that came first of all that are here.
    pub oldest: Option<MessageId>,
    /// Whether nothing is delivered until it is resumed.
    pub paused: bool,
}

/// A flow at a glance.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowStats {
    /// Its fairness key.
    pub key: Box<[u8]>,
    /// Its weight, from its newest message.
    pub weight: u32,
    /// Messages that could be delivered but for credit or a bucket; parked ones included.
    pub waiting: u64,
    /// Messages that are leased.
    pub in_flight: u64,
    /// Of those waiting, the ones in a lane that waits at a bucket.
    pub parked: u64,
    /// Those buckets, each once.
    pub parked_on: Vec<LimitId>,
    /// Deliveries since the flow was last without any message.
    pub delivered: u64,
    /// What it may still be served this round, in cost; below 0, what it owes.
    pub deficit: i64,
    /// The smallest id at the head of its lanes.
    pub oldest: Option<MessageId>,
    /// Its part of the cost that the queue delivered in the last seconds, 0 to 1.
    pub share: f64,
    /// Its part by weight among the flows with a message waiting, 0 to 1.
    pub fair_share: f64,
}
