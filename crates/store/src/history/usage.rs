//! Asking what was used.

use super::key::{Bucket, Space};
use super::roll_up::{Rolled, start_minute};
use super::rows::{Row, Span};
use super::tables::{DAYS, HOURS, MINUTES, MONTHS, ROLLED, UsageValue};
use redb::{Error, ReadTransaction};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use tidegate_core::ledger::Window;

/// Rows that one query looks at, at the most.
const MAX_LOOKED_AT: usize = 1_000_000;
const MINUTE_MS: u64 = 60_000;

/// Which usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsageQuery<'a> {
    /// Where.
    pub namespace: &'a str,
    /// By whom; None is everybody.
    pub entity: Option<&'a [u8]>,
    /// Of what; None is everything.
    pub resource: Option<&'a str>,
    /// By which limit; None is every one.
    pub limit: Option<&'a str>,
    /// In windows of which length.
    pub window: Window,
    /// From the window on that this lies in.
    pub from_ms: u64,
    /// Windows that begin before this.
    pub to_ms: u64,
    /// How many rows to tell, at the most.
    pub max_rows: usize,
}

/// What was used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// In order of time, then by entity, resource and limit.
    pub rows: Vec<UsageRow>,
    /// Over all windows and entities, also of rows beyond `max_rows`.
    pub totals: Vec<UsageTotal>,
    /// Whether all rows are told and all of them are in the totals. A query looks at a million rows at the most.
    pub is_whole: bool,
}

/// What was used of one bucket in one window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageRow {
    /// By whom.
    pub entity: Vec<u8>,
    /// Of what.
    pub resource: String,
    /// By which limit it is measured.
    pub limit: String,
    /// When the window begins.
    pub start_ms: u64,
    /// Net amount.
    pub amount: i64,
    /// Grants.
    pub events: u64,
}

/// What was used by all entities in all windows of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageTotal {
    /// Of what.
    pub resource: String,
    /// By which limit it is measured.
    pub limit: String,
    /// Net amount.
    pub amount: i64,
    /// Grants.
    pub events: u64,
}

/// Answers a query.
pub(super) fn usage(read: &ReadTransaction, query: &UsageQuery<'_>) -> Result<Usage, Error> {
    let from = minute_of(query.window.start_ms(query.from_ms));
    let to = minute_of(query.to_ms.saturating_add(MINUTE_MS - 1));
    let span = Span::new(Space::new(query.namespace), from, to, query.entity);
    let mut answer =
        Answer { query: *query, rows: BTreeMap::new(), totals: BTreeMap::new(), looked_at: 0, is_cut: false };
    let minutes = read.open_table(MINUTES)?;
    let sums = match query.window {
        Window::Minute => {
            span.walk(&minutes, |row| answer.take(row))?;
            return Ok(answer.into_usage());
        }
        Window::Hour => HOURS,
        Window::Day => DAYS,
        Window::Month => MONTHS,
    };
    span.walk(&read.open_table(sums)?, |row| answer.take(row))?;
    let rolled = Rolled::read(&read.open_table(ROLLED)?, query.namespace)?;
    // To the end of the last window that begins in time.
    let to = match span.to.checked_sub(1).filter(|_| span.to > span.from) {
        Some(last) => minute_of(query.window.next_ms(u64::from(last) * MINUTE_MS)),
        None => return Ok(answer.into_usage()),
    };
    let recent = Span::new(span.space, from.max(rolled.minute), to, query.entity);
    recent.walk(&minutes, |row| match rolled.has(row.start, row.bucket) {
        true => answer.look(),
        false => answer.take(&Row { start: start_minute(query.window, row.start), ..*row }),
    })?;
    Ok(answer.into_usage())
}

fn minute_of(ms: u64) -> u32 {
    u32::try_from(ms / MINUTE_MS).unwrap_or(u32::MAX)
}

/// Start in minutes, entity, resource, limit.
type RowKey = (u32, Vec<u8>, String, String);

/// An answer as it grows.
struct Answer<'a> {
    query: UsageQuery<'a>,
    rows: BTreeMap<RowKey, UsageValue>,
    /// By resource and limit.
    totals: BTreeMap<String, BTreeMap<String, UsageValue>>,
    looked_at: usize,
    is_cut: bool,
}

impl Answer<'_> {
    /// Counts a row that was looked at.
    fn look(&mut self) -> ControlFlow<()> {
        self.looked_at += 1;
        if self.looked_at <= MAX_LOOKED_AT {
            return ControlFlow::Continue(());
        }
        self.is_cut = true;
        ControlFlow::Break(())
    }

    fn take(&mut self, row: &Row<'_>) -> ControlFlow<()> {
        self.look()?;
        let is_wanted = |wanted: Option<&str>, name| wanted.is_none_or(|wanted| wanted == name);
        if let Some(bucket) = Bucket::of(row.bucket)
            && is_wanted(self.query.resource, bucket.resource)
            && is_wanted(self.query.limit, bucket.limit)
        {
            self.add_to_totals(bucket, row);
            self.add_to_rows(bucket, row);
        }
        ControlFlow::Continue(())
    }

    fn add_to_totals(&mut self, bucket: Bucket<'_>, row: &Row<'_>) {
        let of_resource = match self.totals.get_mut(bucket.resource) {
            Some(of_resource) => of_resource,
            None => self.totals.entry(bucket.resource.to_owned()).or_default(),
        };
        match of_resource.get_mut(bucket.limit) {
            Some(total) => add(total, row),
            None => add(of_resource.entry(bucket.limit.to_owned()).or_default(), row),
        }
    }

    fn add_to_rows(&mut self, bucket: Bucket<'_>, row: &Row<'_>) {
        let is_full = self.rows.len() >= self.query.max_rows;
        // Minutes come once each. Other windows are told of by the sums and by minutes that are not in them.
        if is_full && self.query.window == Window::Minute {
            self.is_cut = true;
            return;
        }
        let key = (row.start, bucket.entity.to_vec(), bucket.resource.to_owned(), bucket.limit.to_owned());
        match self.rows.get_mut(&key) {
            Some(value) => add(value, row),
            None if is_full => self.is_cut = true,
            None => add(self.rows.entry(key).or_default(), row),
        }
    }

    fn into_usage(self) -> Usage {
        let row = |((start, entity, resource, limit), (amount, events))| {
            let start_ms = u64::from(start) * MINUTE_MS;
            UsageRow { entity, resource, limit, start_ms, amount, events }
        };
        let mut totals = Vec::new();
        for (resource, of_resource) in self.totals {
            totals.extend(of_resource.into_iter().map(|(limit, (amount, events))| UsageTotal {
                resource: resource.clone(),
                limit,
                amount,
                events,
            }));
        }
        Usage { rows: self.rows.into_iter().map(row).collect(), totals, is_whole: !self.is_cut }
    }
}

fn add(value: &mut UsageValue, row: &Row<'_>) {
    value.0 = value.0.saturating_add(row.value.0);
    value.1 = value.1.saturating_add(row.value.1);
}
