//! The message that a script is tried with, as a shell gives it.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::Deserialize;

/// A message as JSON: everything in it may be left out.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// The name of its queue.
    #[serde(default = "queue")]
    pub queue: String,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Scripts see its length only.
    #[serde(default)]
    pub payload: String,
    #[serde(default = "id")]
    pub id: String,
}

fn queue() -> String {
    "test".to_owned()
}

fn id() -> String {
    "0000000000000001".to_owned()
}

impl Message {
    /// Its headers as hooks take them.
    pub fn headers(&self) -> Vec<(&[u8], &[u8])> {
        self.headers.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())).collect()
    }
}

impl FromStr for Message {
    type Err = serde_json::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        serde_json::from_str(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_may_be_left_out() {
        let message: Message = "{}".parse().unwrap();
        assert_eq!((message.queue.as_str(), message.headers().len()), ("test", 0));
        let message: Message = r#"{"headers":{"tenant":"a"},"payload":"abc","queue":"q"}"#.parse().unwrap();
        assert_eq!((message.queue.as_str(), message.payload.len()), ("q", 3));
        assert_eq!(message.headers(), [(&b"tenant"[..], &b"a"[..])]);
    }

    #[test]
    fn a_slip_is_told() {
        for text in ["", "1", r#"{"header":{}}"#, r#"{"headers":{"a":1}}"#] {
            assert!(text.parse::<Message>().is_err(), "{text}");
        }
    }
}
