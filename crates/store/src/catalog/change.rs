//! What the catalog holds, and how it changes.

use tidegate_core::Nanos;
use tidegate_core::queue::QueueId;

/// All that is in the catalog. Each list is in the order of its keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CatalogState {
    /// The definition of each queue, as it was put.
    pub queues: Vec<(QueueId, Vec<u8>)>,
    /// The first id that no queue ever had.
    pub next_queue: QueueId,
    /// The rate of each named limit.
    pub limits: Vec<(Vec<u8>, StoredRate)>,
    /// Limits that are closed, and until when.
    pub closed: Vec<(Vec<u8>, Nanos)>,
    /// How full the bucket of each named limit was, as it was put.
    pub levels: Vec<(Vec<u8>, Vec<u8>)>,
    /// Runtime configuration: namespace, key, value.
    pub config: Vec<(String, String, Vec<u8>)>,
}

/// The rate of a named limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoredRate {
    /// The most at once.
    pub burst: u64,
    /// How much per period.
    pub count: u64,
    /// The period.
    pub period_ns: u64,
}

/// One change. Names of limits are bytes: namespace, a zero byte, key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Creates or changes a queue. Its id counts as used for ever.
    PutQueue {
        /// Which.
        id: QueueId,
        /// JSON, to the catalog just bytes.
        definition: Vec<u8>,
    },
    /// Deletes a queue.
    RemoveQueue {
        /// Which.
        id: QueueId,
    },
    /// Sets the rate of a limit.
    SetRate {
        /// Which.
        name: Vec<u8>,
        /// From now on.
        rate: StoredRate,
    },
    /// Removes the rate of a limit, its level and its closing.
    RemoveLimit {
        /// Which.
        name: Vec<u8>,
    },
    /// Closes a limit until then, or opens it.
    Close {
        /// Which; it needs no rate.
        name: Vec<u8>,
        /// None opens it.
        until: Option<Nanos>,
    },
    /// Notes how full a bucket is.
    PutLevel {
        /// Which.
        name: Vec<u8>,
        /// To the catalog just bytes.
        level: Vec<u8>,
    },
    /// Sets a value of the runtime configuration.
    SetConfig {
        /// Where.
        namespace: String,
        /// Which.
        key: String,
        /// To the catalog just bytes.
        value: Vec<u8>,
    },
    /// Removes a value of the runtime configuration.
    RemoveConfig {
        /// Where.
        namespace: String,
        /// Which.
        key: String,
    },
}
