//! What a queue is told to be, as the server tells it.

use serde::{Deserialize, Serialize};

/// The settings of a queue. To change some of them, see [`SettingsPatch`](super::SettingsPatch).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct QueueSettings {
    /// How long a delivered message may stay unsettled before it comes back.
    pub visibility_timeout_ms: u64,
    /// After how long a message that nobody took is dropped; never if unsaid.
    pub retention_ms: Option<u64>,
    /// After how many failed attempts a message is a dead letter; never if unsaid.
    pub max_attempts: Option<u32>,
    /// How long a failed message waits.
    pub backoff: Backoff,
    /// Where dead letters go; nowhere if unsaid.
    pub dead_letter_queue: Option<String>,
    /// The most messages held; more are refused.
    pub max_depth: Option<u64>,
    /// The most bytes held; more are refused.
    pub max_bytes: Option<u64>,
    /// The weight of a flow whose messages bring none.
    pub weight: u32,
    /// What a flow of weight 1 may spend in a turn, in cost.
    pub quantum: u32,
    /// Lanes of one flow; past them, its messages wait in one line.
    pub max_lanes: u32,
    /// The fairness key of messages that bring none: a template over headers.
    pub fairness_key: Option<String>,
    /// The throttle keys of messages that bring none: templates over headers.
    pub throttle_keys: Vec<String>,
    /// When an enqueue, ack or nack is answered.
    pub durability: Durability,
    /// Lua: chooses fairness key, weight, cost and throttle keys.
    pub on_enqueue: Option<String>,
    /// Lua: chooses between another attempt and the dead letters.
    pub on_failure: Option<String>,
}

/// The server's own defaults, as far as it does not tell.
impl Default for QueueSettings {
    fn default() -> QueueSettings {
        QueueSettings {
            visibility_timeout_ms: 30_000,
            retention_ms: None,
            max_attempts: None,
            backoff: Backoff::default(),
            dead_letter_queue: None,
            max_depth: None,
            max_bytes: None,
            weight: 1,
            quantum: 1,
            max_lanes: 64,
            fairness_key: None,
            throttle_keys: Vec::new(),
            durability: Durability::Fsync,
            on_enqueue: None,
            on_failure: None,
        }
    }
}

/// How long a failed message waits: `initial`, then `factor` times as long each time, up to `max`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Backoff {
    /// The wait after the first failure.
    pub initial_ms: u64,
    /// What each further wait is multiplied by.
    pub factor: f64,
    /// The longest wait.
    pub max_ms: u64,
    /// The part of a wait that is left to chance, from 0 to 1.
    pub jitter: f64,
}

impl Default for Backoff {
    fn default() -> Backoff {
        Backoff { initial_ms: 1_000, factor: 2.0, max_ms: 60_000, jitter: 0.2 }
    }
}

/// When an enqueue, ack or nack is answered, and so what a crash may forget of what was answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// Once it is on disk: forgets nothing.
    #[default]
    Fsync,
    /// At once; on disk within the flush interval: forgets that much.
    Interval,
    /// At once; on disk when there is another reason to write: may forget all since then.
    Memory,
}
