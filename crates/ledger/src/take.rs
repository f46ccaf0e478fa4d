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
    pub(crate) fn ask(
        &self,
        locks: &mut Locks<'_>,
        walk: &mut Walk,
        in_line: bool,
        now: Nanos,
    ) -> Option<Gate> {
        let mut worst = walk.gate;
        let mut open: Vec<Ask> = Vec::new();
        for ask in &walk.asks {
            let (ready, limit, only_table) = ask.ready(locks, in_line, now);
            if only_table {
                open.push(*ask);
            } else if ready != Ready::Now && worst.is_none_or(|worst| worst.ready < ready) {
                worst = Some(Gate::shut(ready, (ask.guard, ask.place), limit));
            }
        }
        if worst.is_some() || open.is_empty() && walk.opens.is_empty() {
            return worst;
        }
        self.want_open(locks, &open, walk, now);
        walk.opens.first().map(|(gate, _)| *gate)
    }

    /// The same for whoever only looks.
    pub(crate) fn look_at(&self, locks: &mut Locks<'_>, walk: &Walk, now: Nanos) -> Option<Gate> {
        let mut worst = walk.gate.or(walk.opens.first().map(|(gate, _)| *gate));
        for ask in walk.asks.iter().filter(|ask| !ask.bypassed && ask.amount() > 0) {
            let account = locks.shard(ask.guard).holder(ask.place.holder).account(ask.place.account);
            let term = &account.resolved.terms[ask.slot];
            let (limit, soft, closed_until) = (term.word, term.soft, account.closed_until());
            let mut ready = if soft { Ready::Now } else { account.look(ask.slot, ask.amount(), now) };
            if closed_until > now {
                ready = ready.max(Ready::At(closed_until));
            }
            if ready != Ready::Now && worst.is_none_or(|worst| worst.ready < ready) {
                worst = Some(Gate::shut(ready, (ask.guard, ask.place), limit));
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
            if !ask.bypassed {
                account.take(ask.slot, amount, now);
            }
            account.slots[ask.slot].count(i128::from(amount), 1);
            if self.remote.is_none() && !account.is_changed() {
                account.set_changed(true);
                changed.set(ask.place.holder);
            }
            if leased && !ask.is_key {
                items.push(Item::new(id, account, ask));
            }
            if self.remote.is_some() {
                self.draw_ahead(locks.shard(ask.guard), ask, now);
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
    fn ready(&self, locks: &mut Locks<'_>, in_line: bool, now: Nanos) -> (Ready, crate::words::Word, bool) {
        let holder = locks.shard(self.guard).holder(self.place.holder);
        let account = holder.account(self.place.account);
        let resolved = &account.resolved;
        let term = &resolved.terms[self.slot];
        let (word, amount) = (term.word, self.amount());
        if self.bypassed || amount == 0 {
            return (Ready::Now, word, false);
        }
        let (mut ready, mut only_table) = match term.soft {
            true => (Ready::Now, false),
            false => account.ready(self.slot, amount, now),
        };
        let closed_until = account.closed_until();
        if closed_until > now {
            let known = if only_table { Ready::Now } else { ready };
            (ready, only_table) = (known.max(Ready::At(closed_until)), false);
        }
        if in_line && account.watched().contains(&word) {
            (ready, only_table) = (ready.max(Ready::Pending), false);
        }
        (ready, word, only_table)
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
    let (available, until_full_ns) = account.available(slot, now);
    let mut ready = if passed { Ready::Now } else { account.look(slot, requested, now) };
    let resolved = &account.resolved;
    let term = &resolved.terms[slot];
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
        until_full_ns,
    }
}
