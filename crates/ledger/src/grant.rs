//! What was taken, and how it is settled, kept or given back.
//!
//! Every end gives the slots back. Nothing here waits for two locks: what is given back to one bucket is true
//! whether or not another has its share yet.

use parking_lot::MutexGuard;
use smallvec::SmallVec;
use tidegate_core::Nanos;

use crate::account::Account;
use crate::asks::Ask;
use crate::holder::{Holder, nth};
use crate::id::Id;
use crate::ledger::Ledger;
use crate::minutes;
use crate::names::QueueCharge;
use crate::reach::{Made, Name, Place};
use crate::shard::{Shard, Who};
use crate::space::SpaceId;
use crate::take::status_of;
use crate::words::Word;

const CAP: u8 = 1;
const BYPASSED: u8 = 2;

/// What was taken of one bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) id: Id,
    pub(crate) resource: Word,
    /// The limit of a call, by its text; `Word::NONE` for what is stored.
    pub(crate) call: Word,
    pub(crate) limit: Word,
    /// How many charges named it: each is settled at the real cost.
    pub(crate) shares: u16,
    pub(crate) flags: u8,
    pub(crate) amount: u64,
}

pub(crate) type Items = SmallVec<[Item; 4]>;

impl Item {
    pub(crate) fn new(id: &Id, account: &Account, ask: &Ask) -> Item {
        let term = &account.resolved.terms[ask.slot];
        let flags = if term.is_cap() { CAP } else { 0 } | if ask.bypassed { BYPASSED } else { 0 };
        Item {
            id: id.clone(),
            resource: account.resolved.resource,
            call: account.resolved.call,
            limit: term.word,
            shares: ask.shares,
            flags,
            amount: ask.amount(),
        }
    }

    /// What a charge has taken of a limit of which nothing is known yet.
    pub(crate) fn unloaded(charge: &QueueCharge, amount: u64) -> Item {
        let bucket = &charge.bucket;
        Item {
            id: Id::new(&bucket.entity),
            resource: bucket.resource,
            call: Word::NONE,
            limit: bucket.limit,
            shares: 1,
            flags: 0,
            amount,
        }
    }

    pub(crate) fn is_cap(&self) -> bool {
        self.flags & CAP != 0
    }

    pub(crate) fn is_bypassed(&self) -> bool {
        self.flags & BYPASSED != 0
    }

    /// The slots that come back when it ends, however it ends.
    pub(crate) fn slots(&self) -> u32 {
        let held = self.is_cap() && !self.is_bypassed();
        if held { u32::try_from(self.amount).unwrap_or(u32::MAX) } else { 0 }
    }

    /// What settling at this cost per charge takes on top, or, below 0, gives back.
    pub(crate) fn difference(&self, cost: u64) -> i128 {
        let real = u128::from(cost) * u128::from(self.shares.max(1));
        i128::try_from(real).unwrap_or(i128::MAX) - i128::from(self.amount)
    }
}

/// What a delivered message has taken. It has to be settled, released, kept or leased, or its slots are lost.
#[must_use = "its slots come back when it is settled, released or kept"]
#[derive(Debug, PartialEq, Eq)]
pub struct Grant {
    pub(crate) space: SpaceId,
    pub(crate) items: Box<[Item]>,
}

impl Grant {
    /// Of nothing.
    pub fn empty() -> Grant {
        Grant { space: SpaceId(0), items: Box::default() }
    }

    /// Whether there is nothing to settle or to give back.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Whether it holds slots.
    pub fn holds_slots(&self) -> bool {
        self.items.iter().any(|item| item.slots() > 0)
    }
}

/// What one bucket is told.
#[derive(Clone, Copy, Default)]
pub(crate) struct Posting {
    /// Tokens on top; below 0, given back.
    pub(crate) tokens: i128,
    /// Slots that come back.
    pub(crate) slots: u32,
}

impl Ledger {
    /// Settles what a message has taken at its real cost per limit; what is unsaid stays as taken.
    pub fn settle_grant(&self, grant: Grant, costs: &[(&str, u64)], now: Nanos) {
        let costs = self.numbered(costs);
        self.post_items(grant.space, &grant.items, now, |item| settled(item, &costs));
    }

    /// Gives back all that a message has taken.
    pub fn release_grant(&self, grant: Grant, now: Nanos) {
        self.post_items(grant.space, &grant.items, now, released);
    }

    /// Gives back the slots, and keeps the tokens as taken.
    pub fn keep_grant(&self, grant: Grant, now: Nanos) {
        self.post_items(grant.space, &grant.items, now, kept);
    }

