//! What a resource could give in all, over all entities.

use std::collections::BTreeMap;
use std::sync::Arc;

use tidegate_core::Nanos;
use tidegate_core::ledger::Slot;

use crate::holder::Holder;
use crate::ledger::Ledger;
use crate::resolved::Numbered;
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

/// What a resource could give, as it is added up.
#[derive(Clone, Debug, Default)]
pub struct Capacities(BTreeMap<(Arc<str>, bool), Capacity>);

impl Capacities {
    fn add(&mut self, term: &Numbered, available: i64) {
        let kind = if term.is_cap() { Kind::Concurrency } else { Kind::Rate };
        let sum = self.0.entry((Arc::clone(&term.name), term.is_cap())).or_insert_with(|| Capacity {
            limit: Arc::clone(&term.name),
            kind,
            capacity: 0,
            available: 0,
            entities: 0,
        });
        sum.capacity += u128::from(term.bound.capacity());
        sum.available += i128::from(available);
        sum.entities += 1;
    }

    /// The sums, by the names of their limits.
    pub fn into_vec(self) -> Vec<Capacity> {
        self.0.into_values().collect()
    }
}

impl Ledger {
    /// Adds what an entity could give, whose buckets are elsewhere. `stands` tells how many tokens of a rate are left, or
    /// how many slots of a cap are out; nothing if none was ever taken.
    pub fn add_capacity(
        &self,
        (space, entity, resource): (SpaceId, &[u8], &str),
        stands: impl Fn(&str, Kind) -> Option<i64>,
        sums: &mut Capacities,
    ) {
        let Ok(word) = self.words.intern(resource) else { return };
        let looked = self.look(self.at(space), entity, (word, &self.words.name(word)));
        for term in looked.resolved.terms.iter() {
            let full = i64::try_from(term.bound.capacity()).unwrap_or(i64::MAX);
            let available = match term.is_cap() {
                true => full.saturating_sub(stands(&term.name, Kind::Concurrency).unwrap_or(0)),
                false => stands(&term.name, Kind::Rate).map_or(full, |left| left.min(full)),
            };
            sums.add(term, available);
        }
    }

    /// What a resource could give over all entities that have a record or have taken from it lately. Looks at all of them, some
    /// at a time.
    pub fn capacity(&self, space: SpaceId, resource: &str, now: Nanos) -> Vec<Capacity> {
        let Ok(word) = self.words.intern(resource) else { return Vec::new() };
        let (space, name) = (self.at(space), self.words.name(word));
        let mut sums = Capacities::default();
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
        sums.into_vec()
    }

    fn sum(
        &self,
        space: &Space,
        holder: &mut Holder,
        resource: (Word, &Arc<str>),
        now: Nanos,
        sums: &mut Capacities,
    ) {
        let is_it = |account: &crate::account::Account| {
            account.resolved.resource == resource.0 && account.resolved.call == Word::NONE
        };
        let found = holder.position(is_it);
        let is_taken = found.is_some_and(|account| holder.account(account).is_taken());
        if !is_taken && !holder.has_record() {
            return;
        }
        if let Some(account) = found {
            self.refresh(space, holder, account, now);
        }
        let resolved = space.resolve(resource, holder.own(resource.0, self.default_word), &self.defaults);
        for (at, term) in resolved.terms.iter().enumerate() {
            let available = match found {
                Some(account) => holder.account(account).available(at, now).0,
                None => Slot::new(&term.bound, now).available(&term.bound, now),
            };
            sums.add(term, available);
        }
    }
}
