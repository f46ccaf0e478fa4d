//! The settings of a queue that scheduling depends on.

/// See the fields. A change acts at once on what happens next; nothing that waits is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// How long a delivery is leased.
    pub visibility_ns: u64,
    /// The weight of a flow whose message brings none; 0 acts as 1.
    pub weight: u32,
    /// Cost that a flow of weight 1 is granted per round; 0 acts as 1.
    ///
    /// The default of 1 keeps turns as short as the messages allow: a round takes the largest cost it has
    /// seen where that is more, so a larger setting buys nothing but longer turns.
    pub quantum: u32,
    /// Messages the queue may hold, delayed and in flight included.
    pub max_depth: Option<u64>,
    /// Bytes the queue may hold, counted as the messages.
    pub max_bytes: Option<u64>,
    /// Lanes per flow, at most 250; past it a flow's further sets of limits share one lane. 0 acts as 1.
    pub max_lanes: u32,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            visibility_ns: 30 * crate::NANOS_PER_S,
            weight: 1,
            quantum: 1,
            max_depth: None,
            max_bytes: None,
            max_lanes: 64,
        }
    }
}

/// Why a queue takes no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// It holds its `max_depth`.
    Depth,
    /// It would hold more than its `max_bytes`.
    Bytes,
}

impl std::fmt::Display for Full {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Full::Depth => "the queue holds as many messages as it may",
            Full::Bytes => "the queue holds as many bytes as it may",
        })
    }
}

impl std::error::Error for Full {}
