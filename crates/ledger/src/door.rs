//! The queue door: a message's charges, taken when it is delivered.

use std::sync::atomic::Ordering;

use smallvec::SmallVec;
use tidegate_core::Nanos;
use tidegate_core::bucket::Ready;
use tidegate_core::ledger::ChargeName;
use tidegate_core::ledger::name::{self, Named};

use crate::acquired::{Involved, Shortage};
use crate::entity::MAX_LEVELS;
use crate::grant::{Grant, Item, Items};
use crate::ledger::Ledger;
use crate::locks::Locks;
use crate::names::{BucketName, QueueCharge, Stated};
use crate::reach::Name;
use crate::refused::Refused;
use crate::remote::{AccountKey, HeldAgain};
use crate::space::SpaceId;
use crate::walk::{Cost, Gate, Manner, Step, Stop, Walk, Way};
use crate::words::Word;

impl Ledger {
    /// A charge as the queue keeps it.
    pub fn queue_charge(&self, space: SpaceId, name: ChargeName<'_>) -> Result<QueueCharge, Refused> {
        let (entity, resource, limit, own) = match name {
            ChargeName::Key(key) => (key, self.default_word, self.rate_word, true),
            ChargeName::Entity { entity, resource, limit } => {
                name::check(Named::Entity, entity)?;
                name::check(Named::Resource, resource.as_bytes())?;
                name::check(Named::Limit, limit.as_bytes())?;
                (entity, self.words.intern(resource)?, self.words.intern(limit)?, false)
            }
        };
        Ok(QueueCharge { bucket: BucketName { space, entity: entity.into(), resource, limit }, own })
    }

