//! What the catalog holds, and how it changes.

use tidegate_core::Nanos;
use tidegate_core::queue::QueueId;

/// What is in the catalog but for the rows of its [tables](Table), of which there may be a million. Each list is in the
/// order of its keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CatalogState {
    /// The definition of each queue, as it was put.
    pub queues: Vec<(QueueId, Vec<u8>)>,
    /// The first id that no queue ever had.
    pub next_queue: QueueId,
    /// Runtime configuration: namespace, key, value.
    pub config: Vec<(String, String, Vec<u8>)>,
}

/// The rate of a named limit, in version 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoredRate {
    /// The most at once.
    pub burst: u64,
    /// How much per period.
    pub count: u64,
    /// The period.
    pub period_ns: u64,
}

/// A table of rows that mean nothing to the catalog: each has a namespace, a key in it, and a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Table {
    /// Who is limited.
    Entities,
    /// The settings of a scope: system, resource, entity.
    Scopes,
    /// What there is to know of a namespace itself.
    Namespaces,
    /// What was declared in a file.
    Manifests,
}

impl Table {
    /// All of them.
    pub const ALL: [Table; 4] = [Table::Entities, Table::Scopes, Table::Namespaces, Table::Manifests];
}

/// Named limits as version 1 of the format has them. Names are bytes: namespace, a zero byte, key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OldLimits {
    /// The rate of each.
    pub limits: Vec<(Vec<u8>, StoredRate)>,
    /// How full the bucket of each was, as it was put.
    pub levels: Vec<(Vec<u8>, Vec<u8>)>,
    /// Those that are closed, and until when; they need no rate.
    pub closed: Vec<(Vec<u8>, Nanos)>,
}

/// One change.
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
    /// Puts a row in a table, in place of the one with the same key.
    PutRow {
        /// Which table.
        table: Table,
        /// Where.
        namespace: String,
        /// Which.
        key: Vec<u8>,
        /// To the catalog just bytes.
        value: Vec<u8>,
    },
    /// Removes a row from a table.
    RemoveRow {
        /// Which table.
        table: Table,
        /// Where.
        namespace: String,
        /// Which.
        key: Vec<u8>,
    },
    /// Removes the rows of a namespace from all tables, and its runtime configuration. Not its queues.
    ClearNamespace {
        /// Which.
        namespace: String,
    },
}
