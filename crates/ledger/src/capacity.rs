//! What a resource could give in all, over all entities.

use std::collections::BTreeMap;
use std::sync::Arc;

use tidegate_core::Nanos;
use tidegate_core::ledger::Slot;

use crate::holder::Holder;
use crate::ledger::Ledger;
use crate::shard::SHARDS;
use crate::space::{Space, SpaceId};
use crate::status::Kind;
use crate::words::Word;

/// Holders looked at under one lock.
const SEGMENT: u32 = 256;

/// One limit of a resource, summed up over entities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Which limit.
    pub limit: Arc<str>,
    /// What it bounds.
    pub kind: Kind,
    /// What all could hold.
    pub capacity: u128,
    /// What is left; debt counts against it.
    pub available: i128,
    /// How many have it.
    pub entities: u64,
}

impl Ledger {
    /// What a resource could give over all entities that have a record or have used it lately. Looks at all of them, some
    /// at a time.
    pub fn capacity(&self, space: SpaceId, resource: &str, now: Nanos) -> Vec<Capacity> {
        let Ok(word) = self.words.intern(resource) else { return Vec::new() };
        let (space, name) = (self.at(space), self.words.name(word));
        let mut sums = BTreeMap::new();
        for shard in 0..SHARDS {
            let (mut at, mut end) = (0, 1);
            while at < end {
                let mut shard = self.shards.lock(shard);
                end = shard.holders.end();
                for at in at..end.min(at + SEGMENT) {
                    if let Some(holder) = shard.holders.get_mut(at).filter(|holder| holder.space == space.id)
                    {
                        self.sum(space, holder, (word, &name), now, &mut sums);
                    }
                }
                at += SEGMENT;
            }
        }
        sums.into_values().collect()
    }

    fn sum(
        &self,
        space: &Space,
        holder: &mut Holder,
        resource: (Word, &Arc<str>),
        now: Nanos,
        sums: &mut BTreeMap<(Arc<str>, bool), Capacity>,
    ) {
        let is_it = |account: &crate::account::Account| {
            account.resolved.resource == resource.0 && account.resolved.call == Word::NONE
        };
        let found = holder.position(is_it);
        if found.is_none() && !holder.has_record() {
            return;
        }
        if let Some(account) = found {
            self.refresh(space, holder, account, now);
        }
        let resolved = space.resolve(resource, holder.own(resource.0, self.default_word), &self.defaults);
        for (at, term) in resolved.terms.iter().enumerate() {
            let kind = if term.is_cap() { Kind::Concurrency } else { Kind::Rate };
            let sum = sums.entry((Arc::clone(&term.name), term.is_cap())).or_insert_with(|| Capacity {
                limit: Arc::clone(&term.name),
                kind,
                capacity: 0,
                available: 0,
                entities: 0,
            });
            let available = match found {
                Some(account) => holder.account(account).available(at, now).0,
                None => Slot::new(&term.bound, now).available(&term.bound, now),
            };
            sum.capacity += u128::from(term.bound.capacity());
            sum.available += i128::from(available);
            sum.entities += 1;
        }
    }
}
