//! What a queue is told to be: its settings, as JSON shows them, and what has to hold for them.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tidegate_core::queue::{Backoff as CoreBackoff, Policy};

use crate::template::Template;

/// Nanoseconds in a millisecond.
pub(crate) const NANOS_PER_MS: u64 = 1_000_000;

/// The longest time that a setting may name: ten years.
const MOST_MS: u64 = 10 * 366 * 24 * 3600 * 1000;

/// The settings of a queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// How long a delivered message may stay unanswered before it comes back.
    pub visibility_timeout_ms: u64,
    /// After how long a message that nobody took is dropped; never if unsaid.
    pub retention_ms: Option<u64>,
    /// After how many failed attempts a message is a dead letter; never if unsaid.
    pub max_attempts: Option<u32>,
    /// How long a failed message waits.
    pub backoff: Backoff,
    /// Where dead letters go: `NAME.dlq`, made with the queue, if unsaid; nowhere if null.
    #[serde(skip_serializing_if = "DeadLetters::is_unsaid")]
    pub dead_letter_queue: DeadLetters,
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
    pub fairness_key: Option<Template>,
    /// The throttle keys of messages that bring none: templates over headers.
    pub throttle_keys: Vec<Template>,
    /// When an enqueue, ack or nack is answered.
    pub durability: Durability,
    /// Lua: chooses fairness key, weight, cost and throttle keys.
    pub on_enqueue: Option<String>,
    /// Lua: chooses between another attempt and the dead letters.
    pub on_failure: Option<String>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            visibility_timeout_ms: 30_000,
            retention_ms: None,
            max_attempts: None,
            backoff: Backoff::default(),
            dead_letter_queue: DeadLetters::Unsaid,
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

/// Where dead letters go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DeadLetters {
    /// To a queue of their own, made with this one.
    #[default]
    Unsaid,
    /// Nowhere: a message is tried for ever.
    Nowhere,
    /// To this queue.
    Queue(String),
}

impl DeadLetters {
    fn is_unsaid(&self) -> bool {
        *self == DeadLetters::Unsaid
    }

    /// The queue's name, if there is one.
    pub fn name(&self) -> Option<&str> {
        match self {
            DeadLetters::Queue(name) => Some(name),
            DeadLetters::Unsaid | DeadLetters::Nowhere => None,
        }
    }
}

impl Serialize for DeadLetters {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.name().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for DeadLetters {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<DeadLetters, D::Error> {
        Ok(match Option::<String>::deserialize(deserializer)? {
            Some(name) => DeadLetters::Queue(name),
            None => DeadLetters::Nowhere,
        })
    }
}

/// How long a failed message waits: `initial`, then `factor` times as long each time, up to `max`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
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

/// Why settings cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct InvalidSettings {
    /// What is wrong, by the name of the setting.
    pub message: String,
}

fn invalid(message: impl Into<String>) -> InvalidSettings {
    InvalidSettings { message: message.into() }
}

impl Settings {
    /// Reads settings from a JSON object.
    pub fn from_json(value: Value) -> Result<Settings, InvalidSettings> {
        let settings: Settings = serde_json::from_value(value).map_err(|error| invalid(error.to_string()))?;
        settings.check()?;
        Ok(settings)
    }

    /// These settings with some of them changed: `patch` is a JSON object; null brings the default back.
    pub fn patched(&self, patch: Value) -> Result<Settings, InvalidSettings> {
        let Value::Object(patch) = patch else { return Err(invalid("settings are a JSON object")) };
        let mut all = serde_json::to_value(self).map_err(|error| invalid(error.to_string()))?;
        let all_settings = all.as_object_mut().ok_or_else(|| invalid("settings are a JSON object"))?;
        for (name, value) in patch {
            match value {
                // For dead letters null has a meaning of its own.
                Value::Null if name != "dead_letter_queue" => drop(all_settings.remove(&name)),
                value => drop(all_settings.insert(name, value)),
            }
        }
        Settings::from_json(all)
    }

