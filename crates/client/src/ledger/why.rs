//! What something waits for.

use serde::{Deserialize, Serialize};

use super::status::Status;
use crate::document::read;
use crate::queue::MessageId;
use crate::resp::Frame;
use crate::resp::command::words;
use crate::{Client, Error};

/// What a message, a flow or an acquire waits for, and until when.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Why {
    /// In a sentence.
    pub summary: String,
    /// The queue, of a message or a flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// The fairness key, of a message or a flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fairness_key: Option<String>,
    /// The message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The lines of a flow that depend on different limits; of a message, its own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lanes: Vec<WhyLane>,
    /// Whether an acquire would pass now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed: Option<bool>,
    /// When it would, in milliseconds from now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// The limits that an acquire would ask.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub statuses: Vec<Status>,
}

/// A line of messages that depend on the same limits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WhyLane {
    /// `ready`, `parked`, `stuck`, `delayed`, `leased` or `paused`.
    pub state: String,
    /// Messages in it, of a flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<u64>,
    /// Messages in it that go before the one that was asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ahead: Option<u64>,
    /// What it waits for, if that is a limit.
    pub waits_for: Option<WaitsFor>,
    /// Until when, in milliseconds since the epoch, if that is known.
    pub until_ms: Option<u64>,
}

/// A limit that somebody waits for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WaitsFor {
    /// The entity; for a throttle key, the key.
    pub entity: String,
    /// The resource.
    pub resource: String,
    /// The limit.
    pub limit: String,
}

impl Client {
    /// What a message waits for.
    pub async fn why_message(&self, queue: &str, id: MessageId) -> Result<Why, Error> {
        let id = id.to_string();
        read(self.call(words(&[b"WHY", b"MESSAGE", queue.as_bytes(), id.as_bytes()])).await?)
    }

    /// What the messages of a fairness key wait for.
    pub async fn why_flow(&self, queue: &str, key: impl AsRef<[u8]>) -> Result<Why, Error> {
        read(self.call(words(&[b"WHY", b"FLOW", queue.as_bytes(), key.as_ref()])).await?)
    }

    /// What an acquire would wait for. Nothing is taken.
    pub async fn why_acquire<L: AsRef<str>>(
        &self,
        entity: &str,
        resource: &str,
        cost: impl IntoIterator<Item = (L, u64)>,
    ) -> Result<Why, Error> {
        let cost: Vec<_> = cost.into_iter().collect();
        let mut frame = Frame::with_room(entity.len() + resource.len() + cost.len() * 32);
        frame.begin(4 + 2 * cost.len()).part(b"WHY").part(b"ACQUIRE");
        frame.part(entity.as_bytes()).part(resource.as_bytes());
        for (limit, amount) in &cost {
            frame.part(limit.as_ref().as_bytes()).number(*amount);
        }
        read(self.call(frame).await?)
    }
}
