//! Queues, limits and settings: what their bodies ask for, and what can be told without the engine.

use serde_json::{Map, Value};

use super::super::encode;
use super::super::parse::{parse, parse_or_default};
use super::call::Call;
use super::query;
use super::shape::{Close, Limit, Nothing, Redrive, Setting, Take};
use crate::api::Refusal;
use crate::api::ledger::Request;
use crate::api::queue::admin::{self, LimitCall};
use crate::api::queue::{AdminCall, document};

impl Call {
    pub(super) async fn take_limit(&self, body: &[u8]) -> Result<Vec<u8>, Refusal> {
        let Take { quantity } = parse_or_default(body)?;
        let taken = self.queues.take_key(&self.namespace, &self.name, quantity)?;
        Ok(encode::decision(&taken.decided().await?))
    }

    pub(super) fn list_settings(&self) -> Result<Vec<u8>, Refusal> {
        let prefix = query::parameter(self.query.as_deref(), "prefix")?.unwrap_or_default();
        let prefix = String::from_utf8_lossy(&prefix);
        Ok(document::settings(&self.queues.directory().settings(self.namespace.as_str(), &prefix)))
    }

    pub(super) fn setting(&self) -> Result<Vec<u8>, Refusal> {
        let missing = || Refusal::setting_not_found(&self.name);
        let key = str::from_utf8(&self.name).map_err(|_| missing())?;
        let value = self.queues.directory().setting(self.namespace.as_str(), key).ok_or_else(missing)?;
        Ok(document::setting(key, &value))
    }
}

/// Refuses a body where there is nothing to say.
pub fn nothing(body: &[u8]) -> Result<(), Refusal> {
    parse_or_default(body).map(|Nothing {}| ())
}

/// A name beside settings.
pub fn create(body: &[u8]) -> Result<AdminCall, Refusal> {
    let hint = r#"send {"name":"orders","max_attempts":5}, with any settings of a queue"#;
    let mut settings: Map<String, Value> = serde_json::from_slice(body)
        .map_err(|error| Refusal::invalid_request(format!("the body is no JSON object: {error}"), hint))?;
    match settings.remove("name") {
        Some(Value::String(name)) => Ok(AdminCall::create_queue(name.as_bytes(), Value::Object(settings))),
        Some(_) => Err(Refusal::invalid_request("name: expected a string", hint)),
        None => Err(Refusal::invalid_request("missing field `name`", hint)),
    }
}

/// Settings that change.
pub fn update(name: &[u8], body: &[u8]) -> Result<AdminCall, Refusal> {
    admin::settings(body).map(|settings| AdminCall::update_queue(name, settings))
}

/// Some dead letters, or all.
pub fn redrive(name: &[u8], body: &[u8]) -> Result<AdminCall, Refusal> {
    let Redrive { count } = parse_or_default(body)?;
    AdminCall::redrive(name, count)
}

/// A limit for a throttle key.
pub fn set_limit(key: &[u8], body: &[u8]) -> Result<Request, Refusal> {
    let Limit { burst, count, period_s } = parse(body)?;
    Request::set_key(key, LimitCall { burst, count, period_s })
}

/// A time for which a throttle key is left alone.
pub fn close_limit(key: &[u8], body: &[u8]) -> Result<AdminCall, Refusal> {
    let Close { retry_after_ms } = parse(body)?;
    AdminCall::close_key(key, retry_after_ms)
}

/// A value for a setting.
pub fn set_setting(key: &[u8], body: &[u8]) -> Result<AdminCall, Refusal> {
    let Setting { value } = parse(body)?;
    AdminCall::set_setting(key, Some(value.as_bytes()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tidegate_engine::Task;

    use super::*;

    #[test]
    fn a_queue_is_made_of_a_name_and_settings() {
        let Task::CreateQueue { name, settings } = create(br#"{"name":"a","weight":2}"#).unwrap().task else {
            panic!("another task")
        };
        assert_eq!((name.as_str(), settings), ("a", json!({"weight": 2})));
        for wrong in [&b""[..], b"[]", b"{}", br#"{"name":7}"#, b"{} {}"] {
            assert_eq!(create(wrong).unwrap_err().code().as_str(), "invalid_request");
        }
    }

    #[test]
    fn a_body_that_would_be_ignored_is_refused() {
        assert!(nothing(b"").is_ok() && nothing(b" {} ").is_ok());
        assert!(nothing(br#"{"count":1}"#).is_err());
    }

    #[test]
    fn bodies_become_tasks() {
        let task = |call: Result<AdminCall, Refusal>| format!("{:?}", call.unwrap().task);
        assert!(task(redrive(b"q.dlq", b"")).contains("count: None"));
        assert!(task(redrive(b"q.dlq", br#"{"count":3}"#)).contains("count: Some(3)"));
        assert!(task(close_limit(b"k", br#"{"retry_after_ms":7}"#)).contains("retry_after_ms: 7"));
        assert!(task(set_setting(b"k", br#"{"value":"v"}"#)).contains(r#"value: Some("v")"#));
        let limit = set_limit(b"k", br#"{"burst":1,"count":2,"period_s":0}"#).unwrap_err();
        assert_eq!(limit.code().as_str(), "invalid_limit");
        assert_eq!(update(b"q", b"[]").unwrap_err().code().as_str(), "invalid_settings");
    }
}
