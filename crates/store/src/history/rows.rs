//! Walking the rows of a usage table.

use super::key::{Space, entity_prefix};
use super::tables::UsageValue;
use redb::{ReadableTable, StorageError};
use std::ops::ControlFlow;

/// One row of usage.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'a> {
    /// In minutes since the epoch.
    pub start: u32,
    /// As in the key.
    pub bucket: &'a [u8],
    pub value: UsageValue,
}

/// The rows of a namespace in some time, perhaps of one entity only.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub space: Space,
    /// Starts in minutes; the last is not part of it.
    pub from: u32,
    pub to: u32,
    /// What its buckets begin with. Empty is everybody.
    entity: Vec<u8>,
}

impl Span {
    pub fn new(space: Space, from: u32, to: u32, entity: Option<&[u8]>) -> Span {
        Span { space, from, to, entity: entity.map(entity_prefix).unwrap_or_default() }
    }

    /// Hands each row to `visit`, in order, until that breaks.
    pub fn walk(
        &self,
        table: &impl ReadableTable<&'static [u8], UsageValue>,
        mut visit: impl FnMut(&Row<'_>) -> ControlFlow<()>,
    ) -> Result<(), StorageError> {
        let mut at = self.from;
        while let Some(next) = self.walk_from(at, table, &mut visit)? {
            at = next;
        }
        Ok(())
    }

    /// As [`walk`](Span::walk), from one start on, until there is a better place to go on from: of one entity, a few
    /// rows of each window are wanted, and those of the others are skipped in one step.
    fn walk_from(
        &self,
        at: u32,
        table: &impl ReadableTable<&'static [u8], UsageValue>,
        visit: &mut impl FnMut(&Row<'_>) -> ControlFlow<()>,
    ) -> Result<Option<u32>, StorageError> {
        if at >= self.to {
            return Ok(None);
        }
        let (first, last) = (self.space.key(at, &self.entity), self.space.at(self.to));
        for row in table.range(&first[..]..&last[..])? {
            let (key, value) = row?;
            let Some((start, bucket)) = self.space.split(key.value()) else { continue };
            if !bucket.starts_with(&self.entity) {
                return Ok(if bucket > &self.entity[..] { start.checked_add(1) } else { Some(start) });
            }
            if visit(&Row { start, bucket, value: value.value() }).is_break() {
                return Ok(None);
            }
        }
        Ok(None)
    }
}

/// The first namespace of a table behind `after`.
pub(super) fn next_space(
    table: &impl ReadableTable<&'static [u8], UsageValue>,
    after: Option<&Space>,
) -> Result<Option<Space>, StorageError> {
    let from = after.map(Space::end).unwrap_or_default();
    match table.range(&from[..]..)?.next() {
        Some(row) => Ok(Space::of(row?.0.value())),
        None => Ok(None),
    }
}