    /// The status of everything that was taken.
    pub fn grant_statuses(&self, grant: &Grant, now: Nanos) -> Vec<crate::status::Status> {
        let space = self.at(grant.space);
        let status = |item: &Item| {
            let who = self.who(grant.space, &item.id);
            let mut shard = self.shards.lock(who.shard());
            let place = self.reach_item(&mut shard, space, &who, item, now)?;
            let holder = shard.holder(place.holder);
            let slot = holder.account(place.account).resolved.position(item.limit)?;
            Some(status_of(holder, place, slot, item.amount, true, now))
        };
        grant.items.iter().filter_map(status).collect()
    }

    /// Costs by number. A name that nobody has ever used is in no grant.
    pub(crate) fn numbered<T: Copy>(&self, costs: &[(&str, T)]) -> SmallVec<[(Word, T); 4]> {
        costs.iter().filter_map(|(limit, amount)| Some((self.words.find(limit)?, *amount))).collect()
    }

    /// Tells each bucket its part.
    pub(crate) fn post_items(
        &self,
        space: SpaceId,
        items: &[Item],
        now: Nanos,
        posting: impl Fn(&Item) -> Posting,
    ) {
        let mut held: Option<(usize, MutexGuard<'_, Shard>)> = None;
        for item in items {
            let posting = posting(item);
            if posting.tokens == 0 && posting.slots == 0 {
                continue;
            }
            let who = self.who(space, &item.id);
            // One lock at a time: the last one goes before the next is waited for.
            let shard = match &mut held {
                Some((shard, guard)) if *shard == who.shard() => guard,
                _ => {
                    drop(held.take());
                    &mut held.insert((who.shard(), self.shards.lock(who.shard()))).1
                }
            };
            self.post_item(shard, &who, item, posting, now);
        }
        drop(held);
        self.freed.wake();
    }

    fn post_item(&self, shard: &mut Shard, who: &Who<'_>, item: &Item, posting: Posting, now: Nanos) {
        let Some(place) = self.reach_item(shard, self.at(who.space), who, item, now) else { return };
        let minute = self.minute(now);
        let Shard { holders, changed, counting, closed, held, .. } = shard;
        let Some(Holder { id, space, accounts, .. }) = holders.get_mut(place.holder) else { return };
        let account = nth(accounts, place.account);
        if posting.tokens != 0 && !item.is_cap() {
            minutes::open(account, (*space, id), minute, closed);
            counting.set(place.holder);
        }
        let slot = account.slot(item.limit, now).0;
        slot.give_slots(posting.slots);
        if !item.is_cap() {
            slot.count(posting.tokens, 0);
            if !item.is_bypassed() && posting.tokens != 0 {
                account.shift(item.limit, posting.tokens, now);
            }
        }
        if account.is_remote() {
            held.set(place.holder);
        } else if !account.is_changed() {
            account.set_changed(true);
            changed.set(place.holder);
        }
        if posting.tokens < 0 || posting.slots > 0 {
            self.post(shard, place.holder, place.account, Some(item.limit));
        }
        self.note_change();
    }

    /// The account that an item was taken from, made again if it was dropped in between.
    pub(crate) fn reach_item(
        &self,
        shard: &mut Shard,
        space: &crate::space::Space,
        who: &Who<'_>,
        item: &Item,
        now: Nanos,
    ) -> Option<Place> {
        let resource = Name::Word(item.resource);
        if item.call == Word::NONE {
            return self.reach(shard, space, who, resource, Made::Always, now).ok();
        }
        let holder = shard.find(who);
        let found = holder.and_then(|at| {
            let is = |account: &Account| {
                (account.resolved.resource, account.resolved.call) == (item.resource, item.call)
            };
            Some(Place { holder: at, account: shard.holder(at).position(is)? })
        });
        if let Some(place) = found {
            self.refresh(space, shard.holder(place.holder), place.account, now);
            return Some(place);
        }
        let stored = self.reach(shard, space, who, resource, Made::Always, now).ok()?;
        let term = self.words.name(item.call).parse().ok()?;
        self.reach_call(shard, space, stored, &term, now).ok()
    }
}

/// Settled at what is said.
pub(crate) fn settled(item: &Item, costs: &[(Word, u64)]) -> Posting {
    let cost = costs.iter().find(|(limit, _)| *limit == item.limit).filter(|_| !item.is_cap());
    Posting { tokens: cost.map_or(0, |(_, cost)| item.difference(*cost)), slots: item.slots() }
}

/// All comes back.
pub(crate) fn released(item: &Item) -> Posting {
    let tokens = if item.is_cap() { 0 } else { -i128::from(item.amount) };
    Posting { tokens, slots: item.slots() }
}

/// Only slots come back.
pub(crate) fn kept(item: &Item) -> Posting {
    Posting { tokens: 0, slots: item.slots() }
}
