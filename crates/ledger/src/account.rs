//! The buckets of one entity for one resource.
//!
//! They live under what holds for the entity; when that changes, each limit keeps its state under the new terms,
//! and what a vanished limit still owes or has in flight stays on the side until it owes nothing.

use std::sync::Arc;

use smallvec::SmallVec;
use tidegate_core::Nanos;
use tidegate_core::bucket::Ready;
use tidegate_core::ledger::purse::Pace;
use tidegate_core::ledger::{Bound, Slot};

use crate::remote::RemoteAccount;
use crate::resolved::{Resolved, Terms};
use crate::words::Word;

/// The terms on the entity itself have changed.
const STALE: u32 = 1;
/// It differs from what was last written down.
const CHANGED: u32 = 2;
/// Something was counted in its minute.
const COUNTING: u32 = 4;
/// Something was taken from it. What nobody has taken from is full, whatever becomes of its terms.
const TAKEN: u32 = 8;

/// All limits of an entity for a resource; or one limit of a call.
pub(crate) struct Account {
    /// The entity's next account.
    pub(crate) next: Option<Box<Account>>,
    pub(crate) resolved: Arc<Resolved>,
    rare: Option<Box<Rare>>,
    /// The minute that is counted in.
    pub(crate) minute: u32,
    flags: u32,
    /// One for each term, in their order.
    pub(crate) slots: SmallVec<[Slot; 2]>,
}

/// What few accounts have.
#[derive(Default)]
struct Rare {
    closed_until: Nanos,
    /// Limits that are not among the terms any more.
    orphans: Vec<Orphan>,
    /// Limits that somebody waits for.
    watched: SmallVec<[Word; 2]>,
    /// Limits of which somebody wants more than there can ever be, until they are changed.
    wanted: SmallVec<[Word; 2]>,
    /// What it holds of buckets that live in a table, if they do.
    remote: Option<Box<RemoteAccount>>,
}

/// A limit that has gone, or has not been adopted yet.
#[derive(Clone)]
pub(crate) struct Orphan {
    pub(crate) limit: Word,
    pub(crate) bound: Bound,
    pub(crate) slot: Slot,
}

impl Account {
    /// Full.
    pub(crate) fn new(resolved: Arc<Resolved>, now: Nanos) -> Account {
        let slots = resolved.terms.iter().map(|term| Slot::new(&term.bound, now)).collect();
        Account { next: None, resolved, rare: None, minute: 0, flags: 0, slots }
    }

    /// The same, of buckets that live in a table.
    pub(crate) fn new_remote(resolved: Arc<Resolved>, now: Nanos) -> Account {
        let mut account = Account::new(resolved, now);
        account.rare().remote = Some(Box::new(RemoteAccount::new(account.slots.len())));
        account
    }

    /// Takes on new terms.
    pub(crate) fn adopt(&mut self, resolved: Arc<Resolved>, now: Nanos) {
        self.flags &= !STALE;
        let old = std::mem::replace(&mut self.resolved, resolved);
        if Arc::ptr_eq(&old.terms, &self.resolved.terms) && self.orphans().is_empty() {
            return;
        }
        let mut left: SmallVec<[(usize, Slot); 2]> =
            std::mem::take(&mut self.slots).into_iter().enumerate().collect();
        let (taken, mut changed) = (self.is_taken(), false);
        let (terms, since): (Terms, Nanos) = (Arc::clone(&self.resolved.terms), self.resolved.since);
        for term in terms.iter() {
            let kept = left.iter().position(|(at, _)| old.terms[*at].word == term.word);
            let (mut slot, from) = match kept.map(|at| left.swap_remove(at)) {
                Some((at, slot)) => (slot, old.terms[at].bound),
                None => match self.remove_orphan(term.word) {
                    Some(orphan) => (orphan.slot, orphan.bound),
                    None => (Slot::new(&term.bound, now), term.bound),
                },
            };
            // What is on disk is under terms that are over: at a restart it would fill at their rate.
            changed |= from != term.bound;
            slot.change(&from, &term.bound, since, now);
            if !taken {
                slot.fill(&term.bound, now);
            }
            self.slots.push(slot);
        }
        if let Some(remote) = self.rare.as_mut().and_then(|rare| rare.remote.as_mut()) {
            remote.adopt(&old.terms, &terms, now);
        }
        for (at, slot) in left {
            self.put_orphan(Orphan { limit: old.terms[at].word, bound: old.terms[at].bound, slot }, now);
        }
        self.drop_idle_orphans(now);
        if changed && taken && !self.is_remote() {
            self.set_changed(true);
        }
    }

