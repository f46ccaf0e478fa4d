//! Asking every bucket, and taking from all of them or from none.

use std::sync::Arc;

use tidegate_core::Nanos;
use tidegate_core::bucket::Ready;
use tidegate_core::ledger::{Bound, Level};

use crate::asks::Ask;
use crate::grant::{Item, Items};
use crate::holder::{Holder, nth};
use crate::ledger::Ledger;
use crate::locks::Locks;
use crate::minutes;
use crate::names::BucketName;
use crate::reach::Place;
use crate::refused::{Refused, shown};
use crate::shard::Shard;
use crate::status::{Kind, Status};
use crate::walk::{Gate, Walk};

impl Ledger {
    /// When all of it could pass, and what is ready last.
    pub(crate) fn ask(&self, locks: &mut Locks<'_>, walk: &Walk, in_line: bool, now: Nanos) -> Option<Gate> {
        let mut worst = walk.gate;
        for ask in &walk.asks {
            let (ready, limit) = ask.ready(locks, in_line, now);
            if ready != Ready::Now && worst.is_none_or(|worst| worst.ready < ready) {
                worst = Some(Gate { ready, guard: ask.guard, place: ask.place, limit });
            }
        }
        worst
    }

    /// What can never pass is refused.
    pub(crate) fn refuse_what_never_passes(&self, locks: &mut Locks<'_>, walk: &Walk) -> Result<(), Refused> {
        for ask in walk.asks.iter().filter(|ask| !ask.bypassed) {
            let holder = locks.shard(ask.guard).holder(ask.place.holder);
            let resolved = &holder.account(ask.place.account).resolved;
            let term = &resolved.terms[ask.slot];
            let (amount, capacity) = (ask.amount(), term.bound.capacity());
            if amount > capacity && !term.soft {
                let (resource, limit) = (resolved.resource_name.to_string(), term.name.to_string());
                return Err(Refused::NeverPasses {
                    entity: shown(&holder.id),
                    resource,
                    limit,
                    amount,
                    capacity,
                });
            }
        }
        Ok(())
    }

    /// Takes all of it. Everybody was asked, under the same locks.
    pub(crate) fn take_asked(&self, locks: &mut Locks<'_>, walk: &Walk, leased: bool, now: Nanos) -> Items {
        let minute = self.minute(now);
        let mut items = Items::new();
        for ask in &walk.asks {
            let amount = ask.amount();
            if amount == 0 && !leased {
                continue;
            }
            let Shard { holders, changed, counting, closed, .. } = locks.shard(ask.guard);
            let holder =
                holders.get_mut(ask.place.holder).expect("a holder stays where it is under its lock");
            let Holder { id, space, accounts, .. } = holder;
            let account = nth(accounts, ask.place.account);
            minutes::open(account, (*space, id), minute, closed);
            counting.set(ask.place.holder);
            let bound = account.resolved.terms[ask.slot].bound;
            let slot = &mut account.slots[ask.slot];
            if !ask.bypassed {
                slot.take(&bound, amount, now);
            }
            slot.count(i128::from(amount), 1);
            if !account.is_changed() {
                account.set_changed(true);
                changed.set(ask.place.holder);
            }
            if leased && !ask.is_key {
                items.push(Item::new(id, account, ask));
            }
        }
        self.note_change();
        items
    }

    /// The status of everything that was asked.
    pub(crate) fn statuses(
        &self,
        locks: &mut Locks<'_>,
        walk: &Walk,
        taken: bool,
        now: Nanos,
    ) -> Vec<Status> {
        walk.asks.iter().map(|ask| ask.status(locks, taken, now)).collect()
    }

    /// The name of what is ready last.
    pub(crate) fn name_of(&self, locks: &mut Locks<'_>, gate: &Gate) -> BucketName {
        self.bucket_name(locks, gate.guard, gate.place, gate.limit)
    }
}

impl Ask {
    /// When it could pass, and the limit that says so.
    fn ready(&self, locks: &mut Locks<'_>, in_line: bool, now: Nanos) -> (Ready, crate::words::Word) {
        let holder = locks.shard(self.guard).holder(self.place.holder);
        let account = holder.account(self.place.account);
        let resolved = &account.resolved;
        let term = &resolved.terms[self.slot];
        let (word, amount) = (term.word, self.amount());
        if self.bypassed || amount == 0 {
            return (Ready::Now, word);
        }
        let mut ready = match term.soft {
            true => Ready::Now,
            false => account.slots[self.slot].ready(&term.bound, amount, now),
        };
        let closed_until = account.closed_until();
        if closed_until > now {
            ready = ready.max(Ready::At(closed_until));
        }
        if in_line && account.watched().contains(&word) {
            ready = ready.max(Ready::Pending);
        }
        (ready, word)
    }

    fn status(&self, locks: &mut Locks<'_>, taken: bool, now: Nanos) -> Status {
        let holder = locks.shard(self.guard).holder(self.place.holder);
        status_of(holder, self.place, self.slot, self.amount(), taken || self.bypassed, now)
    }
}

/// The status of a limit that was asked for this much; `passed` if it was there.
pub(crate) fn status_of(
    holder: &mut Holder,
    place: Place,
    slot: usize,
    requested: u64,
    passed: bool,
    now: Nanos,
) -> Status {
    let entity: Arc<[u8]> = Arc::from(&*holder.id);
    let account = holder.account(place.account);
    let closed_until = account.closed_until();
    let resolved = &account.resolved;
    let term = &resolved.terms[slot];
    let state = &mut account.slots[slot];
    let available = state.available(&term.bound, now);
    let mut ready = if passed { Ready::Now } else { state.ready(&term.bound, requested, now) };
    if !passed && closed_until > now && requested > 0 {
        ready = ready.max(Ready::At(closed_until));
    }
    // A soft limit that has let somebody pass tells so by its debt.
    let exceeded = ready != Ready::Now || passed && term.soft && requested > 0 && available < 0;
    let (kind, period_ns, refill) = match &term.bound {
        Bound::Rate(limit) => {
            (Kind::Rate, u64::try_from(limit.period_ns()).unwrap_or(u64::MAX), limit.count())
        }
        Bound::Concurrency(_) => (Kind::Concurrency, 0, 0),
    };
    Status {
        entity,
        resource: Arc::clone(&resolved.resource_name),
        limit: Arc::clone(&term.name),
        level: resolved.level.unwrap_or(Level::Config),
        kind,
        capacity: term.bound.capacity(),
        available,
        requested,
        exceeded,
        soft: term.soft,
        ready,
        period_ns,
        refill,
        until_full_ns: state.until_full_ns(&term.bound, now),
    }
}
