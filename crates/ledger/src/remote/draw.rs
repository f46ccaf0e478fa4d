//! Orders of writes, and what they have brought.

use std::sync::Arc;

use tidegate_core::Nanos;
use tidegate_core::ledger::Level;
use tidegate_core::ledger::purse::{Drawn, Purse, Told};

use crate::account::Account;
use crate::asks::Ask;
use crate::ledger::Ledger;
use crate::locks::Locks;
use crate::reach::Place;
use crate::shard::{SHARDS, Shard};
use crate::walk::{Gate, Walk};
use crate::words::Word;

use super::load::{find, keyed};
use super::state::Left;
use super::want::{AccountKey, Line, Order, Undecided, Want};

/// Holders looked at under one lock.
const SEGMENT: usize = 128;

impl Ledger {
    /// What only the table can pay is asked of it, unless something else stands in the way anyway.
    pub(crate) fn want_open(&self, locks: &mut Locks<'_>, asks: &[Ask], walk: &mut Walk, now: Nanos) {
        let Some(remote) = &self.remote else { return };
        for ask in asks {
            let shard = locks.shard(ask.guard);
            let (key, account) = keyed(shard, ask.place);
            let limit = account.resolved.terms[ask.slot].word;
            let Some(state) = account.remote() else { continue };
            let down = state.failed_until > now;
            if !down && !state.is_drawing() {
                state.set_drawing(true);
                remote.post(Want::Draw(key.clone()));
            }
            shard.held.set(ask.place.holder);
            walk.open(Gate::open((ask.guard, ask.place), limit, down), key);
        }
    }

    /// A throttle key is asked of the table.
    pub(crate) fn want_key(&self, shard: &mut Shard, place: Place) -> Undecided {
        let (key, account) = keyed(shard, place);
        if let (Some(remote), Some(state)) = (&self.remote, account.remote())
            && !state.is_drawing()
        {
            state.set_drawing(true);
            remote.post(Want::Draw(key.clone()));
        }
        shard.held.set(place.holder);
        Undecided { missing: vec![key] }
    }

    /// A take that leaves little has more drawn ahead of need.
    pub(crate) fn draw_ahead(&self, shard: &mut Shard, ask: &Ask, now: Nanos) {
        let Some(remote) = &self.remote else { return };
        shard.held.set(ask.place.holder);
        let account = shard.holder(ask.place.holder).account(ask.place.account);
        let bound = account.resolved.terms[ask.slot].bound;
        let soft = account.resolved.terms[ask.slot].soft;
        let Some(state) = account.remote() else { return };
        let low = !soft && state.purses[ask.slot].runs_low(&bound, &remote.options.pace, now);
        if low && !state.is_drawing() && state.failed_until <= now {
            state.set_drawing(true);
            remote.post(Want::Draw(keyed(shard, ask.place).0));
        }
    }

    /// How this ledger draws.
    pub fn pace(&self) -> tidegate_core::ledger::purse::Pace {
        self.remote.as_ref().map(|remote| remote.options.pace).unwrap_or_default()
    }

    /// What is to be written for an account now: what is needed, what goes back, what is owed, what was consumed.
    /// Nothing if there is nothing to say. What the order takes along has to be told: see [`drawn`](Ledger::drawn).
    pub fn order(&self, key: &AccountKey, now: Nanos) -> Option<Order> {
        self.order_of(key, false, now)
    }

    /// The same, and all that is held goes back.
    pub fn order_return(&self, key: &AccountKey, now: Nanos) -> Option<Order> {
        self.order_of(key, true, now)
    }

