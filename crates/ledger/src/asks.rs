//! What each entity of a chain is asked.

use tidegate_core::Nanos;
use tidegate_core::bucket::Ready;
use tidegate_core::ledger::{Bound, Level, Term};

use crate::account::Account;
use crate::ledger::Ledger;
use crate::locks::Locks;
use crate::reach::{Made, Name, Place};
use crate::refused::{Refused, shown};
use crate::settings::Mode;
use crate::shard::{Shard, Who};
use crate::space::Space;
use crate::walk::{Cost, Gate, Manner, Stand, Step, Stop, Walk, Way};
use crate::words::Word;

/// One bucket, and what it is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask {
    /// The shard, among those that are held.
    pub(crate) guard: usize,
    pub(crate) place: Place,
    pub(crate) slot: usize,
    /// What charges name.
    named: u64,
    /// A cap, of which every charge takes 1 at least.
    is_cap: bool,
    /// How many charges name it.
    pub(crate) shares: u16,
    /// Only counted.
    pub(crate) bypassed: bool,
    /// A throttle key's: spent for good.
    pub(crate) is_key: bool,
}

impl Ask {
    #[inline]
    pub(crate) fn amount(&self) -> u64 {
        self.named.max(u64::from(self.is_cap))
    }

    fn is_same(&self, other: &Ask) -> bool {
        (self.guard, self.place, self.slot) == (other.guard, other.place, other.slot)
    }
}

impl Stand {
    fn ask(&self, slot: usize, named: u64, is_cap: bool) -> Ask {
        let Stand { guard, place, bypassed } = *self;
        Ask { guard, place, slot, named, is_cap, shares: 1, bypassed, is_key: false }
    }
}

impl Walk {
    fn add(&mut self, ask: Ask) {
        match self.asks.iter_mut().find(|other| other.is_same(&ask)) {
            Some(other) => {
                other.named = other.named.saturating_add(ask.named);
                other.shares = other.shares.saturating_add(ask.shares);
                other.bypassed &= ask.bypassed;
                other.is_key &= ask.is_key;
            }
            None => self.asks.push(ask),
        }
    }
}

impl Ledger {
    /// What the entity itself is asked, under stored limits.
    pub(crate) fn ask_stored(
        &self,
        locks: &mut Locks<'_>,
        way: &Way<'_>,
        stand: &Stand,
        walk: &mut Walk,
    ) -> Result<(), Stop> {
        let holder = locks.shard(stand.guard).holder(stand.place.holder);
        let resolved = &holder.account(stand.place.account).resolved;
        let strict = way.manner != Manner::Queue;
        if resolved.level.is_none() && strict {
            let resource = resolved.resource_name.to_string();
            return Err(Refused::NoLimits { entity: shown(&holder.id), resource }.into());
        }
        for cost in way.step.costs {
            match cost.limit.position(resolved) {
                Some(slot) => walk.add(stand.ask(slot, cost.amount, resolved.terms[slot].is_cap())),
                None if strict => {
                    let (resource, known) = (resolved.resource_name.to_string(), resolved.known());
                    let (entity, limit) = (shown(&holder.id), self.text_of(cost.limit));
                    return Err(Refused::UnknownLimit { entity, resource, limit, known }.into());
                }
                None => {}
            }
        }
        if resolved.has_caps { self.ask_caps(locks, way, stand, walk) } else { Ok(()) }
    }

    /// What a parent is asked: limits of the same names that it has, and its caps.
    pub(crate) fn ask_parent(
        &self,
        locks: &mut Locks<'_>,
        way: &Way<'_>,
        stand: &Stand,
        walk: &mut Walk,
    ) -> Result<(), Stop> {
        let resolved =
            &locks.shard(stand.guard).holder(stand.place.holder).account(stand.place.account).resolved;
        for cost in way.step.costs {
            if let Some(slot) = cost.limit.position(resolved) {
                walk.add(stand.ask(slot, cost.amount, resolved.terms[slot].is_cap()));
            }
        }
        if resolved.has_caps { self.ask_caps(locks, way, stand, walk) } else { Ok(()) }
    }

    /// Every cap takes part, whether it is named or not.
    fn ask_caps(
        &self,
        locks: &mut Locks<'_>,
        way: &Way<'_>,
        stand: &Stand,
        walk: &mut Walk,
    ) -> Result<(), Stop> {
        let holder = locks.shard(stand.guard).holder(stand.place.holder);
        let resolved = &holder.account(stand.place.account).resolved;
        for (slot, term) in resolved.terms.iter().enumerate().filter(|(_, term)| term.is_cap()) {
            if way.manner == (Manner::Ask { leased: false }) && !stand.bypassed {
                let (resource, limit) = (resolved.resource_name.to_string(), term.name.to_string());
                return Err(Refused::LeaseRequired { entity: shown(&holder.id), resource, limit }.into());
            }
            let unnamed = Ask { shares: 0, ..stand.ask(slot, 0, true) };
            if !walk.asks.iter().any(|ask| ask.is_same(&unnamed)) {
                walk.add(unnamed);
            }
        }
        Ok(())
    }

