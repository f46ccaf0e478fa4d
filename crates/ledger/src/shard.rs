//! Entities whose hashes begin alike, behind one lock.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashTable;
use tidegate_core::Nanos;

use crate::account::Account;
use crate::holder::{Holder, Known};
use crate::id::Id;
use crate::minutes::Row;
use crate::slab::{Bits, Slab};
use crate::space::SpaceId;

/// Shards. At a million entities one holds 4,000, and grows its table in some 40 us.
pub(crate) const SHARDS: usize = 256;

/// Who is looked for: the entity and its hash.
#[derive(Clone, Copy)]
pub(crate) struct Who<'a> {
    pub(crate) space: SpaceId,
    pub(crate) entity: &'a [u8],
    pub(crate) hash: u64,
}

impl Who<'_> {
    #[inline]
    pub(crate) fn shard(&self) -> usize {
        (self.hash >> 56) as usize
    }
}

/// The entities of one shard.
#[derive(Default)]
pub(crate) struct Shard {
    table: HashTable<u32>,
    pub(crate) holders: Slab<Holder>,
    pub(crate) accounts: usize,
    /// Holders with accounts that differ from what was last written down.
    pub(crate) changed: Bits,
    /// Holders with accounts that have counted in a minute.
    pub(crate) counting: Bits,
    /// Holders with accounts that hold something of a table, or owe it.
    pub(crate) held: Bits,
    /// Holders with accounts that were loaded from a table.
    pub(crate) loaded: Bits,
    /// Holders with buckets that somebody waits at.
    pub(crate) watched: BTreeSet<u32>,
    /// Minutes that have passed, to be kept.
    pub(crate) closed: Vec<Row>,
    /// No account counts in a minute before this one.
    pub(crate) closed_before: u32,
    /// Entities whose buckets have gone, to be written down.
    pub(crate) gone: Vec<(SpaceId, Id)>,
    /// Operations that were done under an idempotency key, and when.
    pub(crate) done: BTreeMap<Box<[u8]>, Nanos>,
    /// Those of them that have not been written down.
    pub(crate) done_lately: Vec<(Box<[u8]>, Nanos)>,
}

/// The table sees 32 bits of the hash, spread over the 64 that it looks at.
#[inline]
fn spread(tag: u32) -> u64 {
    u64::from(tag).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Shard {
    #[inline]
    pub(crate) fn find(&self, who: &Who<'_>) -> Option<u32> {
        let Shard { table, holders, .. } = self;
        let tag = who.hash as u32;
        let is = |at: &u32| {
            let holder = holders.get(*at).expect("the table names holders that are there");
            holder.tag == tag && holder.space == who.space && *holder.id == *who.entity
        };
        table.find(spread(tag), is).copied()
    }

    #[inline]
    pub(crate) fn holder(&mut self, at: u32) -> &mut Holder {
        self.holders.get_mut(at).expect("a holder stays where it is under its lock")
    }

    /// The holder, made if need be.
    pub(crate) fn holder_of(&mut self, who: &Who<'_>) -> u32 {
        self.find(who).unwrap_or_else(|| self.insert(who, Id::new(who.entity)))
    }

    /// A new holder under a shared name.
    pub(crate) fn insert(&mut self, who: &Who<'_>, id: Id) -> u32 {
        let tag = who.hash as u32;
        let at = self.holders.insert(Holder { tag, space: who.space, id, known: None, accounts: None });
        let holders = &self.holders;
        self.table
            .insert_unique(spread(tag), at, |at| spread(holders.get(*at).map_or(0, |holder| holder.tag)));
        at
    }

    pub(crate) fn known(&mut self, at: u32) -> &mut Known {
        self.holder(at).known.get_or_insert_default()
    }

    pub(crate) fn add_account(&mut self, at: u32, account: Account) -> usize {
        self.accounts += 1;
        self.holder(at).add_account(account)
    }

    /// Drops the holder if it says nothing.
    pub(crate) fn drop_if_nothing(&mut self, at: u32) -> bool {
        let Some(holder) = self.holders.get_mut(at) else { return false };
        if !holder.is_nothing() {
            return false;
        }
        let tag = holder.tag;
        if let Ok(entry) = self.table.find_entry(spread(tag), |other| *other == at) {
            entry.remove();
        }
        self.changed.unset(at);
        self.counting.unset(at);
        self.held.unset(at);
        self.loaded.unset(at);
        self.watched.remove(&at);
        self.holders.remove(at);
        true
    }
}
