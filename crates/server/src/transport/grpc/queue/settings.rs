//! The settings of a queue: what a call says of them as the JSON object that the engine reads, and what the engine has
//! as a message.

use serde_json::{Map, Value, json};
use tidegate_engine::settings::{Backoff, DeadLetters, Durability, Settings};

use super::super::v1;
use crate::api::Refusal;

/// Settings that can go back to their defaults. The dead-letter queue is none of them: it was made with its queue.
const NAMES: [&str; 14] = [
    "visibility_timeout_ms",
    "retention_ms",
    "max_attempts",
    "backoff",
    "max_depth",
    "max_bytes",
    "weight",
    "quantum",
    "max_lanes",
    "fairness_key",
    "throttle_keys",
    "durability",
    "on_enqueue",
    "on_failure",
];

/// What is said, as a JSON object; what is unsaid is left out.
pub fn said(settings: v1::Settings) -> Result<Value, Refusal> {
    let v1::Settings {
        visibility_timeout_ms,
        retention_ms,
        max_attempts,
        backoff,
        dead_letter_queue,
        max_depth,
        max_bytes,
        weight,
        quantum,
        max_lanes,
        fairness_key,
        throttle_keys,
        durability,
        on_enqueue,
        on_failure,
    } = settings;
    let mut said = Said::default();
    said.put("visibility_timeout_ms", visibility_timeout_ms);
    said.put("retention_ms", retention_ms);
    said.put("max_attempts", max_attempts);
    said.put("backoff", backoff.map(said_backoff));
    let dead_letters = |name: String| if name.is_empty() { Value::Null } else { name.into() };
    said.put("dead_letter_queue", dead_letter_queue.map(dead_letters));
    said.put("max_depth", max_depth);
    said.put("max_bytes", max_bytes);
    said.put("weight", weight);
    said.put("quantum", quantum);
    said.put("max_lanes", max_lanes);
    said.put("fairness_key", fairness_key);
    said.put("throttle_keys", Some(throttle_keys).filter(|keys| !keys.is_empty()));
    said.put("durability", durability.map(said_durability).transpose()?.flatten());
    said.put("on_enqueue", on_enqueue);
    said.put("on_failure", on_failure);
    Ok(Value::Object(said.settings))
}

/// What is said, and the names of those that go back to their defaults.
pub fn changed(settings: v1::Settings, defaults: Vec<String>) -> Result<Value, Refusal> {
    let mut changed = said(settings)?;
    for name in defaults {
        if !NAMES.contains(&name.as_str()) {
            let message = format!("`{}` is no setting that has a default to go back to", name.escape_debug());
            return Err(Refusal::invalid_settings(message, "name settings as GetQueue shows them"));
        }
        if changed.get(&name).is_some() {
            let message = format!("`{name}` is both set and to go back to its default");
            return Err(Refusal::invalid_settings(message, "do one of them"));
        }
        changed[name] = Value::Null;
    }
    Ok(changed)
}

#[derive(Default)]
struct Said {
    settings: Map<String, Value>,
}

impl Said {
    fn put(&mut self, name: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.settings.insert(name.to_owned(), value.into());
        }
    }
}

fn said_backoff(backoff: v1::Backoff) -> Value {
    let v1::Backoff { initial_ms, factor, max_ms, jitter } = backoff;
    let mut said = Said::default();
    said.put("initial_ms", initial_ms);
    said.put("factor", factor);
    said.put("max_ms", max_ms);
    said.put("jitter", jitter);
    Value::Object(said.settings)
}

/// Its name; nothing if it is named as unspecified.
fn said_durability(number: i32) -> Result<Option<Value>, Refusal> {
    let durability = match v1::Durability::try_from(number) {
        Ok(v1::Durability::Unspecified) => return Ok(None),
        Ok(v1::Durability::Fsync) => Durability::Fsync,
        Ok(v1::Durability::Interval) => Durability::Interval,
        Ok(v1::Durability::Memory) => Durability::Memory,
        Err(_) => {
            let message = format!("there is no durability {number}");
            return Err(Refusal::invalid_settings(message, "use one of the enum's values"));
        }
    };
    Ok(Some(json!(durability)))
}

