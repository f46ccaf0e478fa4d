//! Who changed what. Events are numbered as they come, and times do not go back with rising numbers.

use super::tables::{AUDIT, AUDIT_SUBJECTS, META, META_NEXT_AUDIT};
use redb::{Error, ReadTransaction, ReadableTable, StorageError, WriteTransaction};

/// An event to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditRow<'a> {
    /// Where.
    pub namespace: &'a str,
    /// When.
    pub at_ms: u64,
    /// What was changed.
    pub subject: &'a str,
    /// All there is to know; to the history just bytes.
    pub json: &'a [u8],
}

/// Which events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditQuery<'a> {
    /// Where.
    pub namespace: &'a str,
    /// About what; None is everything.
    pub subject: Option<&'a str>,
    /// From this time on.
    pub from_ms: u64,
    /// Before this time.
    pub to_ms: u64,
    /// Before this event, for the next page.
    pub before: Option<u64>,
    /// How many, at the most.
    pub max: usize,
}

/// An event that was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEvent {
    /// Its number: later events have higher ones.
    pub seq: u64,
    /// When.
    pub at_ms: u64,
    /// What was changed.
    pub subject: String,
    /// As it was added.
    pub json: Vec<u8>,
}

/// Adds events, in order.
pub(super) fn add(transaction: &WriteTransaction, rows: &[AuditRow<'_>]) -> Result<(), Error> {
    if rows.is_empty() {
        return Ok(());
    }
    let mut meta = transaction.open_table(META)?;
    let mut events = transaction.open_table(AUDIT)?;
    let mut subjects = transaction.open_table(AUDIT_SUBJECTS)?;
    let next = meta.get(META_NEXT_AUDIT)?.map_or(1, |next| next.value());
    for (seq, row) in (next..).zip(rows) {
        events.insert((row.namespace, seq), (row.at_ms, row.subject, row.json))?;
        subjects.insert((row.namespace, row.subject, seq), ())?;
    }
    meta.insert(META_NEXT_AUDIT, next + rows.len() as u64)?;
    Ok(())
}

/// Answers a query, newest event first.
pub(super) fn audit(read: &ReadTransaction, query: &AuditQuery<'_>) -> Result<Vec<AuditEvent>, Error> {
    let events = read.open_table(AUDIT)?;
    let until = first_at(&events, query.namespace, query.to_ms)?.min(query.before.unwrap_or(u64::MAX));
    let from = first_at(&events, query.namespace, query.from_ms)?;
    let mut found = Vec::new();
    if from >= until {
        return Ok(found);
    }
    match query.subject {
        None => {
            let range = events.range((query.namespace, from)..(query.namespace, until))?;
            for row in range.rev().take(query.max) {
                let (key, value) = row?;
                found.push(event(key.value().1, value.value()));
            }
        }
        Some(subject) => {
            let subjects = read.open_table(AUDIT_SUBJECTS)?;
            let range =
                subjects.range((query.namespace, subject, from)..(query.namespace, subject, until))?;
            for row in range.rev().take(query.max) {
                let seq = row?.0.value().2;
                let value = events.get((query.namespace, seq))?;
                found.extend(value.map(|value| event(seq, value.value())));
            }
        }
    }
    Ok(found)
}

/// The number from which on events of a namespace are not before `at_ms`: found by halving, as times do not go back.
pub(super) fn first_at(
    events: &impl ReadableTable<(&'static str, u64), (u64, &'static str, &'static [u8])>,
    namespace: &str,
    at_ms: u64,
) -> Result<u64, StorageError> {
    let (mut low, mut high) = (0, u64::MAX);
    while low < high {
        let middle = low + (high - low) / 2;
        // The first event from there on speaks for all the numbers that no event of the namespace has.
        match events.range((namespace, middle)..(namespace, high))?.next() {
            Some(row) => {
                let (key, value) = row?;
                match value.value().0 < at_ms {
                    true => low = key.value().1 + 1,
                    false => high = middle,
                }
            }
            None => high = middle,
        }
    }
    Ok(low)
}

fn event(seq: u64, (at_ms, subject, json): (u64, &str, &[u8])) -> AuditEvent {
    AuditEvent { seq, at_ms, subject: subject.to_owned(), json: json.to_vec() }
}
