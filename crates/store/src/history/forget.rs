//! Forgetting what is old, some rows at a time.

use super::audit::first_at;
use super::key::Space;
use super::roll_up::Rolled;
use super::rows::next_space;
use super::tables::{AUDIT, AUDIT_SUBJECTS, DAYS, HOURS, MINUTES, MONTHS, ROLLED, UsageTable};
use crate::database::next_string;
use redb::{Error, ReadableTable, WriteTransaction};
use tidegate_core::ledger::Window;

const MINUTE_MS: u64 = 60_000;

/// How long things are kept, from the end of a window or the time of an event on. None is for ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Usage by the minute.
    pub minute_ms: Option<u64>,
    /// Usage by the hour.
    pub hour_ms: Option<u64>,
    /// Usage by the day.
    pub day_ms: Option<u64>,
    /// Usage by the month.
    pub month_ms: Option<u64>,
    /// Audit.
    pub audit_ms: Option<u64>,
}

/// Removes what is past its time, at most `budget` rows, and says how many.
pub(super) fn forget(
    transaction: &WriteTransaction,
    retention: &Retention,
    now_ms: u64,
    budget: usize,
) -> Result<usize, Error> {
    let tables = [
        (MINUTES, Window::Minute, retention.minute_ms),
        (HOURS, Window::Hour, retention.hour_ms),
        (DAYS, Window::Day, retention.day_ms),
        (MONTHS, Window::Month, retention.month_ms),
    ];
    let mut removed = 0;
    for (table, window, kept_ms) in tables {
        if let Some(kept_ms) = kept_ms {
            // Windows that begin before the one in which this time lies have ended before it.
            let oldest_ms = window.start_ms(now_ms.saturating_sub(kept_ms));
            let oldest = u32::try_from(oldest_ms / MINUTE_MS).unwrap_or(u32::MAX);
            removed += forget_usage(transaction, table, window, oldest, budget - removed)?;
        }
    }
    if let Some(kept_ms) = retention.audit_ms {
        removed += forget_audit(transaction, now_ms.saturating_sub(kept_ms), budget - removed)?;
    }
    Ok(removed)
}

fn forget_usage(
    transaction: &WriteTransaction,
    table: UsageTable,
    window: Window,
    oldest: u32,
    budget: usize,
) -> Result<usize, Error> {
    let rolled = transaction.open_table(ROLLED)?;
    let mut table = transaction.open_table(table)?;
    let (mut removed, mut last) = (0, None::<Space>);
    while let Some(space) = next_space(&table, last.as_ref())? {
        let until = match window {
            // What is not in the sums is still needed.
            Window::Minute => oldest.min(Rolled::read(&rolled, &space.name)?.minute),
            _ => oldest,
        };
        let (first, last_key) = (space.at(0), space.at(until));
        for row in table.extract_from_if(&first[..]..&last_key[..], |_, _| true)?.take(budget - removed) {
            row?;
            removed += 1;
        }
        last = Some(space);
    }
    Ok(removed)
}

fn forget_audit(transaction: &WriteTransaction, oldest_ms: u64, budget: usize) -> Result<usize, Error> {
    let mut events = transaction.open_table(AUDIT)?;
    let mut subjects = transaction.open_table(AUDIT_SUBJECTS)?;
    let (mut removed, mut from) = (0, String::new());
    loop {
        let Some(first) = events.range((&from[..], 0)..)?.next() else { break };
        let namespace = first?.0.value().0.to_owned();
        let until = first_at(&events, &namespace, oldest_ms)?;
        let range = (&namespace[..], 0)..(&namespace[..], until);
        for row in events.extract_from_if(range, |_, _| true)?.take(budget - removed) {
            let (key, value) = row?;
            subjects.remove((&namespace[..], value.value().1, key.value().1))?;
            removed += 1;
        }
        from = next_string(&namespace);
    }
    Ok(removed)
}

/// Removes all rows of a namespace, at most `budget`, and says how many.
pub(super) fn forget_namespace(
    transaction: &WriteTransaction,
    namespace: &str,
    budget: usize,
) -> Result<usize, Error> {
    let space = Space::new(namespace);
    let (first, last) = (space.at(0), space.end());
    let mut removed = 0;
    for table in [MINUTES, HOURS, DAYS, MONTHS] {
        let mut table = transaction.open_table(table)?;
        for row in table.extract_from_if(&first[..]..&last[..], |_, _| true)?.take(budget - removed) {
            row?;
            removed += 1;
        }
    }
    let mut events = transaction.open_table(AUDIT)?;
    let mut subjects = transaction.open_table(AUDIT_SUBJECTS)?;
    let range = (namespace, 0)..(namespace, u64::MAX);
    for row in events.extract_from_if(range, |_, _| true)?.take(budget - removed) {
        let (key, value) = row?;
        subjects.remove((namespace, value.value().1, key.value().1))?;
        removed += 1;
    }
    if removed < budget {
        transaction.open_table(ROLLED)?.remove(namespace)?;
    }
    Ok(removed)
}
