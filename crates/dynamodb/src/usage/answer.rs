//! Rows and totals of a query.

use std::collections::BTreeMap;

use tidegate_store::history::{Usage, UsageQuery, UsageRow, UsageTotal};

use super::record::{self, Sum};
use crate::layout::attribute::Item;

/// An answer as it grows.
#[derive(Debug)]
pub(super) struct Answer<'a> {
    query: &'a UsageQuery<'a>,
    from_ms: u64,
    rows: BTreeMap<(u64, Vec<u8>, String, String), Sum>,
    totals: BTreeMap<(String, String), Sum>,
    is_cut: bool,
}

impl<'a> Answer<'a> {
    pub(super) fn new(query: &'a UsageQuery<'a>) -> Answer<'a> {
        Answer {
            query,
            from_ms: query.window.start_ms(query.from_ms),
            rows: BTreeMap::new(),
            totals: BTreeMap::new(),
            is_cut: false,
        }
    }

    /// Adds what an item says, if it was asked for.
    pub(super) fn add(&mut self, item: &Item) {
        let query = self.query;
        let Some((entity, resource, sums)) = record::read(item, query.window) else { return };
        let wanted = query.entity.is_none_or(|wanted| wanted == entity)
            && query.resource.is_none_or(|wanted| wanted == resource);
        for (start_ms, limit, sum) in sums {
            let in_time = (self.from_ms..query.to_ms).contains(&start_ms);
            if wanted && in_time && query.limit.is_none_or(|wanted| wanted == limit) {
                add(self.totals.entry((resource.clone(), limit.clone())).or_default(), sum);
                add(self.rows.entry((start_ms, entity.clone(), resource.clone(), limit)).or_default(), sum);
            }
        }
        // Rows come in no order, so one more than is told is kept in mind for each that may come before it.
        while self.rows.len() > query.max_rows {
            self.rows.pop_last();
            self.is_cut = true;
        }
    }

    /// Not all there is was looked at.
    pub(super) fn cut(&mut self) {
        self.is_cut = true;
    }

    pub(super) fn into_usage(self) -> Usage {
        let row = |((start_ms, entity, resource, limit), (amount, events))| UsageRow {
            entity,
            resource,
            limit,
            start_ms,
            amount,
            events,
        };
        let total = |((resource, limit), (amount, events))| UsageTotal { resource, limit, amount, events };
        Usage {
            rows: self.rows.into_iter().map(row).collect(),
            totals: self.totals.into_iter().map(total).collect(),
            is_whole: !self.is_cut,
        }
    }
}

fn add(sum: &mut Sum, more: Sum) {
    *sum = (sum.0.saturating_add(more.0), sum.1.saturating_add(more.1));
}
