//! Settings that come in from the table, and which of them are to be looked at again.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tidegate_core::Nanos;

use crate::account::Account;
use crate::edit::Kept;
use crate::ledger::Ledger;
use crate::locks::Locks;
use crate::reach::{Made, Name, Place};
use crate::refused::{Refused, shown};
use crate::settings::{Mode, Scope, ScopeSettings};
use crate::shard::{SHARDS, Shard};
use crate::space::{Space, SpaceId};
use crate::walk::{Gate, Manner, Stand, Walk, Way};
use crate::words::Word;

use super::want::{AccountKey, Loaded, Undecided, Want};

/// Holders looked at under one lock.
const SEGMENT: usize = 128;

impl Ledger {
    /// Whether a step ends here for now: what is set for the account is not known, and is asked for.
    pub(crate) fn pass_unloaded(
        &self,
        locks: &mut Locks<'_>,
        way: &Way<'_>,
        stand: &Stand,
        first: (usize, Place),
        walk: &mut Walk,
    ) -> Result<bool, Refused> {
        let Some(remote) = &self.remote else { return Ok(false) };
        let shard = locks.shard(stand.guard);
        let (key, account) = keyed(shard, stand.place);
        let Some(state) = account.remote() else { return Ok(false) };
        state.use_it();
        if state.is_deleted() {
            return Err(Refused::NamespaceDeleted(way.space.name.to_string()));
        }
        if let Some(what) = &state.unsupported {
            let (entity, what) = (shown(&key.entity), what.to_string());
            return Err(Refused::Unsupported {
                entity,
                resource: self.words.name(key.resource).to_string(),
                what,
            });
        }
        if state.is_loaded() {
            return Ok(false);
        }
        let down = state.failed_until > way.now;
        if !down && !state.is_loading() {
            state.set_loading(true);
            remote.post(Want::Load(key.clone()));
        }
        if way.manner == Manner::Queue {
            state.lane_waits();
        }
        shard.held.set(stand.place.holder);
        // It waits where its own charge is: that bucket is one that it names.
        let limit = match way.step.costs.first().map(|cost| cost.limit) {
            Some(Name::Word(word)) => word,
            _ => self.rate_word,
        };
        walk.open(Gate::open(first, limit, down), key);
        Ok(true)
    }

    /// What has to be loaded before an entity's limits on a resource are known, its parents' included. Asks for it.
    pub fn missing(
        &self,
        space: SpaceId,
        entity: &[u8],
        resource: &str,
        now: Nanos,
    ) -> Result<Option<Undecided>, Refused> {
        let Some(remote) = &self.remote else { return Ok(None) };
        let (space, mut entity) = (self.at(space), Arc::<[u8]>::from(entity));
        let resource = self.words.intern(resource)?;
        for _ in 0..crate::entity::MAX_LEVELS {
            let who = self.who(space.id, &entity);
            let mut shard = self.shards.lock(who.shard());
            let place = self.reach(&mut shard, space, &who, Name::Word(resource), Made::Always, now)?;
            let (key, account) = keyed(&mut shard, place);
            let Some(state) = account.remote() else { return Ok(None) };
            state.use_it();
            let down = state.failed_until > now;
            if !state.is_loaded() && !down {
                if !state.is_loading() {
                    state.set_loading(true);
                    remote.post(Want::Load(key.clone()));
                }
                shard.held.set(place.holder);
                drop(shard);
                remote.wake();
                return Ok(Some(Undecided { missing: vec![key] }));
            }
            drop(shard);
            let name = self.words.name(resource);
            let Some(parent) = self.look(space, &entity, (resource, &name)).parent else { break };
            entity = Arc::from(&*parent);
        }
        Ok(None)
    }

    /// The accounts of an entity on a resource and of its parents that are charged with it, as far as they are known.
    pub fn account_keys(
        &self,
        space: SpaceId,
        entity: &[u8],
        resource: &str,
    ) -> Result<Vec<AccountKey>, Refused> {
        let (space, resource) = (self.at(space), self.words.intern(resource)?);
        let name = self.words.name(resource);
        let (mut keys, mut next) = (Vec::new(), Some(Arc::<[u8]>::from(entity)));
        while let Some(entity) = next.filter(|_| keys.len() < crate::entity::MAX_LEVELS) {
            next = self.look(space, &entity, (resource, &name)).parent.map(|parent| Arc::from(&*parent));
            keys.push(AccountKey { space: space.id, entity, resource, call: Word::NONE });
        }
        Ok(keys)
    }

    /// What the table says of an account. What differs from what is known becomes true as of now.
    pub fn loaded(&self, key: &AccountKey, loaded: Loaded, now: Nanos) -> Result<(), Refused> {
        self.loaded_with(key, loaded, now, || {})
    }