    /// Puts a limit on the side, unless it equals none.
    pub(crate) fn put_orphan(&mut self, mut orphan: Orphan, now: Nanos) {
        if !orphan.slot.is_idle(&orphan.bound, now) || orphan.slot.has_counts() {
            self.rare().orphans.push(orphan);
        }
    }

    fn remove_orphan(&mut self, limit: Word) -> Option<Orphan> {
        let orphans = &mut self.rare.as_mut()?.orphans;
        let at = orphans.iter().position(|orphan| orphan.limit == limit)?;
        Some(orphans.swap_remove(at))
    }

    fn drop_idle_orphans(&mut self, now: Nanos) {
        let Some(rare) = &mut self.rare else { return };
        rare.orphans
            .retain_mut(|orphan| !orphan.slot.is_idle(&orphan.bound, now) || orphan.slot.has_counts());
        self.drop_rare(now);
    }

    /// The state of a limit, and what it is bound by: among the terms, or on the side, where it is made if need be.
    pub(crate) fn slot(&mut self, limit: Word, now: Nanos) -> (&mut Slot, Bound) {
        if let Some(at) = self.resolved.position(limit) {
            return (&mut self.slots[at], self.resolved.terms[at].bound);
        }
        let orphans = &mut self.rare().orphans;
        let at = orphans.iter().position(|orphan| orphan.limit == limit).unwrap_or_else(|| {
            // It bounds nothing and is there to be counted in.
            let bound = Bound::Concurrency(u64::from(u32::MAX));
            orphans.push(Orphan { limit, bound, slot: Slot::new(&bound, now) });
            orphans.len() - 1
        });
        let bound = orphans[at].bound;
        (&mut orphans[at].slot, bound)
    }

    pub(crate) fn orphans(&self) -> &[Orphan] {
        self.rare.as_ref().map_or(&[], |rare| &rare.orphans)
    }

    /// Forgets all but what is in flight and what was counted. True if something is in flight.
    pub(crate) fn forget(&mut self) -> bool {
        self.set_stale();
        self.flags &= !TAKEN;
        // What it has counted is to be written down again.
        self.set_changed(self.is_counting());
        let mut flies = false;
        self.each(|_, bound, slot| {
            slot.fill(bound, 0);
            flies |= slot.in_flight > 0;
        });
        if let Some(rare) = &mut self.rare {
            rare.closed_until = 0;
            rare.orphans.retain(|orphan| orphan.slot.in_flight > 0 || orphan.slot.has_counts());
        }
        let resolved = Arc::clone(&self.resolved);
        if let Some(state) = self.remote() {
            state.forget(&resolved.terms);
        }
        flies
    }

    /// Forgets what was counted.
    pub(crate) fn forget_counts(&mut self) {
        self.each(|_, _, slot| (slot.used, slot.events) = (0, 0));
        self.set_counting(false);
    }

    /// Every limit with its state, those on the side included.
    pub(crate) fn each(&mut self, mut show: impl FnMut(Word, &Bound, &mut Slot)) {
        let Account { resolved, slots, rare, .. } = self;
        for (term, slot) in resolved.terms.iter().zip(slots) {
            show(term.word, &term.bound, slot);
        }
        for orphan in rare.iter_mut().flat_map(|rare| &mut rare.orphans) {
            show(orphan.limit, &orphan.bound, &mut orphan.slot);
        }
    }

    /// Whether it equals no account.
    pub(crate) fn is_idle(&mut self, now: Nanos) -> bool {
        if self.is_counting()
            || self.rare.as_ref().is_some_and(|rare| rare.closed_until > now)
            || self.is_watched()
        {
            return false;
        }
        if self
            .rare
            .as_ref()
            .and_then(|rare| rare.remote.as_ref())
            .is_some_and(|remote| remote.is_open() || remote.is_used() || !remote.unposted.is_empty())
            || self.holds_any(now)
        {
            return false;
        }
        let mut idle = true;
        self.each(|_, bound, slot| idle &= slot.is_idle(bound, now));
        idle
    }

    pub(crate) fn closed_until(&self) -> Nanos {
        self.rare.as_ref().map_or(0, |rare| rare.closed_until)
    }

    /// Closes it until then, if it is not closed for longer.
    pub(crate) fn close_until(&mut self, until: Nanos) {
        let closed = &mut self.rare().closed_until;
        *closed = until.max(*closed);
    }

    pub(crate) fn watched(&self) -> &[Word] {
        self.rare.as_ref().map_or(&[], |rare| &rare.watched)
    }

    pub(crate) fn watch(&mut self, limit: Word) {
        let watched = &mut self.rare().watched;
        if !watched.contains(&limit) {
            watched.push(limit);
        }
    }

