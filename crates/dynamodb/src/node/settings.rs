//! How a node works.

/// How a node works. How the table is reached is in [`Settings`](crate::Settings).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeSettings {
    /// How many accounts are drawn for at once, while the table answers in time.
    pub draws_at_once: usize,
    /// How many calls load accounts at once, each as many as it takes: while all are under way, those that come next
    /// gather for one.
    pub loads_at_once: usize,
    /// How many accounts may wait for the table.
    pub most_waiting: usize,
    /// Of how many accounts a node remembers how their buckets were.
    pub most_remembered: usize,
    /// How often usage is told, in milliseconds: so much of it is lost if the node crashes, beside the present minute.
    pub usage_flush_ms: u64,
    /// How long a stop may take.
    pub stop_ms: u64,
    /// The seed of what is left to chance.
    pub seed: u64,
}

impl Default for NodeSettings {
    fn default() -> NodeSettings {
        NodeSettings {
            draws_at_once: 48,
            loads_at_once: 8,
            most_waiting: 200_000,
            most_remembered: 65_536,
            usage_flush_ms: 10_000,
            stop_ms: 5_000,
            seed: 0,
        }
    }
}
