//! Minutes to add, and questions about them.

use tidegate_core::ledger::Window;
use tidegate_store::History;
use tidegate_store::disk::simulated::SimDisk;
use tidegate_store::history::{Minute, Retention, Usage, UsageQuery};

pub const MINUTE_MS: u64 = 60_000;
/// 2024-02-29 23:00, an hour before the end of a month, in minutes.
pub const FEBRUARY: u32 = 28_487_460;

pub fn open(disk: &SimDisk) -> History {
    let (history, lines) = History::open(disk).unwrap();
    assert_eq!(lines, Vec::<String>::new());
    history
}

pub fn minute<'a>(entity: &'a str, limit: &'a str, minute: u32, amount: i64) -> Minute<'a> {
    let entity = entity.as_bytes();
    Minute { namespace: "default", entity, resource: "gpt-4", limit, minute, amount, events: 1 }
}

pub fn everything(window: Window) -> UsageQuery<'static> {
    UsageQuery {
        namespace: "default",
        entity: None,
        resource: None,
        limit: None,
        window,
        from_ms: 0,
        to_ms: u64::MAX,
        max_rows: 1_000_000,
    }
}

/// Rows as text: start in minutes since `FEBRUARY`, entity, limit, amount, events.
pub fn told(usage: &Usage) -> Vec<String> {
    let row = |row: &tidegate_store::history::UsageRow| {
        let start = (row.start_ms / MINUTE_MS) as i64 - i64::from(FEBRUARY);
        let entity = String::from_utf8_lossy(&row.entity);
        format!("{start} {entity} {} {} {}", row.limit, row.amount, row.events)
    };
    usage.rows.iter().map(row).collect()
}

/// Sums up all that can be, and forgets nothing.
pub fn roll_up(history: &History, now: u32, budget_rows: usize) {
    while history.forget(&Retention::default(), u64::from(now) * MINUTE_MS, budget_rows).unwrap() {}
}