    fn check(&self) -> Result<(), InvalidSettings> {
        let within = |name: &str, value: u64, least: u64, most: u64| match (least..=most).contains(&value) {
            true => Ok(()),
            false => Err(invalid(format!("{name} must be from {least} to {most}, and is {value}"))),
        };
        within("visibility_timeout_ms", self.visibility_timeout_ms, 1, MOST_MS)?;
        within("retention_ms", self.retention_ms.unwrap_or(1), 1, MOST_MS)?;
        within("max_attempts", self.max_attempts.unwrap_or(1).into(), 1, u16::MAX.into())?;
        within("max_depth", self.max_depth.unwrap_or(1), 1, u64::MAX)?;
        within("max_bytes", self.max_bytes.unwrap_or(1), 1, u64::MAX)?;
        within("weight", self.weight.into(), 1, 1_000_000)?;
        within("quantum", self.quantum.into(), 1, 1_000_000_000)?;
        within("max_lanes", self.max_lanes.into(), 1, 250)?;
        within("backoff.initial_ms", self.backoff.initial_ms, 0, MOST_MS)?;
        within("backoff.max_ms", self.backoff.max_ms, 0, MOST_MS)?;
        if !(1.0..=1000.0).contains(&self.backoff.factor) {
            return Err(invalid("backoff.factor must be from 1 to 1000"));
        }
        if !(0.0..=1.0).contains(&self.backoff.jitter) {
            return Err(invalid("backoff.jitter must be from 0 to 1"));
        }
        if self.max_attempts.is_some() && self.dead_letter_queue == DeadLetters::Nowhere {
            return Err(invalid(
                "max_attempts needs a dead_letter_queue: without one, a message is tried for ever",
            ));
        }
        Ok(())
    }

    /// What the scheduler has to know.
    pub(crate) fn policy(&self) -> Policy {
        Policy {
            visibility_ns: self.visibility_timeout_ms * NANOS_PER_MS,
            weight: self.weight,
            quantum: self.quantum,
            max_depth: self.max_depth,
            max_bytes: self.max_bytes,
            max_lanes: self.max_lanes,
        }
    }

    /// The backoff in whole numbers.
    pub(crate) fn core_backoff(&self) -> CoreBackoff {
        CoreBackoff {
            initial_ms: self.backoff.initial_ms,
            factor_permille: (self.backoff.factor * 1000.0) as u32,
            max_ms: self.backoff.max_ms,
            jitter_percent: (self.backoff.jitter * 100.0) as u8,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_unknown_setting_is_named() {
        let error = Settings::from_json(json!({"visiblity_timeout_ms": 5})).unwrap_err();
        assert!(error.message.contains("visiblity_timeout_ms"), "{error}");
    }

    #[test]
    fn a_patch_changes_what_it_names_and_null_brings_the_default_back() {
        let settings = Settings::from_json(json!({"weight": 3, "retention_ms": 5_000})).unwrap();
        let patched = settings.patched(json!({"retention_ms": null, "max_depth": 7})).unwrap();
        assert_eq!((patched.weight, patched.retention_ms, patched.max_depth), (3, None, Some(7)));
    }

    #[test]
    fn dead_letters_nowhere_is_not_dead_letters_unsaid() {
        let unsaid = Settings::from_json(json!({})).unwrap();
        let nowhere = Settings::from_json(json!({"dead_letter_queue": null})).unwrap();
        assert_eq!(unsaid.dead_letter_queue, DeadLetters::Unsaid);
        assert_eq!(nowhere.dead_letter_queue, DeadLetters::Nowhere);
        assert_eq!(nowhere.patched(json!({})).unwrap().dead_letter_queue, DeadLetters::Nowhere);
        assert!(Settings::from_json(json!({"dead_letter_queue": null, "max_attempts": 3})).is_err());
    }

    #[test]
    fn values_out_of_range_are_refused_by_name() {
        for (patch, name) in [
            (json!({"visibility_timeout_ms": 0}), "visibility_timeout_ms"),
            (json!({"weight": 0}), "weight"),
            (json!({"backoff": {"factor": 0.5}}), "backoff.factor"),
            (json!({"backoff": {"jitter": 1.5}}), "backoff.jitter"),
            (json!({"durability": "maybe"}), "maybe"),
        ] {
            let error = Settings::from_json(patch).unwrap_err();
            assert!(error.message.contains(name), "{error}");
        }
    }
}
