//! Throttle keys: entities that are limited by `rate` on `_default_`, set on themselves.

use std::collections::BTreeMap;
use std::sync::Arc;

use tidegate_core::bucket::Ready;
use tidegate_core::ledger::{Bound, Level};
use tidegate_core::{Decision, Limit, Nanos, Wait};

use crate::account::Account;
use crate::holder::{Holder, nth};
use crate::ledger::Ledger;
use crate::minutes;
use crate::reach::Place;
use crate::remote::Undecided;
use crate::settings::Mode;
use crate::shard::{SHARDS, Shard};
use crate::space::SpaceId;

/// Holders looked at under one lock.
const SEGMENT: u32 = 256;

/// What a throttle key is at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyView {
    /// The key.
    pub key: Arc<[u8]>,
    /// Its limit; none if it is only closed.
    pub limit: Option<Limit>,
    /// Whole tokens left, negative if in debt.
    pub tokens: i64,
    /// Nobody takes from it before this time.
    pub closed_until: Option<Nanos>,
}

impl Ledger {
    /// What a key is at; nothing if it neither has a limit nor is closed.
    pub fn key(&self, space: SpaceId, key: &[u8], now: Nanos) -> Option<KeyView> {
        let who = self.who(space, key);
        let mut shard = self.shards.lock(who.shard());
        let place = self.reach_key(&mut shard, self.at(space), &who, now)?;
        self.key_at(shard.holder(place.holder), place.account, now)
    }

    fn key_at(&self, holder: &mut Holder, account: usize, now: Nanos) -> Option<KeyView> {
        let key = Arc::from(&*holder.id);
        let account = holder.account(account);
        let closed_until = Some(account.closed_until()).filter(|until| *until > now);
        let (limit, tokens) = match self.rate_of(account) {
            Some((slot, limit)) => (Some(limit), account.available(slot, now).0),
            None => (None, 0),
        };
        (limit.is_some() || closed_until.is_some()).then_some(KeyView { key, limit, tokens, closed_until })
    }

    /// The rate that is set on the key itself.
    fn rate_of(&self, account: &Account) -> Option<(usize, Limit)> {
        let resolved = &account.resolved;
        let slot = resolved.position(self.rate_word).filter(|_| resolved.level == Some(Level::Entity))?;
        match resolved.terms[slot].bound {
            Bound::Rate(limit) => Some((slot, limit)),
            Bound::Concurrency(_) => None,
        }
    }

    /// Every key, in order. Looks at all entities, some at a time.
    pub fn keys(&self, space: SpaceId, now: Nanos) -> Vec<KeyView> {
        let mut all = BTreeMap::new();
        for shard in 0..SHARDS {
            let (mut at, mut end) = (0, 1);
            while at < end {
                let mut shard = self.shards.lock(shard);
                end = shard.holders.end();
                for at in at..end.min(at + SEGMENT) {
                    let view = self.key_of(&mut shard, at, space, now);
                    all.extend(view.map(|view| (Arc::clone(&view.key), view)));
                }
                at += SEGMENT;
            }
        }
        all.into_values().collect()
    }

    fn key_of(&self, shard: &mut Shard, at: u32, space: SpaceId, now: Nanos) -> Option<KeyView> {
        let holder = shard.holders.get(at).filter(|holder| holder.space == space)?;
        let id = holder.id.clone();
        let place = self.reach_key(shard, self.at(space), &self.who(space, &id), now)?;
        self.key_at(shard.holder(place.holder), place.account, now)
    }

    /// Takes `n` from a key if they are there, and tells all about it; nothing if it neither has a limit nor is closed.
    pub fn decide_key(&self, space: SpaceId, key: &[u8], n: u64, now: Nanos) -> Option<Decision> {
        match self.try_key(space, key, n, now)? {
            Ok(decision) => Some(decision),
            // Only the table can tell, and nobody waits for it.
            Err(_) => self.try_key(space, key, 0, now)?.ok().map(|decision| Decision {
                allowed: false,
                retry_after: Wait::Ns(tidegate_core::NANOS_PER_S),
                ..decision
            }),
        }
    }

    /// The same where a table may have to be asked first: see [`Ledger::decided`].
    pub fn try_key(
        &self,
        space: SpaceId,
        key: &[u8],
        n: u64,
        now: Nanos,
    ) -> Option<Result<Decision, Undecided>> {
        let decided = self.decide_or_want(space, key, n, now);
        self.wake_remote();
        decided
    }