    fn order_of(&self, key: &AccountKey, returning: bool, now: Nanos) -> Option<Order> {
        let pace = self.remote.as_ref()?.options.pace;
        let who = self.who(key.space, &key.entity);
        let mut shard = self.shards.lock(who.shard());
        let place = find(&shard, shard.find(&who)?, key)?;
        let holder = shard.holder(place.holder);
        self.refresh(self.at(key.space), holder, place.account, now);
        let known = holder.known.as_ref();
        let parent = known.and_then(|known| known.parent.as_ref()).map(|parent| Arc::from(&**parent));
        let own_cascade = known.is_some_and(|known| known.cascade);
        let account = holder.account(place.account);
        let returning = returning || account.is_left_alone(&pace, now);
        let resolved = Arc::clone(&account.resolved);
        let mut lines = Vec::new();
        for (at, term) in resolved.terms.iter().enumerate() {
            let in_flight = account.slots[at].in_flight;
            let purse = &mut account.remote()?.purses[at];
            let Told { wish, consumed } = purse.wish(&term.bound, in_flight, returning, &pace, now);
            let (limit, bound, soft) = (Arc::clone(&term.name), term.bound, term.soft);
            let (held, gone_at) = (purse.held(&bound, now), purse.gone_at(&bound));
            lines.push(Line { limit, bound, soft, wish, consumed, held, gone_at, gone: false });
        }
        for left in &mut account.remote()?.left {
            let Told { wish, consumed } = left.purse.wish(&left.bound, 0, true, &pace, now);
            let (limit, bound) = (self.words.name(left.limit), left.bound);
            let line = Line { limit, bound, soft: false, wish, consumed, held: 0, gone_at: 0, gone: true };
            // Others are there to be remembered.
            lines.extend(Some(line).filter(Line::says));
        }
        if !lines.iter().any(Line::says) {
            account.remote()?.set_drawing(false);
            drop(shard);
            self.tell_decided(key);
            return None;
        }
        account.remote()?.ordered();
        Some(Order {
            key: key.clone(),
            space: Arc::clone(&self.at(key.space).name),
            resource: Arc::clone(&resolved.resource_name),
            call: Some(self.words.name(key.call)).filter(|_| key.call != Word::NONE),
            custom: matches!(resolved.level, Some(Level::Entity | Level::EntityDefault)),
            cascade: resolved.cascade.unwrap_or(own_cascade),
            parent,
            lines,
        })
    }

    /// A write has happened: this is what it has brought, line by line.
    pub fn drawn(&self, order: &Order, drawn: &[Drawn], now: Nanos) {
        let Some(remote) = &self.remote else { return };
        let pace = remote.options.pace;
        self.end_order(order, 0, now, |purse, line, at| {
            if let Some(drawn) = drawn.get(at) {
                purse.drawn(&line.bound, &line.wish, drawn, &pace, now);
            }
        });
    }

    /// A write has certainly not happened, and none is tried before `until`.
    pub fn draw_failed(&self, order: &Order, until: Nanos, now: Nanos) {
        self.end_order(order, until, now, |purse, line, _| purse.failed(&line.bound, &told(line), false, 0));
    }

    /// Nobody knows whether a write has happened: what went back is lost, so that nothing is given twice; what is owed
    /// is told again.
    pub fn draw_lost(&self, order: &Order, until: Nanos, now: Nanos) {
        self.end_order(order, until, now, |purse, line, _| purse.failed(&line.bound, &told(line), true, 0));
    }

    fn end_order(
        &self,
        order: &Order,
        failed_until: Nanos,
        now: Nanos,
        mut end: impl FnMut(&mut Purse, &Line, usize),
    ) {
        let key = &order.key;
        let who = self.who(key.space, &key.entity);
        let mut shard = self.shards.lock(who.shard());
        let place = shard.find(&who).and_then(|holder| find(&shard, holder, key));
        if let Some(place) = place {
            let account = shard.holder(place.holder).account(place.account);
            for (at, line) in order.lines.iter().enumerate() {
                if let Some(purse) = purse_of(self, account, line) {
                    end(purse, line, at);
                }
            }
            account.tidy_left(now);
            if let Some(state) = account.remote() {
                state.set_drawing(false);
                state.failed_until = failed_until;
            }
            shard.held.set(place.holder);
            self.post(&mut shard, place.holder, place.account, None);
        }
        drop(shard);
        self.tell_decided(key);
    }

