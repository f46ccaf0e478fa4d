//! Records become state again, in the order in which they were written.

use std::sync::Arc;

use tidegate_core::Nanos;

use crate::account::{Account, Orphan};
use crate::grant::Item;
use crate::lease::LeaseId;
use crate::leases::Lease;
use crate::ledger::Ledger;
use crate::refill::operation_of;
use crate::resolved::{Resolved, number};
use crate::space::SpaceId;
use crate::words::Word;

use super::bytes::Reader;
use super::record::{self, AccountRecord};

impl Ledger {
    /// Takes a record for true. False if it is none.
    pub fn restore(&self, bytes: &[u8], now: Nanos) -> bool {
        let Some((kind, rest)) = bytes.split_first() else { return false };
        let mut from = Reader(rest);
        let restored = match *kind {
            // How full it is, the table knows.
            record::ACCOUNT if self.is_remote() => Some(()),
            record::ACCOUNT => {
                record::read_account(from, now).and_then(|record| self.restore_account(&record, now))
            }
            record::LEASE => record::read_lease(self, from).map(|lease| self.restore_lease(lease, now)),
            record::ENDED => from.number().map(|id| self.restore_end(LeaseId(id), now)),
            record::DONE => self.restore_operation(from),
            record::GONE => self.restore_gone(from),
            record::CLEARED => self.restore_cleared(from),
            _ => None,
        };
        restored.is_some()
    }

    fn restore_account(&self, record: &AccountRecord<'_>, now: Nanos) -> Option<()> {
        let space = self.at(self.space(record.space).ok()?);
        let (resource, call) =
            (self.words.intern(record.resource).ok()?, self.words.intern(record.call).ok()?);
        let mut orphans = record.orphans(self)?;
        let who = self.who(space.id, record.entity);
        let mut shard = self.shards.lock(who.shard());
        let holder = match shard.find(&who) {
            Some(at) => at,
            None => shard.holder_of(&who),
        };
        let is_it =
            |account: &Account| (account.resolved.resource, account.resolved.call) == (resource, call);
        // What is in flight stays: leases that came before have brought it.
        shard.accounts -= shard.holders.get_mut(holder)?.drop_accounts(|account| {
            let dropped = is_it(account);
            if dropped {
                keep_in_flight(account, &mut orphans);
            }
            dropped
        });
        let name = self.words.name(resource);
        let own = shard.holder(holder).own(resource, self.default_word);
        let mut resolved = space.resolve((resource, &name), own, &self.defaults);
        if call != Word::NONE {
            let terms = number(&self.words, &[record.call.parse().ok()?]).ok()?;
            resolved = space.resolve_call(&resolved, call, terms);
        }
        // Everything is on the side first, and is adopted by the terms that hold now.
        let mut account = self.account(Arc::new(Resolved::blank(resource, name, call)), now);
        orphans.into_iter().for_each(|orphan| account.put_orphan(orphan, now));
        if record.closed_until > now {
            account.close_until(record.closed_until);
        }
        let counts = record.slots.iter().any(|(_, _, slot)| slot.has_counts());
        account.minute = record.minute;
        account.set_counting(counts);
        account.set_taken();
        account.adopt(resolved, now);
        let at = shard.add_account(holder, account);
        if shard.holder(holder).account(at).is_changed() {
            shard.changed.set(holder);
            self.note_change();
        }
        if counts {
            shard.counting.set(holder);
            shard.closed_before = shard.closed_before.min(record.minute);
        }
        if shard.holder(holder).account(at).is_idle(now) {
            let dropped = shard.holder(holder).drop_accounts(|account| is_it(account));
            shard.accounts -= dropped;
            shard.drop_if_nothing(holder);
        }
        Some(())
    }

    fn restore_lease(&self, lease: Lease, now: Nanos) {
        self.restore_end(lease.id, now);
        self.leases.given(lease.id);
        self.shift_slots(lease.space, &lease.items, true, now);
        self.leases.restore(lease);
    }

    fn restore_end(&self, id: LeaseId, now: Nanos) {
        self.leases.given(id);
        let lease = self.leases.lock(id).remove_unwritten(id);
        if let Some(lease) = lease {
            self.shift_slots(lease.space, &lease.items, false, now);
        }
    }

    /// Takes the slots of a lease, or gives them back, and counts nothing.
    fn shift_slots(&self, space: SpaceId, items: &[Item], taken: bool, now: Nanos) {
        for item in items.iter().filter(|item| item.slots() > 0) {
            if taken {
                self.take_slots(space, item, i128::from(item.slots()), now);
                continue;
            }
            let who = self.who(space, &item.id);
            let mut shard = self.shards.lock(who.shard());
            if let Some(place) = self.reach_item(&mut shard, self.at(space), &who, item, now) {
                let account = shard.holder(place.holder).account(place.account);
                account.slot(item.limit, now).0.give_slots(item.slots());
            }
        }
    }

    fn restore_operation(&self, mut from: Reader<'_>) -> Option<()> {
        let operation = from.bytes()?;
        let at = from.number()?;
        let (space, entity) = operation_of(operation)?;
        let who = self.who(self.space(space).ok()?, entity);
        self.shards.lock(who.shard()).done.insert(operation.into(), at);
        Some(())
    }

    fn restore_gone(&self, mut from: Reader<'_>) -> Option<()> {
        let space = self.space(from.text()?).ok()?;
        let who = self.who(space, from.bytes()?);
        let mut shard = self.shards.lock(who.shard());
        if let Some(at) = shard.find(&who) {
            // What was counted is told again by the records that follow.
            crate::apply::keep_accounts(&mut shard, at, |account| {
                account.forget_counts();
                account.forget()
            });
            shard.drop_if_nothing(at);
        }
        Some(())
    }

    /// The namespace was cleared then; what is set in it now came later, and stays.
    fn restore_cleared(&self, mut from: Reader<'_>) -> Option<()> {
        let space = self.space(from.text()?).ok()?;
        self.drop_state(space);
        Some(())
    }
}

fn keep_in_flight(account: &mut Account, orphans: &mut Vec<Orphan>) {
    account.each(|limit, bound, slot| {
        if slot.in_flight == 0 {
            return;
        }
        match orphans.iter_mut().find(|orphan| orphan.limit == limit) {
            Some(orphan) => orphan.slot.in_flight = slot.in_flight,
            None => {
                let slot = tidegate_core::ledger::Slot { used: 0, events: 0, ..*slot };
                orphans.push(Orphan { limit, bound: *bound, slot });
            }
        }
    });
}