impl From<Settings> for v1::Settings {
    fn from(settings: Settings) -> v1::Settings {
        let durability = match settings.durability {
            Durability::Fsync => v1::Durability::Fsync,
            Durability::Interval => v1::Durability::Interval,
            Durability::Memory => v1::Durability::Memory,
        };
        let Backoff { initial_ms, factor, max_ms, jitter } = settings.backoff;
        v1::Settings {
            visibility_timeout_ms: Some(settings.visibility_timeout_ms),
            retention_ms: settings.retention_ms,
            max_attempts: settings.max_attempts,
            backoff: Some(v1::Backoff {
                initial_ms: Some(initial_ms),
                factor: Some(factor),
                max_ms: Some(max_ms),
                jitter: Some(jitter),
            }),
            dead_letter_queue: match settings.dead_letter_queue {
                DeadLetters::Unsaid => None,
                DeadLetters::Nowhere => Some(String::new()),
                DeadLetters::Queue(name) => Some(name),
            },
            max_depth: settings.max_depth,
            max_bytes: settings.max_bytes,
            weight: Some(settings.weight),
            quantum: Some(settings.quantum),
            max_lanes: Some(settings.max_lanes),
            fairness_key: settings.fairness_key.map(String::from),
            throttle_keys: settings.throttle_keys.into_iter().map(String::from).collect(),
            durability: Some(durability.into()),
            on_enqueue: settings.on_enqueue,
            on_failure: settings.on_failure,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Settings of which none has its default.
    fn everything() -> Value {
        json!({
            "visibility_timeout_ms": 1, "retention_ms": 2, "max_attempts": 3,
            "backoff": {"initial_ms": 4, "factor": 1.5, "max_ms": 5, "jitter": 0.5},
            "dead_letter_queue": "dead", "max_depth": 6, "max_bytes": 7, "weight": 8, "quantum": 9,
            "max_lanes": 10, "fairness_key": "{headers.a}", "throttle_keys": ["b:{headers.c}"],
            "durability": "memory", "on_enqueue": "d", "on_failure": "e",
        })
    }

    #[test]
    fn every_setting_is_told_and_read_back() {
        let settings = Settings::from_json(everything()).unwrap();
        assert_eq!(said(settings.clone().into()).unwrap(), everything());
        assert_eq!(Settings::from_json(said(settings.clone().into()).unwrap()).unwrap(), settings);
    }

    #[test]
    fn the_names_are_those_of_the_engine() {
        let all = everything();
        let names: std::collections::BTreeSet<&str> =
            all.as_object().unwrap().keys().map(String::as_str).collect();
        let mut known = std::collections::BTreeSet::from(NAMES);
        known.insert("dead_letter_queue");
        assert_eq!(names, known);
    }

    #[test]
    fn what_is_unsaid_has_its_default() {
        assert_eq!(said(v1::Settings::default()).unwrap(), json!({}));
        let unspecified = v1::Settings { durability: Some(0), ..Default::default() };
        assert_eq!(said(unspecified).unwrap(), json!({}));
        let part = v1::Backoff { factor: Some(3.0), ..Default::default() };
        let settings = v1::Settings { backoff: Some(part), ..Default::default() };
        assert_eq!(said(settings).unwrap(), json!({"backoff": {"factor": 3.0}}));
    }

    #[test]
    fn dead_letters_go_somewhere_nowhere_or_where_the_queue_was_made_for_them() {
        for (json, name) in [
            (json!({}), None),
            (json!({"dead_letter_queue": null}), Some("")),
            (json!({"dead_letter_queue": "d"}), Some("d")),
        ] {
            let message = v1::Settings::from(Settings::from_json(json.clone()).unwrap());
            assert_eq!(message.dead_letter_queue.as_deref(), name);
            assert_eq!(said(message).unwrap().get("dead_letter_queue"), json.get("dead_letter_queue"));
        }
    }

    #[test]
    fn a_default_comes_back_by_name() {
        let settings = v1::Settings { weight: Some(2), ..Default::default() };
        let back =
            |names: &[&str]| changed(settings.clone(), names.iter().map(|&name| name.to_owned()).collect());
        let expected = json!({"weight": 2, "retention_ms": null, "throttle_keys": null});
        assert_eq!(back(&["retention_ms", "throttle_keys"]).unwrap(), expected);
        for wrong in ["weight", "dead_letter_queue", "wait"] {
            assert_eq!(back(&[wrong]).unwrap_err().code().as_str(), "invalid_settings");
        }
    }

    #[test]
    fn a_durability_of_another_time_is_refused() {
        let settings = v1::Settings { durability: Some(9), ..Default::default() };
        assert_eq!(said(settings).unwrap_err().message(), "there is no durability 9");
    }
}
