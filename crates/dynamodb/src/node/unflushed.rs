//! Usage that is not in the table yet.

use tidegate_ledger::{ClosedMinute, MinuteFilter};

/// Usage that was taken out of the ledger, and is on its way. One flush at a time: while it fails, the ledger keeps the rest.
#[derive(Debug, Default)]
pub(crate) struct Unflushed {
    pub(crate) rows: Vec<ClosedMinute>,
    /// What makes the flush the same one when it is sent again.
    pub(crate) flush: String,
}

impl Unflushed {
    /// What there is of a namespace.
    pub(crate) fn find(&self, space: &str, filter: &MinuteFilter<'_>) -> Vec<ClosedMinute> {
        let fits = |row: &&ClosedMinute| {
            *row.space == *space
                && filter.entity.is_none_or(|entity| *row.entity == *entity)
                && filter.resource.is_none_or(|resource| *row.resource == *resource)
                && filter.limit.is_none_or(|limit| *row.limit == *limit)
        };
        self.rows.iter().filter(fits).cloned().collect()
    }
}
