//! Who changed what.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::usage::unix_ms;
use crate::document::read;
use crate::resp::command::words;
use crate::{Client, Error};

/// Which changes are asked for, newest first. What is not said is not restricted.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AuditQuery {
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<u32>,
}

impl AuditQuery {
    /// All of them.
    pub fn new() -> AuditQuery {
        AuditQuery::default()
    }

    /// Of one subject: `$SYSTEM`, `$RESOURCE:gpt-4`, or an entity.
    pub fn subject(self, subject: impl Into<String>) -> AuditQuery {
        AuditQuery { subject: Some(subject.into()), ..self }
    }

    /// Then or later.
    pub fn from(self, from: SystemTime) -> AuditQuery {
        AuditQuery { from_ms: Some(unix_ms(from)), ..self }
    }

    /// Before then.
    pub fn to(self, to: SystemTime) -> AuditQuery {
        AuditQuery { to_ms: Some(unix_ms(to)), ..self }
    }

    /// Before the one of this number: the [`next`](AuditPage::next) of the page before.
    pub fn before(self, seq: u64) -> AuditQuery {
        AuditQuery { before: Some(seq), ..self }
    }

    /// At most so many.
    pub fn max(self, events: u32) -> AuditQuery {
        AuditQuery { max: Some(events), ..self }
    }
}

/// Some changes, newest first, and where the older ones begin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditPage {
    /// The changes.
    pub events: Vec<AuditEvent>,
    /// What to ask [before](AuditQuery::before) for older ones; nothing if there are none.
    #[serde(default)]
    pub next: Option<u64>,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditEvent {
    /// Its number: later changes have greater ones.
    pub seq: u64,
    /// When, in milliseconds since the epoch.
    pub at_ms: u64,
    /// Who.
    pub actor: String,
    /// What was done.
    pub action: String,
    /// To what: `$SYSTEM`, `$RESOURCE:gpt-4`, or an entity.
    pub subject: String,
    /// What it was.
    #[serde(default)]
    pub before: Value,
    /// What it became.
    #[serde(default)]
    pub after: Value,
}

impl Client {
    /// Who changed what.
    pub async fn audit(&self, query: &AuditQuery) -> Result<AuditPage, Error> {
        let json = serde_json::to_string(query).expect("numbers and words become JSON");
        read(self.call(words(&[b"AUDIT", json.as_bytes()])).await?)
    }
}