    /// The same. `see` tells what else was read of the account, once its limits are known and before anybody acts on them.
    pub fn loaded_with(
        &self,
        key: &AccountKey,
        loaded: Loaded,
        now: Nanos,
        see: impl FnOnce(),
    ) -> Result<(), Refused> {
        let space = self.at(key.space);
        // Where something is not understood nothing is taken over: it would be as if that level said nothing.
        let applied = match &loaded.unsupported {
            None if !loaded.deleted => self.take_over(space, key, &loaded, now),
            _ => Ok(()),
        };
        see();
        let who = self.who(space.id, &key.entity);
        let mut shard = self.shards.lock(who.shard());
        let place = self.reach(&mut shard, space, &who, Name::Word(key.resource), Made::Always, now)?;
        let account = shard.holder(place.holder).account(place.account);
        let mut lane_waits = false;
        if let Some(state) = account.remote() {
            state.unsupported = match (&loaded.unsupported, &applied) {
                (Some(what), _) => Some(what.as_str().into()),
                (None, Err(refused)) => Some(refused.to_string().into()),
                (None, Ok(())) => None,
            };
            state.set_deleted(loaded.deleted);
            state.set_loaded(true);
            state.set_loading(false);
            state.failed_until = 0;
            lane_waits = state.take_lane_waits();
        }
        account.post_late(now);
        shard.loaded.set(place.holder);
        shard.held.set(place.holder);
        self.post(&mut shard, place.holder, place.account, None);
        drop(shard);
        self.hold_waiting(key, now);
        if lane_waits {
            // A lane may wait at a child's bucket for its parent to be known.
            self.shape.fetch_add(1, Ordering::Release);
            self.post_space(space.id);
        }
        self.weighed(key, now);
        self.tell_decided(key);
        applied
    }

    fn take_over(&self, space: &Space, key: &AccountKey, loaded: &Loaded, now: Nanos) -> Result<(), Refused> {
        let resource = self.words.name(key.resource);
        let name = &*space.name;
        let entity = key.entity.to_vec();
        let default = tidegate_core::ledger::name::DEFAULT_RESOURCE;
        let mut rows = Vec::new();
        if self.entity(space.id, &entity).as_deref() != loaded.entity.as_ref() {
            let json = loaded.entity.as_ref().and_then(|entity| serde_json::to_vec(entity).ok());
            rows.push(Kept::Entity { space: name.into(), id: entity.clone(), json });
        }
        let mut scopes = vec![(Scope::Entity(entity.clone(), default.into()), &loaded.default)];
        if !loaded.unread.resource {
            scopes.push((Scope::Resource(resource.to_string()), &loaded.resource));
        }
        if !loaded.unread.system {
            scopes.push((Scope::System, &loaded.system));
        }
        match *resource == *default {
            // Its own settings for whatever resource are its settings for this one.
            true => scopes[0].1 = if loaded.exact.is_some() { &loaded.exact } else { &loaded.default },
            false => scopes.push((Scope::Entity(entity, resource.to_string()), &loaded.exact)),
        }
        for (scope, settings) in scopes {
            let settings: Option<&ScopeSettings> = settings.as_ref().filter(|settings| !settings.is_empty());
            if self.scope(space.id, &scope).as_deref() != settings {
                let json = settings.and_then(|settings| serde_json::to_vec(settings).ok());
                rows.push(Kept::Scope { space: name.into(), key: scope.to_bytes(), json });
            }
        }
        match rows.is_empty() {
            true => Ok(()),
            false => self.apply(&rows, now),
        }
    }

    /// The table could not be asked about an account, and is not before `until`.
    pub fn load_failed(&self, key: &AccountKey, until: Nanos, now: Nanos) {
        let who = self.who(key.space, &key.entity);
        let mut shard = self.shards.lock(who.shard());
        if let Some(place) = shard.find(&who).and_then(|holder| find(&shard, holder, key)) {
            let holder = shard.holder(place.holder);
            self.refresh(self.at(key.space), holder, place.account, now);
            if let Some(state) = holder.account(place.account).remote() {
                state.set_loading(false);
                state.failed_until = until;
            }
            shard.held.set(place.holder);
            // Those who wait there do not wait for an answer any more.
            self.post(&mut shard, place.holder, place.account, None);
        }
        drop(shard);
        self.not_weighed(key, until);
        self.tell_decided(key);
    }

