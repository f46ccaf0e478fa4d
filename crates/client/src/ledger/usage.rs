//! What was taken, over time.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::document::read;
use crate::queue::millis;
use crate::resp::command::words;
use crate::{Client, Error};

/// How long a window is. Windows begin where the calendar says, in UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Window {
    /// A minute.
    Minute,
    /// An hour.
    #[default]
    Hour,
    /// A day.
    Day,
    /// A month of the calendar.
    Month,
}

/// Which usage is asked for. What is not said is not restricted.
///
/// ```
/// use tidegate_client::{UsageQuery, Window};
///
/// let query = UsageQuery::by(Window::Day).entity("acme").limit("tpm");
/// assert_eq!(serde_json::to_string(&query)?, r#"{"entity":"acme","limit":"tpm","window":"day"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct UsageQuery {
    #[serde(skip_serializing_if = "Option::is_none")]
    entity: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<String>,
    window: Window,
    #[serde(skip_serializing_if = "Option::is_none")]
    from_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<u32>,
}

impl UsageQuery {
    /// In windows of this length.
    pub fn by(window: Window) -> UsageQuery {
        UsageQuery { window, ..UsageQuery::default() }
    }

    /// Of one entity.
    pub fn entity(self, entity: impl Into<String>) -> UsageQuery {
        UsageQuery { entity: Some(entity.into()), ..self }
    }

    /// On one resource.
    pub fn resource(self, resource: impl Into<String>) -> UsageQuery {
        UsageQuery { resource: Some(resource.into()), ..self }
    }

    /// Of one limit.
    pub fn limit(self, limit: impl Into<String>) -> UsageQuery {
        UsageQuery { limit: Some(limit.into()), ..self }
    }

    /// Windows that begin then or later.
    pub fn from(self, from: SystemTime) -> UsageQuery {
        UsageQuery { from_ms: Some(unix_ms(from)), ..self }
    }

    /// Windows that begin before then.
    pub fn to(self, to: SystemTime) -> UsageQuery {
        UsageQuery { to_ms: Some(unix_ms(to)), ..self }
    }

    /// At most so many rows.
    pub fn max(self, rows: u32) -> UsageQuery {
        UsageQuery { max: Some(rows), ..self }
    }
}

pub(super) fn unix_ms(time: SystemTime) -> u64 {
    millis(time.duration_since(UNIX_EPOCH).unwrap_or_default())
}

/// What was taken. What was given back later counts negative at that time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// One for each limit of an entity and window with anything in it, by time.
    pub rows: Vec<UsageRow>,
    /// The sums over all of them.
    pub totals: Vec<UsageTotal>,
    /// Whether there are more rows than were asked for.
    #[serde(default)]
    pub truncated: bool,
}

/// What was taken in one window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UsageRow {
    /// The entity.
    pub entity: String,
    /// The resource.
    pub resource: String,
    /// The limit.
    pub limit: String,
    /// When the window begins, in milliseconds since the epoch.
    pub window_start_ms: u64,
    /// How much.
    pub amount: i64,
    /// How often.
    pub events: u64,
}

/// What was taken in all windows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UsageTotal {
    /// The resource.
    pub resource: String,
    /// The limit.
    pub limit: String,
    /// How much.
    pub amount: i64,
    /// How often.
    pub events: u64,
}

impl Client {
    /// What was taken.
    pub async fn usage(&self, query: &UsageQuery) -> Result<Usage, Error> {
        let json = serde_json::to_string(query).expect("numbers and words become JSON");
        read(self.call(words(&[b"USAGE", json.as_bytes()])).await?)
    }
}