    fn decide_or_want(
        &self,
        space: SpaceId,
        key: &[u8],
        n: u64,
        now: Nanos,
    ) -> Option<Result<Decision, Undecided>> {
        let who = self.who(space, key);
        let mut shard = self.shards.lock(who.shard());
        let place = self.reach_key(&mut shard, self.at(space), &who, now)?;
        let account = shard.holder(place.holder).account(place.account);
        let (rate, closed_until) = (self.rate_of(account), account.closed_until());
        if rate.is_none() && closed_until <= now {
            return None;
        }
        let mode = account.resolved.mode.filter(|_| rate.is_some());
        let mut only_table = false;
        let mut ready = match (rate, mode) {
            (_, Some(Mode::Disabled)) => Ready::Pending,
            (Some((slot, _)), None) if !account.resolved.terms[slot].soft => {
                let ready = account.ready(slot, n, now);
                only_table = ready.1;
                ready.0
            }
            _ => Ready::Now,
        };
        if closed_until > now && n > 0 {
            let known = if only_table { Ready::Now } else { ready };
            (ready, only_table) = (known.max(Ready::At(closed_until)), false);
        }
        if only_table {
            return Some(Err(self.want_key(&mut shard, place)));
        }
        if let (Ready::Now, Some((slot, _)), true) = (ready, rate, n > 0) {
            self.take_key(&mut shard, place, slot, (n, mode == Some(Mode::Bypass)), now);
        }
        let account = shard.holder(place.holder).account(place.account);
        Some(Ok(decision(account, rate, ready, now)))
    }

    fn take_key(&self, shard: &mut Shard, place: Place, slot: usize, (n, bypassed): (u64, bool), now: Nanos) {
        let minute = self.minute(now);
        let Shard { holders, changed, counting, closed, .. } = shard;
        let Some(Holder { id, space, accounts, .. }) = holders.get_mut(place.holder) else { return };
        let account = nth(accounts, place.account);
        minutes::open(account, (*space, id), minute, closed);
        if !bypassed {
            account.take(slot, n, now);
        }
        account.slots[slot].count(i128::from(n), 1);
        account.set_changed(true);
        counting.set(place.holder);
        changed.set(place.holder);
        self.note_change();
    }

    /// Gives `n` tokens back to a key, up to a full bucket.
    pub fn refund_key(&self, space: SpaceId, key: &[u8], n: u64, now: Nanos) {
        let who = self.who(space, key);
        let mut shard = self.shards.lock(who.shard());
        let Some(place) = self.reach_key(&mut shard, self.at(space), &who, now) else { return };
        let minute = self.minute(now);
        let Some((slot, _)) = self.rate_of(shard.holder(place.holder).account(place.account)) else {
            return;
        };
        let Shard { holders, changed, counting, closed, .. } = &mut *shard;
        let Some(Holder { id, space, accounts, .. }) = holders.get_mut(place.holder) else { return };
        let account = nth(accounts, place.account);
        minutes::open(account, (*space, id), minute, closed);
        account.shift(self.rate_word, -i128::from(n), now);
        account.slots[slot].count(-i128::from(n), 0);
        account.set_changed(true);
        counting.set(place.holder);
        changed.set(place.holder);
        self.post(&mut shard, place.holder, place.account, Some(self.rate_word));
        drop(shard);
        self.freed.wake();
        self.note_change();
    }
}

/// What a caller is told after `ready` was found.
fn decision(account: &mut Account, rate: Option<(usize, Limit)>, ready: Ready, now: Nanos) -> Decision {
    let closed_ns = account.closed_until().saturating_sub(now);
    let (burst, tokens, until_full) = match rate {
        Some((slot, limit)) => {
            let (available, until_full) = account.available(slot, now);
            (limit.burst(), available, until_full)
        }
        None => (0, 0, 0),
    };
    Decision {
        allowed: ready == Ready::Now,
        limit: burst,
        remaining: if closed_ns > 0 { 0 } else { tokens.max(0) as u64 },
        reset_after_ns: until_full.max(closed_ns),
        retry_after: match ready {
            Ready::Now => Wait::Now,
            Ready::At(at) => Wait::Ns(at.saturating_sub(now).max(1)),
            // Nobody knows; a second is as good a time to ask again as any.
            Ready::Pending => Wait::Ns(tidegate_core::NANOS_PER_S),
            Ready::Never => Wait::Never,
        },
    }
}
