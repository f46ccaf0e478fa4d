//! What was used, minute by minute, until somebody keeps it.
//!
//! A minute is handed over once it has passed, and is not counted in again: an event that is late by a clock's
//! hair counts in the minute after. So whoever keeps minutes may ignore one that it has.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::MutexGuard;
use tidegate_core::{NANOS_PER_S, Nanos};

use crate::account::Account;
use crate::id::Id;
use crate::ledger::Ledger;
use crate::shard::{SHARDS, Shard};
use crate::space::SpaceId;
use crate::words::Word;

/// What a bucket was used in a minute.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClosedMinute {
    /// The namespace.
    pub space: Arc<str>,
    /// Who.
    pub entity: Arc<[u8]>,
    /// For what.
    pub resource: Arc<str>,
    /// Which limit.
    pub limit: Arc<str>,
    /// Minutes since the epoch.
    pub minute: u32,
    /// What was taken, less what was given back.
    pub amount: i64,
    /// How often something was granted.
    pub events: u32,
}

/// Which minutes are wanted.
#[derive(Clone, Copy, Debug, Default)]
pub struct MinuteFilter<'a> {
    /// Of this entity.
    pub entity: Option<&'a [u8]>,
    /// On this resource.
    pub resource: Option<&'a str>,
    /// Of this limit.
    pub limit: Option<&'a str>,
}

/// The same inside a shard.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Row {
    pub(crate) space: SpaceId,
    pub(crate) id: Id,
    pub(crate) resource: Word,
    pub(crate) limit: Word,
    pub(crate) minute: u32,
    pub(crate) used: i64,
    pub(crate) events: u32,
}

/// The most minutes that a shard keeps for whoever does not come for them. Past it, a bucket counts on in the minute it
/// has: nothing is lost, and late is better than unbounded.
const MAX_ROWS: usize = 1 << 16;

/// Holders looked at under one lock.
const SEGMENT: usize = 64;

/// Rows that a segment may bring, and has room for beforehand: no memory is asked for under a lock. The allocator may go
/// through all that was freed before, which at the end of a large minute takes it milliseconds.
const MOST_AT_ONCE: usize = 4 * SEGMENT;
const ROOM: usize = 2 * MOST_AT_ONCE;

/// Has an account count in this minute; what it counted in another one is handed over.
#[inline]
pub(crate) fn open(account: &mut Account, owner: (SpaceId, &Id), minute: u32, closed: &mut Vec<Row>) {
    if !account.is_counting() {
        account.minute = minute;
        account.set_counting(true);
    } else if account.minute < minute && closed.len() < MAX_ROWS {
        close(account, owner, closed);
        account.minute = minute;
        account.set_counting(true);
    }
}

/// Hands over what an account has counted.
pub(crate) fn close(account: &mut Account, (space, id): (SpaceId, &Id), closed: &mut Vec<Row>) {
    rows(account, (space, id), closed);
    account.each(|_, _, slot| (slot.used, slot.events) = (0, 0));
    account.set_counting(false);
}

fn rows(account: &mut Account, (space, id): (SpaceId, &Id), out: &mut Vec<Row>) {
    let (resource, minute) = (account.resolved.resource, account.minute);
    account.each(|limit, _, slot| {
        if slot.has_counts() {
            let (used, events) = (slot.used, slot.events);
            out.push(Row { space, id: id.clone(), resource, limit, minute, used, events });
        }
    });
}

impl Ledger {
    /// The minute that something at `now` counts in.
    #[inline]
    pub(crate) fn minute(&self, now: Nanos) -> u32 {
        minute_of(now).max(self.counted_from.load(Ordering::Relaxed))
    }

    /// Hands over all minutes that have passed. Those of one bucket are in order, and each comes once.
    pub fn drain_minutes(&self, now: Nanos, out: &mut Vec<ClosedMinute>) {
        self.drain_some_minutes(now, usize::MAX, out);
    }

    /// The same, until there are at least so many: a shard's are never parted. True if there may be more.
    pub fn drain_some_minutes(&self, now: Nanos, enough: usize, out: &mut Vec<ClosedMinute>) -> bool {
        let minute = minute_of(now);
        self.counted_from.fetch_max(minute, Ordering::Relaxed);
        for shard in 0..SHARDS {
            if out.len() >= enough {
                return true;
            }
            self.tell(merged(self.close_shard(shard, minute)), out);
        }
        false
    }

    /// Hands over the minute that is open, too: nothing is counted any more.
    pub fn drain_all_minutes(&self, now: Nanos, out: &mut Vec<ClosedMinute>) {
        let after = minute_of(now).saturating_add(1);
        self.counted_from.fetch_max(after, Ordering::Relaxed);
        for shard in 0..SHARDS {
            self.tell(merged(self.close_shard(shard, after)), out);
        }
    }

