//! What was used, and what was changed: out of the history on disk and what has not got there yet.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tidegate_core::ledger::Window;
use tidegate_ledger::{ClosedMinute, Ledger, MinuteFilter, SpaceId};
use tidegate_store::History;
use tidegate_store::history::{self, AuditEvent, AuditQuery, UsageQuery};

use super::document::lossy;
use super::edit::read;
use crate::api::queue::document::write;
use crate::api::{NamespaceName, Refusal};

const USAGE_HINT: &str =
    r#"send {"entity":"acme","resource":"gpt-4","limit":"tpm","window":"hour","from_ms":0,"max":1000}"#;
const AUDIT_HINT: &str = r#"send {"subject":"acme","from_ms":0,"before":1234,"max":100}"#;

/// Rows that are told unless told otherwise, and at most.
const ROWS: usize = 1_000;
const MOST_ROWS: usize = 100_000;
const EVENTS: usize = 100;
const MOST_EVENTS: usize = 10_000;

const MINUTE_MS: u64 = 60_000;

/// How often a query looks again that has met minutes on their way to the disk, and after how long.
const HAND_OVERS: u32 = 100;
const HAND_OVER: std::time::Duration = std::time::Duration::from_millis(10);

/// What usage is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UsageRequest {
    /// Of this entity only.
    pub entity: Option<String>,
    /// Of this resource only.
    pub resource: Option<String>,
    /// Of this limit only.
    pub limit: Option<String>,
    /// By the minute, hour, day or month; by the hour if unsaid.
    pub window: Option<String>,
    /// Windows that begin then or later, in milliseconds since the epoch.
    pub from_ms: Option<u64>,
    /// Windows that begin before.
    pub to_ms: Option<u64>,
    /// At most so many rows.
    pub max: Option<u64>,
}

/// What changes are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AuditRequest {
    /// Of this only: an entity, `$SYSTEM`, `$RESOURCE:name`.
    pub subject: Option<String>,
    /// From then on, in milliseconds since the epoch.
    pub from_ms: Option<u64>,
    /// Before then.
    pub to_ms: Option<u64>,
    /// Before the change of this number.
    pub before: Option<u64>,
    /// At most so many.
    pub max: Option<u64>,
}

impl UsageRequest {
    /// Out of JSON.
    pub fn parse(json: &[u8]) -> Result<UsageRequest, Refusal> {
        read(json, USAGE_HINT)
    }

    fn window(&self) -> Result<Window, Refusal> {
        let named = self.window.as_deref().filter(|name| !name.is_empty());
        let window = named.map_or(Some(Window::Hour), Window::parse);
        let word = self.window.as_deref().unwrap_or_default().as_bytes();
        window.ok_or_else(|| Refusal::invalid_word("window", word, "minute, hour, day or month"))
    }
}

impl AuditRequest {
    /// Out of JSON.
    pub fn parse(json: &[u8]) -> Result<AuditRequest, Refusal> {
        read(json, AUDIT_HINT)
    }

    fn query<'a>(&'a self, namespace: &'a str, most: usize) -> AuditQuery<'a> {
        AuditQuery {
            namespace,
            subject: self.subject.as_deref(),
            from_ms: self.from_ms.unwrap_or(0),
            to_ms: self.to_ms.unwrap_or(u64::MAX),
            before: self.before,
            max: bounded(self.max, EVENTS, most),
        }
    }
}

fn bounded(max: Option<u64>, unsaid: usize, most: usize) -> usize {
    max.map_or(unsaid, |max| usize::try_from(max).unwrap_or(most).clamp(1, most))
}

/// What was used of a limit in a window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UsageRow {
    /// By whom.
    pub entity: String,
    /// Of what.
    pub resource: String,
    /// Of which limit.
    pub limit: String,
    /// When the window begins.
    pub window_start_ms: u64,
    /// How much.
    pub amount: i64,
    /// By how many acquires and deliveries.
    pub events: u64,
}

/// What was used of a limit in all windows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UsageTotal {
    resource: String,
    limit: String,
    amount: i64,
    events: u64,
}

/// What was used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// By window, then by entity, resource and limit.
    pub rows: Vec<UsageRow>,
    totals: Vec<UsageTotal>,
    /// Whether there is more.
    truncated: bool,
}

