//! How one limit stands, as seen by one acquire.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::acquired::integer;
use crate::resp::{Cursor, Item, Stop};

/// What a limit bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// What is taken over time.
    Rate,
    /// What is in flight at once.
    Concurrency,
}

/// How one limit of one entity stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Whose limit it is: the entity that was charged, or a parent by cascade.
    pub entity: String,
    /// The resource.
    pub resource: String,
    /// The name of the limit.
    pub limit: String,
    /// What it bounds. An acquire does not say; [`Buckets`](super::Buckets) do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// The level that it comes from: `entity`, `resource`, `system` and so on. An acquire does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    /// The most that can be there.
    pub capacity: u64,
    /// What is there now; negative is debt.
    pub available: i64,
    /// What was asked for.
    pub requested: u64,
    /// Whether there was not enough.
    pub exceeded: bool,
    /// Whether it only counts, and never refuses. An acquire says so of limits that were exceeded.
    #[serde(default)]
    pub soft: bool,
    /// When what was asked for would be there. `None` if nobody knows.
    #[serde(rename = "retry_after_ms", default, serialize_with = "as_ms", deserialize_with = "from_ms")]
    pub retry_after: Option<Duration>,
}

/// How a row says that a soft limit was exceeded.
const SOFTLY: i64 = 2;

impl Status {
    /// `[entity, resource, limit, capacity, available, requested, exceeded, retry_after_ms]`
    pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Status, Stop> {
        const PARTS: usize = 8;
        let more = match cursor.item()? {
            Item::Array(len @ PARTS..) => len - PARTS,
            _ => return Err(Stop::Malformed("a status is an array of eight")),
        };
        let positive = |number: i64| u64::try_from(number).unwrap_or(0);
        let (entity, resource, limit) = (text(cursor)?, text(cursor)?, text(cursor)?);
        let (capacity, available, requested) = (integer(cursor)?, integer(cursor)?, integer(cursor)?);
        let exceeded = integer(cursor)?;
        let status = Status {
            entity,
            resource,
            limit,
            kind: None,
            level: None,
            capacity: positive(capacity),
            available,
            requested: positive(requested),
            exceeded: exceeded != 0,
            soft: exceeded == SOFTLY,
            retry_after: u64::try_from(integer(cursor)?).ok().map(Duration::from_millis),
        };
        // What else a newer server says is not for us.
        (0..more).try_for_each(|_| cursor.skip())?;
        Ok(status)
    }
}

fn text(cursor: &mut Cursor<'_>) -> Result<String, Stop> {
    match cursor.item()? {
        Item::Bulk(text) | Item::Simple(text) => Ok(String::from_utf8_lossy(text).into_owned()),
        _ => Err(Stop::Malformed("a text in a status is none")),
    }
}

pub(super) fn as_ms<S: Serializer>(time: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    time.map(crate::queue::millis).serialize(serializer)
}

pub(super) fn from_ms<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    Ok(Option::<u64>::deserialize(deserializer)?.map(Duration::from_millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_and_a_document_say_the_same() {
        let row =
            b"*9\r\n$4\r\nacme\r\n$5\r\ngpt-4\r\n$3\r\ntpm\r\n:100\r\n:-5\r\n:7\r\n:1\r\n:1500\r\n:9\r\n";
        let mut cursor = Cursor::over(row);
        let read = Status::read(&mut cursor).unwrap();
        assert!(cursor.rest.is_empty());
        let document = r#"{"entity":"acme","resource":"gpt-4","limit":"tpm","capacity":100,"available":-5,"requested":7,
            "exceeded":true,"soft":false,"retry_after_ms":1500,"from_a_newer_server":1}"#;
        assert_eq!(serde_json::from_str::<Status>(document).unwrap(), read);
        assert_eq!(read.retry_after, Some(Duration::from_millis(1500)));
    }

    #[test]
    fn nobody_may_know_when() {
        let row = b"*8\r\n$1\r\ne\r\n$1\r\nr\r\n$1\r\nl\r\n:1\r\n:0\r\n:1\r\n:1\r\n:-1\r\n";
        let read = Status::read(&mut Cursor::over(row)).unwrap();
        assert_eq!(read.retry_after, None);
        let json = serde_json::to_value(&read).unwrap();
        assert_eq!(json["retry_after_ms"], serde_json::Value::Null);
        assert_eq!(serde_json::from_value::<Status>(json).unwrap(), read);
    }
}