    /// Closes the minutes of a shard before this one. That is done once in a minute: whoever counts later reads
    /// `counted_from` under the shard's lock, and opens no minute that has passed.
    fn close_shard(&self, shard: usize, minute: u32) -> Vec<Row> {
        let mut rows = Vec::new();
        {
            let mut shard = self.shards.lock(shard);
            std::mem::swap(&mut rows, &mut shard.closed);
            if shard.closed_before >= minute {
                return rows;
            }
        }
        let (mut from, mut some) = (Some(0), Vec::with_capacity(ROOM));
        while let Some(at) = from {
            let mut shard = self.shards.lock(shard);
            from = close_segment(&mut shard, at, minute, &mut some);
            // To whoever waits for it: this thread would have it again before the other one is awake.
            MutexGuard::unlock_fair(shard);
            rows.append(&mut some);
        }
        rows
    }

    /// What is not handed over yet, the open minute included.
    pub fn open_minutes(&self, space: SpaceId, filter: &MinuteFilter<'_>) -> Vec<ClosedMinute> {
        let mut all = Vec::new();
        let shards = match filter.entity {
            Some(entity) => {
                let shard = self.who(space, entity).shard();
                shard..shard + 1
            }
            None => 0..SHARDS,
        };
        for shard in shards {
            let (mut found, mut some) = (Vec::new(), Vec::with_capacity(ROOM));
            let mut from = Some(0);
            while let Some(at) = from {
                let mut shard = self.shards.lock(shard);
                if at == 0 {
                    found.extend(shard.closed.iter().filter(|row| row.space == space).cloned());
                }
                from = look_at_segment(&mut shard, at, space, &mut some);
                MutexGuard::unlock_fair(shard);
                found.append(&mut some);
            }
            self.tell(merged(found), &mut all);
        }
        all.retain(|row| {
            filter.entity.is_none_or(|entity| *row.entity == *entity)
                && filter.resource.is_none_or(|resource| *row.resource == *resource)
                && filter.limit.is_none_or(|limit| *row.limit == *limit)
        });
        all.sort_unstable();
        all
    }

    /// Rows as others know them. Neighbours of one entity share its name.
    fn tell(&self, rows: Vec<Row>, out: &mut Vec<ClosedMinute>) {
        for row in rows {
            let entity = match out.last() {
                Some(last) if *last.entity == *row.id => Arc::clone(&last.entity),
                _ => Arc::from(&*row.id),
            };
            out.push(ClosedMinute {
                space: self.space_name(row.space),
                entity,
                resource: self.words.name(row.resource),
                limit: self.words.name(row.limit),
                minute: row.minute,
                amount: row.used,
                events: row.events,
            });
        }
    }
}

/// Minutes since the epoch.
pub(crate) fn minute_of(now: Nanos) -> u32 {
    u32::try_from(now / (60 * NANOS_PER_S)).unwrap_or(u32::MAX)
}

/// Closes some minutes of a shard before this one. Tells where to go on.
fn close_segment(shard: &mut Shard, from: u32, minute: u32, rows: &mut Vec<Row>) -> Option<u32> {
    let Shard { holders, counting, closed_before, .. } = shard;
    let mut next = counting.next(from);
    for _ in 0..SEGMENT {
        let Some(at) = next.filter(|_| rows.len() < MOST_AT_ONCE) else { break };
        let mut open = false;
        if let Some(holder) = holders.get_mut(at) {
            let (space, id) = (holder.space, holder.id.clone());
            holder.each_account_mut(|account| match account.is_counting() {
                true if account.minute < minute => close(account, (space, &id), rows),
                counting => open |= counting,
            });
        }
        if !open {
            counting.unset(at);
        }
        next = counting.next(at + 1);
    }
    if next.is_none() {
        *closed_before = minute;
    }
    next
}

fn look_at_segment(shard: &mut Shard, from: u32, space: SpaceId, found: &mut Vec<Row>) -> Option<u32> {
    let Shard { holders, counting, .. } = shard;
    let mut next = counting.next(from);
    for _ in 0..SEGMENT {
        let Some(at) = next.filter(|_| found.len() < MOST_AT_ONCE) else { break };
        if let Some(holder) = holders.get_mut(at).filter(|holder| holder.space == space) {
            let id = holder.id.clone();
            holder.each_account_mut(|account| {
                if account.is_counting() {
                    rows(account, (space, &id), found);
                }
            });
        }
        next = counting.next(at + 1);
    }
    next
}

/// In order, and one row for each bucket and minute: limits of calls with the same name are one.
fn merged(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort_unstable();
    rows.dedup_by(|row, kept| {
        let same = (row.space, row.resource, row.limit, row.minute)
            == (kept.space, kept.resource, kept.limit, kept.minute)
            && row.id == kept.id;
        if same {
            kept.used = kept.used.saturating_add(row.used);
            kept.events = kept.events.saturating_add(row.events);
        }
        same
    });
    rows
}