    /// What the entity itself is asked, under limits of the call: a bucket of its own for each.
    pub(crate) fn ask_call(
        &self,
        locks: &mut Locks<'_>,
        way: &Way<'_>,
        stand: &Stand,
        terms: &[Term],
        walk: &mut Walk,
    ) -> Result<(), Stop> {
        let is = |cost: &Cost<'_>, term: &Term| *self.text_of(cost.limit) == *term.name;
        let costs = way.step.costs;
        if let Some(cost) = costs.iter().find(|cost| !terms.iter().any(|term| is(cost, term))) {
            let holder = locks.shard(stand.guard).holder(stand.place.holder);
            let resource = holder.account(stand.place.account).resolved.resource_name.to_string();
            let known = terms.iter().map(|term| term.name.to_string()).collect();
            let (entity, limit) = (shown(&holder.id), self.text_of(cost.limit));
            return Err(Refused::UnknownLimit { entity, resource, limit, known }.into());
        }
        for term in terms {
            let place = self.reach_call(locks.shard(stand.guard), way.space, stand.place, term, way.now)?;
            let stand = Stand { place, ..*stand };
            let is_cap = matches!(term.bound, Bound::Concurrency(_));
            if is_cap {
                self.ask_caps(locks, way, &stand, walk)?;
            }
            for cost in costs.iter().filter(|cost| is(cost, term)) {
                walk.add(stand.ask(0, cost.amount, is_cap));
            }
        }
        Ok(())
    }

    /// What a throttle key is asked: only a limit on the entity itself counts.
    pub(crate) fn ask_key(
        &self,
        locks: &mut Locks<'_>,
        space: &Space,
        (key, amount): (&[u8], u64),
        now: Nanos,
        walk: &mut Walk,
    ) -> Result<(), Stop> {
        let who = self.who(space.id, key);
        let guard = locks.hold(who.shard())?;
        if self.remote.is_some() && self.is_unloaded_key(locks, space, &who, guard, now, walk)? {
            return Ok(());
        }
        let Some(place) = self.reach_key(locks.shard(guard), space, &who, now) else { return Ok(()) };
        let account = locks.shard(guard).holder(place.holder).account(place.account);
        let (resolved, closed_until) = (&account.resolved, account.closed_until());
        let gate = |ready| Gate::shut(ready, (guard, place), self.rate_word);
        if closed_until > now && amount > 0 {
            walk.stop_at(gate(Ready::At(closed_until)));
        }
        let own = resolved.level == Some(Level::Entity);
        let Some(slot) = resolved.position(self.rate_word).filter(|_| own) else { return Ok(()) };
        if resolved.mode == Some(Mode::Disabled) {
            walk.stop_at(gate(Ready::Pending));
        }
        let (bypassed, is_cap) = (resolved.mode == Some(Mode::Bypass), resolved.terms[slot].is_cap());
        let ask = Stand { guard, place, bypassed }.ask(slot, amount, is_cap);
        walk.add(Ask { is_key: !is_cap, ..ask });
        Ok(())
    }

    /// Whether a throttle key waits until the table has told what is set on it.
    fn is_unloaded_key(
        &self,
        locks: &mut Locks<'_>,
        space: &Space,
        who: &Who<'_>,
        guard: usize,
        now: Nanos,
        walk: &mut Walk,
    ) -> Result<bool, Stop> {
        let resource = Name::Word(self.default_word);
        let place = self.reach(locks.shard(guard), space, who, resource, Made::Always, now)?;
        let costs = [Cost { limit: Name::Word(self.rate_word), amount: 1 }];
        let step = Step { entity: who.entity, resource, costs: &costs, terms: None };
        let way = Way { space, step: &step, manner: Manner::Queue, now };
        let stand = Stand { guard, place, bypassed: false };
        Ok(self.pass_unloaded(locks, &way, &stand, (guard, place), walk)?)
    }

    /// The account of a throttle key, if anything is said about it.
    pub(crate) fn reach_key(
        &self,
        shard: &mut Shard,
        space: &Space,
        who: &Who<'_>,
        now: Nanos,
    ) -> Option<Place> {
        let at = shard.find(who)?;
        let holder = shard.holder(at);
        let set = holder.known.as_ref().is_some_and(|known| known.settings(self.default_word).is_some());
        let is_default = |account: &Account| {
            account.resolved.resource == self.default_word && account.resolved.call == Word::NONE
        };
        match holder.position(is_default) {
            Some(account) => {
                self.refresh(space, holder, account, now);
                Some(Place { holder: at, account })
            }
            None if set => {
                self.reach(shard, space, who, Name::Word(self.default_word), Made::Always, now).ok()
            }
            None => None,
        }
    }

    fn text_of(&self, name: Name<'_>) -> String {
        match name {
            Name::Text(text) => text.into(),
            Name::Word(word) => self.words.name(word).to_string(),
        }
    }
}