    /// Accounts whose slices nobody uses, or that have had something to tell for a while; and those that somebody waits
    /// for and that could not be asked for. Their orders are wanted from now on.
    pub fn idle(&self, now: Nanos, out: &mut Vec<Want>) {
        self.load_held(now, out);
        if let Some(remote) = &self.remote {
            self.load_weights(remote, now);
        }
        self.each_held(out, now, |account, watched, pace| {
            let (due, terms) = (account.is_due(pace, now), Arc::clone(&account.resolved.terms));
            let is_unknown = account.is_unknown();
            let state = account.remote()?;
            if state.is_open() || state.failed_until > now {
                return None;
            }
            // What an account holds that was forgotten, for nobody used it, goes back as well.
            if is_unknown || !state.is_loaded() && !due {
                // Nobody else asks again for those who stand in line, nor for leases that came back.
                return (is_unknown || watched && state.failed_until > 0).then(|| {
                    state.set_loading(true);
                    false
                });
            }
            let again = watched && (state.failed_until > 0 || state.ask_again(&terms, now));
            (due || again).then(|| {
                state.set_drawing(true);
                true
            })
        });
    }

    /// Every account that holds or owes anything, for the end: see [`order_return`](Ledger::order_return).
    pub fn holding(&self, now: Nanos, out: &mut Vec<AccountKey>) {
        let mut wants = Vec::new();
        self.each_held(&mut wants, now, |account, _, _| account.holds_any(now).then_some(true));
        out.extend(wants.into_iter().map(|want| match want {
            Want::Load(key) | Want::Draw(key) => key,
        }));
    }

    /// Shows accounts of the table that have something; `true` wants a draw, `false` to be loaded.
    fn each_held(
        &self,
        out: &mut Vec<Want>,
        now: Nanos,
        mut wants: impl FnMut(&mut Account, bool, &tidegate_core::ledger::purse::Pace) -> Option<bool>,
    ) {
        let Some(remote) = &self.remote else { return };
        for shard in 0..SHARDS {
            let mut from = Some(0);
            while let Some(at) = from {
                let mut shard = self.shards.lock(shard);
                let mut next = shard.held.next(at);
                for _ in 0..SEGMENT {
                    let Some(at) = next else { break };
                    let Shard { holders, held, .. } = &mut *shard;
                    let mut any = false;
                    if let Some(holder) = holders.get_mut(at) {
                        let (space, entity) = (holder.space, Arc::<[u8]>::from(&*holder.id));
                        holder.each_account_mut(|account| {
                            let (resource, call) = (account.resolved.resource, account.resolved.call);
                            let watched = account.is_watched();
                            any |= account.holds_any(now) || watched || account.is_unknown();
                            let key = || AccountKey { space, entity: Arc::clone(&entity), resource, call };
                            match wants(account, watched, &remote.options.pace) {
                                Some(true) => out.push(Want::Draw(key())),
                                Some(false) => out.push(Want::Load(key())),
                                None => {}
                            }
                        });
                    }
                    if !any {
                        held.unset(at);
                    }
                    next = held.next(at + 1);
                }
                from = next;
            }
        }
    }
}

fn told(line: &Line) -> Told {
    Told { wish: line.wish, consumed: line.consumed }
}

/// The purse of a line: of a limit that holds, or of one that has gone, where it is made if it has to be.
fn purse_of<'a>(ledger: &Ledger, account: &'a mut Account, line: &Line) -> Option<&'a mut Purse> {
    let word = ledger.words.find(&line.limit)?;
    let at = account.resolved.position(word);
    // Terms may have changed while the write was under way: what was drawn under others is not spent under these.
    let same = at.is_some_and(|at| account.resolved.terms[at].bound == line.bound);
    let state = account.remote()?;
    if let (Some(at), true) = (at, same) {
        return Some(&mut state.purses[at]);
    }
    if state.left(word).is_none() {
        state.left.push(Left { limit: word, bound: line.bound, purse: Purse::default() });
    }
    state.left(word).map(|left| &mut left.purse)
}