    /// What is known of a namespace may be of before it was deleted, or before it was recovered: its accounts are loaded
    /// again when they are next touched, those that somebody waits at now.
    pub fn load_again(&self, space: SpaceId) {
        for shard in 0..SHARDS {
            let mut shard = self.shards.lock(shard);
            let Shard { holders, loaded, .. } = &mut *shard;
            let mut next = loaded.next(0);
            while let Some(at) = next {
                next = loaded.next(at + 1);
                let Some(holder) = holders.get_mut(at).filter(|holder| holder.space == space) else {
                    continue;
                };
                holder.each_account_mut(|account| {
                    if let Some(state) = account.remote() {
                        state.set_loaded(false);
                        state.set_deleted(false);
                        state.unsupported = None;
                    }
                });
            }
        }
        self.post_space(space);
        self.freed.wake();
    }

    /// Accounts that were touched since the last call, to be loaded again. Those that were not are forgotten: they are
    /// loaded when they are next touched.
    pub fn used(&self) -> Used {
        let mut used = Used::default();
        for shard in 0..SHARDS {
            let mut from = Some(0);
            while let Some(at) = from {
                from = used_segment(&mut self.shards.lock(shard), at, &mut used);
            }
        }
        used
    }

    /// Does something with an account that is there.
    pub(super) fn with_account<T>(
        &self,
        key: &AccountKey,
        now: Nanos,
        does: impl FnOnce(&Ledger, &mut Account) -> T,
    ) -> Option<T> {
        let who = self.who(key.space, &key.entity);
        let mut shard = self.shards.lock(who.shard());
        let place = find(&shard, shard.find(&who)?, key)?;
        self.refresh(self.at(key.space), shard.holder(place.holder), place.account, now);
        shard.held.set(place.holder);
        Some(does(self, shard.holder(place.holder).account(place.account)))
    }

    /// Whether the table is being asked about an account.
    pub(super) fn is_open(&self, key: &AccountKey) -> bool {
        let who = self.who(key.space, &key.entity);
        let mut shard = self.shards.lock(who.shard());
        let Some(place) = shard.find(&who).and_then(|holder| find(&shard, holder, key)) else { return false };
        let account = shard.holder(place.holder).account(place.account);
        account.remote().is_some_and(|state| state.is_open())
    }

    pub(super) fn tell_decided(&self, key: &AccountKey) {
        self.freed.wake();
        if let Some(remote) = &self.remote {
            remote.wake();
            remote.tell(key);
        }
    }

    /// Whom to wake when something is wanted of the table. The first one stays.
    pub fn on_wanted(&self, wake: Box<dyn Fn() + Send + Sync>) {
        if let Some(remote) = &self.remote {
            remote.on_wanted(wake);
        }
    }

    /// What is wanted since the last call.
    pub fn take_wanted(&self, out: &mut Vec<Want>) {
        if let Some(remote) = &self.remote {
            remote.take(out);
        }
    }
}

/// Accounts that were touched lately.
#[derive(Debug, Default)]
pub struct Used {
    /// Those that draw, and so know their buckets.
    pub drawing: Vec<AccountKey>,
    /// Those whose limits are bypassed: how full their buckets are is known to who looks.
    pub bypassed: Vec<AccountKey>,
}

fn used_segment(shard: &mut Shard, from: u32, out: &mut Used) -> Option<u32> {
    let mut next = shard.loaded.next(from);
    for _ in 0..SEGMENT {
        let at = next?;
        let mut any = false;
        if let Some(holder) = shard.holders.get_mut(at) {
            let (space, entity) = (holder.space, Arc::<[u8]>::from(&*holder.id));
            holder.each_account_mut(|account| {
                let (resource, call) = (account.resolved.resource, account.resolved.call);
                let (watched, mode) = (account.is_watched(), account.resolved.mode);
                let Some(state) = account.remote().filter(|state| state.is_loaded()) else { return };
                if call != Word::NONE {
                    return;
                }
                let used = state.take_used() || watched;
                state.set_loaded(used);
                if used {
                    any = true;
                    let out = match mode {
                        Some(Mode::Bypass) => &mut out.bypassed,
                        _ => &mut out.drawing,
                    };
                    out.push(AccountKey { space, entity: Arc::clone(&entity), resource, call });
                }
            });
        }
        if !any {
            shard.loaded.unset(at);
        }
        next = shard.loaded.next(at + 1);
    }
    next
}

/// The account of a key.
pub(super) fn find(shard: &Shard, holder: u32, key: &AccountKey) -> Option<Place> {
    let is =
        |account: &Account| (account.resolved.resource, account.resolved.call) == (key.resource, key.call);
    Some(Place { holder, account: shard.holders.get(holder)?.position(is)? })
}

/// An account and its key.
pub(crate) fn keyed(shard: &mut Shard, place: Place) -> (AccountKey, &mut Account) {
    let holder = shard.holder(place.holder);
    let (space, entity) = (holder.space, Arc::from(&*holder.id));
    let account = holder.account(place.account);
    let (resource, call) = (account.resolved.resource, account.resolved.call);
    (AccountKey { space, entity, resource, call }, account)
}
