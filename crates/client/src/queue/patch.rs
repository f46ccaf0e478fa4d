//! Settings to be: those that are said, and no others.

use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};

use super::new_message::millis;
use super::{Backoff, Durability};

/// Some settings of a queue: for a new one, where the others have their defaults, or for a change, where the others
/// stay as they are.
///
/// ```
/// use std::time::Duration;
/// use tidegate_client::SettingsPatch;
///
/// let patch = SettingsPatch::new()
///     .visibility_timeout(Duration::from_secs(60))
///     .max_attempts(5)
///     .fairness_key("{headers.tenant}")
///     .throttle_keys(&["provider:{headers.provider}"]);
/// assert_eq!(patch.as_json()["max_attempts"], 5);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SettingsPatch(Map<String, Value>);

impl SettingsPatch {
    /// No settings.
    pub fn new() -> SettingsPatch {
        SettingsPatch::default()
    }

    /// Settings by their names, as the server has them.
    pub fn from_json(settings: Map<String, Value>) -> SettingsPatch {
        SettingsPatch(settings)
    }

    /// The settings by their names.
    pub fn as_json(&self) -> &Map<String, Value> {
        &self.0
    }

    /// Sets any setting by its name. The server refuses what it does not know.
    pub fn set(mut self, name: &str, value: impl Into<Value>) -> SettingsPatch {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    /// Brings the default of a setting back.
    pub fn reset(self, name: &str) -> SettingsPatch {
        self.set(name, Value::Null)
    }

    /// How long a delivered message may stay unsettled before it comes back.
    pub fn visibility_timeout(self, timeout: Duration) -> SettingsPatch {
        self.set("visibility_timeout_ms", millis(timeout))
    }

    /// After how long a message that nobody took is dropped.
    pub fn retention(self, retention: Duration) -> SettingsPatch {
        self.set("retention_ms", millis(retention))
    }

    /// After how many failed attempts a message is a dead letter.
    pub fn max_attempts(self, attempts: u32) -> SettingsPatch {
        self.set("max_attempts", attempts)
    }

    /// How long a failed message waits.
    pub fn backoff(self, backoff: Backoff) -> SettingsPatch {
        self.set("backoff", json(&backoff))
    }

    /// Where dead letters go; `None` for nowhere. Unless said, `NAME.dlq` is made with the queue.
    pub fn dead_letter_queue(self, name: Option<&str>) -> SettingsPatch {
        self.set("dead_letter_queue", name)
    }

    /// The most messages held; more are refused.
    pub fn max_depth(self, messages: u64) -> SettingsPatch {
        self.set("max_depth", messages)
    }

    /// The most bytes held; more are refused.
    pub fn max_bytes(self, bytes: u64) -> SettingsPatch {
        self.set("max_bytes", bytes)
    }

    /// The weight of a flow whose messages bring none.
    pub fn weight(self, weight: u32) -> SettingsPatch {
        self.set("weight", weight)
    }

    /// What a flow of weight 1 may spend in a turn, in cost.
    pub fn quantum(self, quantum: u32) -> SettingsPatch {
        self.set("quantum", quantum)
    }

    /// Lanes of one flow; past them, its messages wait in one line.
    pub fn max_lanes(self, lanes: u32) -> SettingsPatch {
        self.set("max_lanes", lanes)
    }

    /// The fairness key of messages that bring none: a template over headers, `{headers.tenant}`.
    pub fn fairness_key(self, template: &str) -> SettingsPatch {
        self.set("fairness_key", template)
    }

    /// The throttle keys of messages that bring none: templates over headers.
    pub fn throttle_keys<T: AsRef<str>>(self, templates: &[T]) -> SettingsPatch {
        self.set("throttle_keys", templates.iter().map(AsRef::as_ref).collect::<Vec<&str>>())
    }

    /// When an enqueue, ack or nack is answered.
    pub fn durability(self, durability: Durability) -> SettingsPatch {
        self.set("durability", json(&durability))
    }

    /// A Lua script that chooses fairness key, weight, cost and throttle keys.
    pub fn on_enqueue(self, script: &str) -> SettingsPatch {
        self.set("on_enqueue", script)
    }

    /// A Lua script that chooses between another attempt and the dead letters.
    pub fn on_failure(self, script: &str) -> SettingsPatch {
        self.set("on_failure", script)
    }

    pub(super) fn to_vec(&self) -> Vec<u8> {
        Value::Object(self.0.clone()).to_string().into_bytes()
    }
}

fn json(value: &impl Serialize) -> Value {
    serde_json::to_value(value).expect("numbers and words become JSON")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_is_said_is_sent() {
        let patch = SettingsPatch::new()
            .visibility_timeout(Duration::from_secs(1))
            .backoff(Backoff { initial_ms: 5, ..Backoff::default() })
            .dead_letter_queue(None)
            .durability(Durability::Memory)
            .reset("retention_ms");
        let expected = json!({
            "visibility_timeout_ms": 1000,
            "backoff": { "initial_ms": 5, "factor": 2.0, "max_ms": 60000, "jitter": 0.2 },
            "dead_letter_queue": null,
            "durability": "memory",
            "retention_ms": null,
        });
        assert_eq!(serde_json::from_slice::<Value>(&patch.to_vec()).unwrap(), expected);
    }
}
