//! Administrative calls: what they ask of the engine, and how their outcome is told.

use bytes::Bytes;
use serde_json::Value;
use tidegate_core::limit::Parts;
use tidegate_core::queue::QueueId;
use tidegate_core::{Limit, NANOS_PER_S};
use tidegate_engine::Task;

use super::document;
use super::ops::close;
use super::port::Outcome;
use super::queues::Queues;
use crate::api::Refusal;
use crate::api::ledger::Changed;
use crate::api::namespace::NamespaceName;

/// Flows that are shown unless told otherwise, and at most.
const FLOWS: usize = 100;
const MOST_FLOWS: usize = 10_000;

/// The longest key and value of a setting.
const MAX_SETTING_KEY_BYTES: usize = 256;
const MAX_SETTING_BYTES: usize = 64 * 1024;

/// A call: its task, and how to tell what came of it.
#[derive(Clone, Debug)]
pub struct AdminCall {
    /// What the engine is asked.
    pub task: Task,
    /// How its answer is told.
    pub told: Told,
}

/// How the outcome of a call is told.
#[derive(Clone, Debug)]
pub enum Told {
    /// As what the engine says: a queue, queues, flows.
    AsIs,
    /// Only how a queue is doing.
    Stats,
    /// How many messages: by this word.
    Counted(&'static str),
    /// Which queue is gone.
    Deleted {
        /// Its name.
        name: String,
        /// Its number, if there was one of that name.
        id: Option<QueueId>,
    },
    /// A limit as it is now.
    Limit(Bytes),
    /// A limit that is gone.
    LimitRemoved(Bytes),
    /// A setting as it is now; without a value it is gone.
    Setting(String, Option<String>),
    /// What was changed of entities and limits.
    Changed(Changed),
    /// What was known before.
    Prepared(Vec<u8>),
    /// A namespace as it is now.
    Namespace {
        /// Whether it is gone for good.
        purged: bool,
    },
}

impl Told {
    /// The JSON document about an outcome.
    pub fn document(
        &self,
        queues: &Queues,
        namespace: &NamespaceName,
        outcome: Outcome,
    ) -> Result<Vec<u8>, Refusal> {
        match (self, outcome) {
            (_, Outcome::Refused(refused)) => Err((*refused).into()),
            (Told::Stats, Outcome::Queue(report)) => Ok(document::stats(&report)),
            (Told::Counted(word), Outcome::Count(count)) => Ok(document::count(word, count)),
            (Told::Deleted { name, id }, _) => {
                id.iter().for_each(|id| queues.hooks().forget(*id));
                Ok(document::deleted(name))
            }
            (Told::Limit(key), _) => queues.limits().document(namespace, key),
            (Told::LimitRemoved(key), _) => Ok(document::removed(&String::from_utf8_lossy(key))),
            (Told::Setting(key, Some(value)), _) => Ok(document::setting(key, value)),
            (Told::Setting(key, None), _) => Ok(document::removed(key)),
            (Told::Changed(changed), Outcome::Edited(after)) => Ok(document::changed(changed, after)),
            (Told::Prepared(document), _) => Ok(document.clone()),
            (Told::Namespace { purged }, _) => {
                let deleted_at_ms = queues.deleted_at_ms(namespace.as_str());
                Ok(document::namespace(namespace.as_str(), deleted_at_ms, *purged))
            }
            (_, outcome) => Ok(document::outcome(&outcome)),
        }
    }
}

fn call(task: Task, told: Told) -> AdminCall {
    AdminCall { task, told }
}

/// A name as text. What is no text names no queue, and the engine says so.
fn text(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

/// Reads settings off a wire: a JSON object, or nothing for the defaults.
pub fn settings(json: &[u8]) -> Result<Value, Refusal> {
    let hint = "send a JSON object of settings, for example {\"max_attempts\": 5}";
    let value = match json.trim_ascii() {
        b"" => Value::Object(serde_json::Map::new()),
        json => serde_json::from_slice(json)
            .map_err(|error| Refusal::invalid_settings(format!("the settings are no JSON: {error}"), hint))?,
    };
    match value.is_object() {
        true => Ok(value),
        false => Err(Refusal::invalid_settings("the settings are no JSON object".to_owned(), hint)),
    }
}

impl AdminCall {
    /// Makes a queue.
    pub fn create_queue(name: &[u8], settings: Value) -> AdminCall {
        call(Task::CreateQueue { name: text(name), settings }, Told::AsIs)
    }

    /// Changes settings of a queue.
    pub fn update_queue(name: &[u8], settings: Value) -> AdminCall {
        call(Task::UpdateQueue { name: text(name), settings }, Told::AsIs)
    }

    /// Deletes a queue with all that is in it.
    pub fn delete_queue(name: &[u8]) -> AdminCall {
        let name = text(name);
        call(Task::DeleteQueue { name: name.clone() }, Told::Deleted { name, id: None })
    }

    /// Drops every message that is not in flight.
    pub fn purge(name: &[u8]) -> AdminCall {
        call(Task::Purge { name: text(name) }, Told::Counted("purged"))
    }

    /// Delivers nothing until resumed.
    pub fn pause(name: &[u8]) -> AdminCall {
        call(Task::Pause { name: text(name) }, Told::AsIs)
    }

    /// Delivers again.
    pub fn resume(name: &[u8]) -> AdminCall {
        call(Task::Resume { name: text(name) }, Told::AsIs)
    }

    /// Moves dead letters back to where they came from.
    pub fn redrive(name: &[u8], count: Option<i64>) -> Result<AdminCall, Refusal> {
        let wrong = |count| {
            let message = format!("the number of messages must be at least 1, and is {count}");
            Refusal::invalid_request(message, "leave it out to move all of them")
        };
        let count = match count {
            Some(count @ 1..) => Some(count as u64),
            Some(count) => return Err(wrong(count)),
            None => None,
        };
        Ok(call(Task::Redrive { name: text(name), count }, Told::Counted("redriven")))
    }

    /// Tells what a queue is told to be, and how it is doing.
    pub fn inspect(name: &[u8]) -> AdminCall {
        call(Task::Inspect { name: text(name) }, Told::AsIs)
    }

    /// Tells how a queue is doing.
    pub fn stats(name: &[u8]) -> AdminCall {
        call(Task::Inspect { name: text(name) }, Told::Stats)
    }

    /// Tells of every queue.
    pub fn list() -> AdminCall {
        call(Task::List, Told::AsIs)
    }

    /// Tells how the flows of a queue are doing.
    pub fn flows(name: &[u8], limit: Option<i64>) -> AdminCall {
        let limit = limit.map_or(FLOWS, |limit| usize::try_from(limit).unwrap_or(0).clamp(1, MOST_FLOWS));
        call(Task::Flows { name: text(name), limit }, Told::AsIs)
    }

    /// Sets the rate of a throttle key.
    pub fn set_key(key: Vec<u8>, limit: Limit) -> AdminCall {
        let key = Bytes::from(key);
        call(Task::SetLimit { key: key.clone(), limit }, Told::Limit(key))
    }

    /// Removes the rate of a throttle key.
    pub fn remove_key(key: Vec<u8>) -> AdminCall {
        let key = Bytes::from(key);
        call(Task::RemoveLimit { key: key.clone() }, Told::LimitRemoved(key))
    }

    /// Leaves a throttle key alone for a while.
    pub fn close_key(key: &[u8], retry_after_ms: i64) -> Result<AdminCall, Refusal> {
        let closed = close(key, retry_after_ms)?;
        let told = Told::Limit(closed.key.clone());
        Ok(call(Task::CloseKey(closed), told))
    }

    /// Sets a value that hooks can read, or removes it.
    pub fn set_setting(key: &[u8], value: Option<&[u8]>) -> Result<AdminCall, Refusal> {
        let told = |what: &str, max: usize| {
            Refusal::invalid_request(
                format!("{what} is empty, no UTF-8, or longer than {max} bytes"),
                "send text",
            )
        };
        let key =
            std::str::from_utf8(key).ok().filter(|key| (1..=MAX_SETTING_KEY_BYTES).contains(&key.len()));
        let key = key.ok_or_else(|| told("the key of the setting", MAX_SETTING_KEY_BYTES))?.to_owned();
        let value = value.map(|value| {
            let text = std::str::from_utf8(value).ok().filter(|value| value.len() <= MAX_SETTING_BYTES);
            text.map(str::to_owned).ok_or_else(|| told("the value of the setting", MAX_SETTING_BYTES))
        });
        let value = value.transpose()?;
        Ok(call(Task::SetSetting { key: key.clone(), value: value.clone() }, Told::Setting(key, value)))
    }
}

/// A named limit, in the caller's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitCall {
    /// Tokens at once.
    pub burst: i64,
    /// Tokens back every period.
    pub count: i64,
    /// The period in seconds.
    pub period_s: i64,
}

impl LimitCall {
    pub(in crate::api) fn check(self) -> Result<Limit, Refusal> {
        let positive = |name, value: i64| match value {
            1.. => Ok(value as u64),
            _ => Err(Refusal::invalid_named_limit(name, value)),
        };
        let (burst, count) = (positive("burst", self.burst)?, positive("count", self.count)?);
        let period_ns = u128::from(positive("period_s", self.period_s)?) * u128::from(NANOS_PER_S);
        Limit::new(Parts { burst, count, period_ns })
            .map_err(|_| Refusal::invalid_named_limit("period_s", self.period_s))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_an_object_or_nothing() {
        assert_eq!(settings(b"").unwrap(), serde_json::json!({}));
        assert_eq!(settings(br#"{"weight": 2}"#).unwrap(), serde_json::json!({"weight": 2}));
        for wrong in [&b"[]"[..], b"null", b"{", b"1"] {
            assert_eq!(settings(wrong).unwrap_err().code().as_str(), "invalid_settings");
        }
    }

    #[test]
    fn settings_are_text() {
        assert!(AdminCall::set_setting(b"k", Some(b"v")).is_ok());
        assert!(AdminCall::set_setting(b"k", None).is_ok());
        assert!(AdminCall::set_setting(b"", Some(b"v")).is_err());
        assert!(AdminCall::set_setting(b"k", Some(b"\xFF")).is_err());
    }
}