    /// Takes every charge of a message, or none. The bucket that is ready last is watched from then on. Rates that have paid
    /// are watched no more.
    pub fn take(&self, stated: &[Stated<'_>], now: Nanos) -> Result<Grant, Shortage> {
        let taken = self.take_or_watch(stated, now);
        self.wake_remote();
        taken
    }

    fn take_or_watch(&self, stated: &[Stated<'_>], now: Nanos) -> Result<Grant, Shortage> {
        let mut locks = self.shards.locks();
        let mut walk = self.walk_stated(&mut locks, stated, Manner::Queue, now).unwrap_or_default();
        if let Some(worst) = self.ask(&mut locks, &mut walk, false, now) {
            let bucket = self.name_of(&mut locks, &worst);
            self.watch_short(&mut locks, &worst);
            return Err(Shortage { bucket, ready: worst.ready, asked: worst.open && !worst.down });
        }
        self.unwatch_taken(&mut locks, &walk);
        let items = self.take_asked(&mut locks, &walk, true, now);
        Ok(grant_of(stated, items))
    }

    /// Whether a message may come in at all: names that are right, and amounts that could pass.
    pub fn judge(&self, stated: &[Stated<'_>], now: Nanos) -> Result<(), Refused> {
        let max = self.options.max_charges;
        if stated.len() > max {
            return Err(Refused::TooManyCharges { max });
        }
        let mut locks = self.shards.locks();
        let walk = self.walk_stated(&mut locks, stated, Manner::Judge, now)?;
        let judged = self.refuse_what_never_passes(&mut locks, &walk);
        drop(locks);
        self.wake_remote();
        judged
    }

    /// After a restart: what a message that is out has taken. Its slots are taken again, whatever the caps say; its
    /// tokens were. Where what is set is not loaded yet, that is for later.
    pub fn hold_again(&self, stated: &[Stated<'_>], now: Nanos) -> HeldAgain {
        let held = match self.try_hold(stated, now) {
            Ok(grant) => HeldAgain::Now(grant),
            Err(missing) => match self.hold_later(stated, missing) {
                Some(id) => HeldAgain::Later(id),
                None => HeldAgain::Now(Grant::empty()),
            },
        };
        self.wake_remote();
        held
    }

    /// Takes the slots of a message that is out, or says what has to be loaded before.
    pub(crate) fn try_hold(&self, stated: &[Stated<'_>], now: Nanos) -> Result<Grant, Vec<AccountKey>> {
        let mut locks = self.shards.locks();
        let walk = self.walk_stated(&mut locks, stated, Manner::Queue, now).unwrap_or_default();
        if !walk.opens.is_empty() {
            return Err(walk.opens.into_iter().map(|(_, key)| key).collect());
        }
        let mut items = Items::new();
        for ask in walk.asks.iter().filter(|ask| !ask.is_key) {
            let shard = locks.shard(ask.guard);
            let holder = shard.holder(ask.place.holder);
            let id = holder.id.clone();
            let account = holder.account(ask.place.account);
            let bound = account.resolved.terms[ask.slot].bound;
            if matches!(bound, tidegate_core::ledger::Bound::Concurrency(_)) && !ask.bypassed {
                account.slots[ask.slot].take(&bound, ask.amount(), now);
            }
            items.push(Item::new(&id, account, ask));
            if account.is_remote() {
                // The table is to hear of these slots.
                shard.held.set(ask.place.holder);
            }
        }
        Ok(grant_of(stated, items))
    }

    /// The buckets that these charges draw on besides those they name: of parents, and caps.
    pub fn involved(&self, stated: &[Stated<'_>]) -> Vec<Involved> {
        let mut all: Vec<Involved> = Vec::new();
        for (at, charge) in stated.iter().enumerate().filter(|(_, charge)| !charge.name.own) {
            let bucket = &charge.name.bucket;
            let (space, name) = (self.at(bucket.space), self.words.name(bucket.resource));
            let mut looked = self.look(space, &bucket.entity, (bucket.resource, &name));
            let mut entity = bucket.entity.clone();
            for level in 0..MAX_LEVELS {
                for term in looked.resolved.terms.iter() {
                    let named = term.word == bucket.limit;
                    if named && level > 0 || !named && term.is_cap() {
                        let bucket =
                            BucketName { entity: entity.clone(), limit: term.word, ..bucket.clone() };
                        add(&mut all, stated, Involved { bucket, from: Some(at).filter(|_| named) });
                    }
                }
                let Some(parent) = looked.parent.take() else { break };
                looked = self.look(space, &parent, (bucket.resource, &name));
                entity = (*parent).into();
            }
        }
        all
    }

    /// Changes whenever what [`involved`](Ledger::involved) says may change.
    pub fn shape(&self) -> u64 {
        self.shape.load(Ordering::Acquire)
    }

    fn walk_stated(
        &self,
        locks: &mut Locks<'_>,
        stated: &[Stated<'_>],
        manner: Manner,
        now: Nanos,
    ) -> Result<Walk, Refused> {
        let mut walk = Walk::default();
        loop {
            match self.walk_stated_once(locks, stated, manner, now, &mut walk) {
                Ok(()) => return Ok(walk),
                // A message that is to go is refused only for want of room for names, which are all there.
                Err(Stop::Refused(refused)) => return Err(refused),
                Err(Stop::Again) => {
                    locks.start_over();
                    walk.clear();
                }
            }
        }
    }

    fn walk_stated_once(
        &self,
        locks: &mut Locks<'_>,
        stated: &[Stated<'_>],
        manner: Manner,
        now: Nanos,
        walk: &mut Walk,
    ) -> Result<(), Stop> {
        for (at, charge) in stated.iter().enumerate() {
            let bucket = &charge.name.bucket;
            let space = self.at(bucket.space);
            if charge.name.own {
                self.ask_key(locks, space, (&bucket.entity, charge.amount), now, walk)?;
                continue;
            }
            // All limits of one entity on one resource are one step, taken at the first of them.
            if stated[..at].iter().any(|other| is_same_step(other, charge)) {
                continue;
            }
            let same = stated[at..].iter().filter(|other| is_same_step(other, charge));
            let cost = |other: &Stated<'_>| Cost {
                limit: Name::Word(other.name.bucket.limit),
                amount: other.amount,
            };
            let costs: SmallVec<[Cost<'_>; 4]> = same.map(cost).collect();
            let (entity, resource) = (&*bucket.entity, Name::Word(bucket.resource));
            let step = Step { entity, resource, costs: &costs, terms: None };
            self.walk(locks, &Way { space, step: &step, manner, now }, walk)?;
        }
        Ok(())
    }

    fn watch_short(&self, locks: &mut Locks<'_>, worst: &Gate) {
        let (shard, place) = (locks.shard(worst.guard), worst.place);
        match worst.ready {
            // The limit may be raised.
            Ready::Never => self.want_at(shard, place.holder, place.account, worst.limit),
            _ => self.watch_at(shard, place.holder, place.account, worst.limit),
        }
    }

    /// Whoever waits for more of a rate knows when it will be there. Of a cap, or of a table, he does not: he may want
    /// more than was taken here, and hears of it when it is given back or drawn.
    fn unwatch_taken(&self, locks: &mut Locks<'_>, walk: &Walk) {
        for ask in &walk.asks {
            let account = locks.shard(ask.guard).holder(ask.place.holder).account(ask.place.account);
            if !account.watched().is_empty() && !account.is_remote() {
                let term = &account.resolved.terms[ask.slot];
                let (limit, is_cap): (Word, bool) = (term.word, term.is_cap());
                if !is_cap {
                    account.unwatch(limit);
                }
            }
        }
    }
}

fn is_same_step(a: &Stated<'_>, b: &Stated<'_>) -> bool {
    let (a, b) = (a.name, b.name);
    let same = (a.own, a.bucket.space, a.bucket.resource) == (b.own, b.bucket.space, b.bucket.resource);
    same && a.bucket.entity == b.bucket.entity
}

fn grant_of(stated: &[Stated<'_>], items: Items) -> Grant {
    let space = stated.first().map_or(SpaceId(0), |charge| charge.name.bucket.space);
    Grant { space, items: items.into_boxed_slice() }
}

/// Adds a bucket, unless a charge names it or it takes the same from elsewhere.
fn add(all: &mut Vec<Involved>, stated: &[Stated<'_>], involved: Involved) {
    let named = stated.iter().any(|charge| !charge.name.own && charge.name.bucket == involved.bucket);
    let same = |other: &Involved| other.bucket == involved.bucket && other.from == involved.from;
    if named && involved.from.is_none() || all.iter().any(same) {
        return;
    }
    all.push(involved);
}