    /// Whether anybody is to be told of a change.
    pub(crate) fn is_watched(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| !rare.watched.is_empty() || !rare.wanted.is_empty())
    }

    /// Somebody wants more than this limit can ever give: no token helps, and whoever takes passes them.
    pub(crate) fn want(&mut self, limit: Word) {
        let wanted = &mut self.rare().wanted;
        if !wanted.contains(&limit) {
            wanted.push(limit);
        }
    }

    /// The limits of whoever wants more than there can be. They are told now, and have to come again.
    pub(crate) fn take_wanted(&mut self) -> SmallVec<[Word; 2]> {
        self.rare.as_mut().map(|rare| std::mem::take(&mut rare.wanted)).unwrap_or_default()
    }

    /// Nobody waits for this limit any more. True if somebody did.
    pub(crate) fn unwatch(&mut self, limit: Word) -> bool {
        let Some(rare) = &mut self.rare else { return false };
        let before = rare.watched.len();
        rare.watched.retain(|watched| *watched != limit);
        rare.watched.len() < before
    }

    fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    /// Drops what is said by nothing any more.
    fn drop_rare(&mut self, now: Nanos) {
        let watched = self.is_watched();
        let said = |rare: &Rare| {
            rare.closed_until > now || !rare.orphans.is_empty() || watched || rare.remote.is_some()
        };
        self.rare = self.rare.take().filter(|rare| said(rare));
    }

    /// What it holds of buckets that live in a table, if they do.
    #[inline]
    pub(crate) fn remote(&mut self) -> Option<&mut RemoteAccount> {
        self.rare.as_mut()?.remote.as_deref_mut()
    }

    #[inline]
    pub(crate) fn is_remote(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.remote.is_some())
    }

    /// When so much of a limit could be taken; and whether only the table can tell.
    #[inline]
    pub(crate) fn ready(&mut self, at: usize, n: u64, now: Nanos) -> (Ready, bool) {
        let (bound, in_flight) = (self.resolved.terms[at].bound, self.slots[at].in_flight);
        match self.remote() {
            None => (self.slots[at].ready(&bound, n, now), false),
            Some(remote) => {
                let ready = remote.purses[at].ready(&bound, in_flight, n, now);
                (ready.unwrap_or(Ready::Pending), ready.is_none())
            }
        }
    }

    /// The same for whoever only looks: as far as this node knows.
    pub(crate) fn look(&mut self, at: usize, n: u64, now: Nanos) -> Ready {
        let (bound, in_flight) = (self.resolved.terms[at].bound, self.slots[at].in_flight);
        match self.remote() {
            None => self.slots[at].ready(&bound, n, now),
            Some(remote) => remote.purses[at].look(&bound, in_flight, n, now),
        }
    }

    /// Takes so much of a limit, there or not.
    #[inline]
    pub(crate) fn take(&mut self, at: usize, n: u64, now: Nanos) {
        let bound = self.resolved.terms[at].bound;
        self.set_taken();
        match self.remote() {
            None => self.slots[at].take(&bound, n, now),
            Some(remote) => {
                remote.purses[at].take(&bound, n, now);
                if let Bound::Concurrency(_) = bound {
                    self.slots[at].take(&bound, n, now);
                }
            }
        }
    }

    /// Takes tokens of a limit that may have gone, or gives them back.
    pub(crate) fn shift(&mut self, limit: Word, tokens: i128, now: Nanos) {
        let amount = u64::try_from(tokens.unsigned_abs()).unwrap_or(u64::MAX);
        if self.is_remote() {
            return self.shift_remote(limit, tokens > 0, amount, now);
        }
        self.set_taken();
        let (slot, bound) = self.slot(limit, now);
        match bound {
            Bound::Rate(_) if tokens > 0 => slot.take(&bound, amount, now),
            Bound::Rate(_) => slot.give_tokens(&bound, amount, now),
            // What was a rate has become a cap: tokens are no slots.
            Bound::Concurrency(_) => {}
        }
    }

    fn shift_remote(&mut self, limit: Word, taken: bool, amount: u64, now: Nanos) {
        let at = self.resolved.position(limit);
        let bound = at.map(|at| self.resolved.terms[at].bound);
        let Some(remote) = self.remote() else { return };
        let (purse, bound) = match (at, bound, remote.left.iter_mut().find(|left| left.limit == limit)) {
            (Some(at), Some(bound), _) => (&mut remote.purses[at], bound),
            (_, _, Some(left)) => (&mut left.purse, left.bound),
            _ => {
                // A limit that has gone bounds nobody; of one that came back with its lease nobody knows yet.
                if !remote.is_loaded() {
                    remote.unposted.push((limit, if taken { amount.into() } else { -i128::from(amount) }));
                }
                return;
            }
        };
        match bound {
            Bound::Rate(_) if taken => purse.take(&bound, amount, now),
            Bound::Rate(_) => purse.give(amount),
            Bound::Concurrency(_) => {}
        }
    }

    /// Posts what could not be before it was known what is set.
    pub(crate) fn post_late(&mut self, now: Nanos) {
        let unposted = self.remote().map(|remote| std::mem::take(&mut remote.unposted));
        for (limit, tokens) in unposted.into_iter().flatten() {
            self.shift(limit, tokens, now);
        }
    }

    /// Whether it has to be loaded though nobody asks: leases that came back hold or have changed what is bound by nobody
    /// knows what.
    pub(crate) fn is_unknown(&self) -> bool {
        let Some(remote) = self.rare.as_ref().and_then(|rare| rare.remote.as_deref()) else { return false };
        let flies = || self.orphans().iter().any(|orphan| orphan.slot.in_flight > 0);
        !remote.is_loaded() && (!remote.unposted.is_empty() || flies())
    }

    /// What could be taken of a limit, and the time until it is full.
    pub(crate) fn available(&mut self, at: usize, now: Nanos) -> (i64, u64) {
        let (bound, in_flight) = (self.resolved.terms[at].bound, self.slots[at].in_flight);
        match self.remote() {
            None => {
                let slot = &mut self.slots[at];
                (slot.available(&bound, now), slot.until_full_ns(&bound, now))
            }
            Some(remote) => {
                let purse = &remote.purses[at];
                (purse.available(&bound, in_flight, now), purse.until_full_ns(&bound, now))
            }
        }
    }

    /// Whether it holds or owes anything of buckets that live in a table.
    pub(crate) fn holds_any(&self, now: Nanos) -> bool {
        self.purses().any(|(purse, bound, in_flight)| purse.holds(bound, in_flight, now))
    }

    /// Whether the table should hear of it.
    pub(crate) fn is_due(&self, pace: &Pace, now: Nanos) -> bool {
        self.purses().any(|(purse, bound, in_flight)| purse.is_due(bound, in_flight, pace, now))
    }

    /// Whether nobody has used it for long enough to give back what it holds.
    pub(crate) fn is_left_alone(&self, pace: &Pace, now: Nanos) -> bool {
        self.purses().all(|(purse, _, _)| purse.is_left_alone(pace, now))
    }

    fn purses(&self) -> impl Iterator<Item = (&tidegate_core::ledger::purse::Purse, &Bound, u32)> {
        let remote = self.rare.as_ref().and_then(|rare| rare.remote.as_deref());
        let kept = remote.into_iter().flat_map(|remote| {
            let purses = remote.purses.iter().zip(self.resolved.terms.iter()).zip(&self.slots);
            purses.map(|((purse, term), slot)| (purse, &term.bound, slot.in_flight))
        });
        let left = remote.into_iter().flat_map(|remote| &remote.left);
        kept.chain(left.map(|left| (&left.purse, &left.bound, 0)))
    }

    /// Drops limits that have gone and would be the same if they came back anew.
    pub(crate) fn tidy_left(&mut self, now: Nanos) {
        if let Some(remote) = self.remote() {
            remote.left.retain(|left| left.purse.tells(&left.bound, 0, now));
        }
    }

    #[inline]
    pub(crate) fn is_stale(&self) -> bool {
        self.flags & STALE != 0
    }

    pub(crate) fn set_stale(&mut self) {
        self.flags |= STALE;
    }

    #[inline]
    pub(crate) fn is_changed(&self) -> bool {
        self.flags & CHANGED != 0
    }

    #[inline]
    pub(crate) fn set_changed(&mut self, changed: bool) {
        self.flags = if changed { self.flags | CHANGED } else { self.flags & !CHANGED };
    }

    pub(crate) fn is_taken(&self) -> bool {
        self.flags & TAKEN != 0
    }

    #[inline]
    pub(crate) fn set_taken(&mut self) {
        self.flags |= TAKEN;
    }

    #[inline]
    pub(crate) fn is_counting(&self) -> bool {
        self.flags & COUNTING != 0
    }

    #[inline]
    pub(crate) fn set_counting(&mut self, counting: bool) {
        self.flags = if counting { self.flags | COUNTING } else { self.flags & !COUNTING };
    }

    /// Whether the terms are these ones still.
    pub(crate) fn is_fresh(&self, version: u64) -> bool {
        self.resolved.version == version && !self.is_stale()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_limits_fit_a_block_of_128_bytes() {
        assert!(size_of::<Account>() <= 120, "{}", size_of::<Account>());
    }
}