/// What was kept of the past, and what is on its way there. Reading it waits.
pub trait Kept: Send + Sync {
    /// What is still in memory, and what is kept: no minute is in both, and none in neither.
    fn usage(&self, query: &UsageQuery<'_>) -> Result<(Vec<ClosedMinute>, history::Usage), Refusal>;

    /// What was changed, newest first.
    fn audit(&self, query: &AuditQuery<'_>) -> Result<Vec<AuditEvent>, Refusal>;
}

/// Where history is read.
#[derive(Clone)]
pub struct Past {
    namespace: NamespaceName,
    kept: Arc<dyn Kept>,
}

/// The history on this machine's disk.
pub struct OnDisk {
    pub(super) ledger: Arc<Ledger>,
    pub(super) history: Arc<History>,
    pub(super) space: SpaceId,
}

impl Kept for OnDisk {
    /// Reads both while no minute goes from one to the other.
    #[expect(clippy::disallowed_methods, reason = "it waits for the disk anyway, on a thread that may")]
    fn usage(&self, query: &UsageQuery<'_>) -> Result<(Vec<ClosedMinute>, history::Usage), Refusal> {
        let UsageQuery { entity, resource, limit, .. } = *query;
        let mut tries = 0..HAND_OVERS;
        loop {
            let turns = self.history.turns();
            let open = self.ledger.open_minutes(self.space, &MinuteFilter { entity, resource, limit });
            let kept = self.history.usage(query).map_err(|error| Refusal::history_fault(&error))?;
            let still = turns.is_multiple_of(2) && turns == self.history.turns();
            // A disk that takes minutes for so long is slow, and a minute that is off is better than no answer.
            if still || tries.next().is_none() {
                return Ok((open, kept));
            }
            std::thread::sleep(HAND_OVER);
        }
    }

    fn audit(&self, query: &AuditQuery<'_>) -> Result<Vec<AuditEvent>, Refusal> {
        self.history.audit(query).map_err(|error| Refusal::history_fault(&error))
    }
}

type Bucket = (u64, Vec<u8>, String, String);
type Sum = (i64, u64);

fn add(sums: &mut Sum, amount: i64, events: u64) {
    *sums = (sums.0.saturating_add(amount), sums.1.saturating_add(events));
}

impl Past {
    pub(super) fn new(namespace: NamespaceName, kept: Arc<dyn Kept>) -> Past {
        Past { namespace, kept }
    }

    /// What was used. Waits for the disk.
    pub fn usage(&self, request: &UsageRequest) -> Result<Usage, Refusal> {
        let (window, max) = (request.window()?, bounded(request.max, ROWS, MOST_ROWS));
        let from_ms = window.start_ms(request.from_ms.unwrap_or(0));
        let to_ms = request.to_ms.unwrap_or(u64::MAX);
        let entity = request.entity.as_deref().map(str::as_bytes);
        let (resource, limit) = (request.resource.as_deref(), request.limit.as_deref());
        let query = UsageQuery {
            namespace: self.namespace.as_str(),
            entity,
            resource,
            limit,
            window,
            from_ms,
            to_ms,
            max_rows: max,
        };
        let (open, kept) = self.kept.usage(&query)?;
        let mut rows: BTreeMap<Bucket, Sum> = BTreeMap::new();
        let mut totals: BTreeMap<(String, String), Sum> = BTreeMap::new();
        for row in kept.rows {
            rows.insert((row.start_ms, row.entity, row.resource, row.limit), (row.amount, row.events));
        }
        for total in kept.totals {
            totals.insert((total.resource, total.limit), (total.amount, total.events));
        }
        for minute in open {
            let ClosedMinute { entity, resource, limit, minute, amount, events, .. } = minute;
            let start_ms = window.start_ms(u64::from(minute) * MINUTE_MS);
            if !(from_ms..to_ms).contains(&start_ms) {
                continue;
            }
            let (resource, limit) = (resource.to_string(), limit.to_string());
            add(totals.entry((resource.clone(), limit.clone())).or_default(), amount, events.into());
            add(rows.entry((start_ms, entity.to_vec(), resource, limit)).or_default(), amount, events.into());
        }
        let truncated = !kept.is_whole || rows.len() > max;
        Ok(Usage {
            rows: rows.into_iter().take(max).map(row).collect(),
            totals: totals.into_iter().map(total).collect(),
            truncated,
        })
    }

    /// The same as a JSON document.
    pub fn usage_document(&self, request: &UsageRequest) -> Result<Vec<u8>, Refusal> {
        self.usage(request).map(|usage| write(&usage))
    }

    /// What was changed, newest first, as a JSON document. Waits for the disk.
    pub fn audit_document(&self, request: &AuditRequest) -> Result<Vec<u8>, Refusal> {
        #[derive(Serialize)]
        struct Audit {
            events: Vec<Value>,
            next: Option<u64>,
        }
        let events = self.events(request, MOST_EVENTS)?;
        let full = events.len() >= bounded(request.max, EVENTS, MOST_EVENTS);
        let next = events.last().filter(|_| full).map(|event| event.seq);
        Ok(write(&Audit { events: events.iter().map(event).collect(), next }))
    }

    /// Shows every change that is asked for, newest first, a line each. Waits for the disk. Ends early if `show` says so.
    pub fn audit_lines(
        &self,
        request: &AuditRequest,
        mut show: impl FnMut(&[u8]) -> std::io::Result<()>,
    ) -> Result<(), Refusal> {
        let mut part = AuditRequest { max: Some(MOST_EVENTS as u64), ..request.clone() };
        loop {
            let events = self.events(&part, MOST_EVENTS)?;
            for found in &events {
                let mut line = write(&event(found));
                line.push(b'\n');
                show(&line).map_err(|error| Refusal::history_fault(&error))?;
            }
            match events.last() {
                Some(last) if events.len() >= MOST_EVENTS => part.before = Some(last.seq),
                _ => return Ok(()),
            }
        }
    }

    fn events(&self, request: &AuditRequest, most: usize) -> Result<Vec<AuditEvent>, Refusal> {
        self.kept.audit(&request.query(self.namespace.as_str(), most))
    }
}

fn row(((window_start_ms, entity, resource, limit), (amount, events)): (Bucket, Sum)) -> UsageRow {
    UsageRow { entity: lossy(&entity).into_owned(), resource, limit, window_start_ms, amount, events }
}

fn total(((resource, limit), (amount, events)): ((String, String), Sum)) -> UsageTotal {
    UsageTotal { resource, limit, amount, events }
}

/// A change as it is told: what was written of it, and its number.
fn event(event: &AuditEvent) -> Value {
    let kept: Value = serde_json::from_slice(&event.json).unwrap_or_default();
    let part = |name: &str| kept.get(name).cloned().unwrap_or_default();
    serde_json::json!({
        "seq": event.seq,
        "at_ms": event.at_ms,
        "actor": part("actor"),
        "action": part("action"),
        "subject": event.subject,
        "before": part("before"),
        "after": part("after"),
    })
}

/// Usage as a table of comma-separated values.
pub fn csv(usage: &Usage) -> Vec<u8> {
    let mut out = b"entity,resource,limit,window_start_ms,amount,events\n".to_vec();
    for row in &usage.rows {
        let UsageRow { entity, resource, limit, window_start_ms, amount, events } = row;
        let (entity, resource, limit) = (quoted(entity), quoted(resource), quoted(limit));
        out.extend_from_slice(
            format!("{entity},{resource},{limit},{window_start_ms},{amount},{events}\n").as_bytes(),
        );
    }
    out
}

/// A throttle key may be anything.
fn quoted(text: &str) -> std::borrow::Cow<'_, str> {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")).into(),
        false => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_quoted_where_it_has_to_be() {
        let row = UsageRow {
            entity: "a,\"b\"".to_owned(),
            resource: "gpt-4".to_owned(),
            limit: "tpm".to_owned(),
            window_start_ms: 60_000,
            amount: -5,
            events: 2,
        };
        let usage = Usage { rows: vec![row], ..Usage::default() };
        let told =
            "entity,resource,limit,window_start_ms,amount,events\n\"a,\"\"b\"\"\",gpt-4,tpm,60000,-5,2\n";
        assert_eq!(String::from_utf8(csv(&usage)).unwrap(), told);
    }

    #[test]
    fn what_is_asked_for_is_read() {
        assert!(UsageRequest::parse(br#"{"entity":"a","window":"day"}"#).unwrap().window().is_ok());
        assert_eq!(UsageRequest::default().window().unwrap(), Window::Hour);
        assert!(UsageRequest::parse(br#"{"window":"year"}"#).unwrap().window().is_err());
        for wrong in [&b"[]"[..], br#"{"entitty":"a"}"#, br#"{"from_ms":-1}"#] {
            assert!(UsageRequest::parse(wrong).is_err());
        }
        assert_eq!((bounded(None, 5, 9), bounded(Some(0), 5, 9), bounded(Some(99), 5, 9)), (5, 1, 9));
    }
}
