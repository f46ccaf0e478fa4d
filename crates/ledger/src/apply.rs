//! Rows that are on disk become true: at the start all of them, then one edit after another.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tidegate_core::Nanos;

use crate::account::Account;
use crate::edit::Kept;
use crate::entity::Entity;
use crate::id::Id;
use crate::ledger::Ledger;
use crate::refused::Refused;
use crate::resolved::Settings;
use crate::settings::{Scope, ScopeSettings};
use crate::shard::Shard;
use crate::space::Space;
use crate::words::Word;

impl Ledger {
    /// Makes kept rows true, in any order. A row that is none is refused, and those before it hold.
    pub fn apply(&self, kept: &[Kept], now: Nanos) -> Result<(), Refused> {
        let applied = kept.iter().try_for_each(|row| self.apply_row(row, now));
        self.freed.wake();
        applied
    }

    fn apply_row(&self, row: &Kept, now: Nanos) -> Result<(), Refused> {
        let unread =
            |error: serde_json::Error| Refused::InvalidSetting(format!("a kept row is unreadable: {error}"));
        match row {
            Kept::Entity { space, id, json } => {
                let space = self.at(self.space(space)?);
                match json {
                    Some(json) => {
                        let entity: Entity = serde_json::from_slice(json).map_err(unread)?;
                        self.put_entity(space, id, entity);
                    }
                    None => self.delete_entity(space, id, now),
                }
            }
            Kept::Scope { space, key, json } => {
                let space = self.at(self.space(space)?);
                let scope = Scope::from_bytes(key)
                    .ok_or_else(|| Refused::InvalidSetting("a kept row has an unreadable key".into()))?;
                let told: Option<ScopeSettings> =
                    json.as_ref().map(|json| serde_json::from_slice(json).map_err(unread)).transpose()?;
                let settings = told.map(|told| self.share(told)).transpose()?;
                self.set_scope(space, &scope, settings, now)?;
            }
        }
        self.shape.fetch_add(1, Ordering::Release);
        Ok(())
    }

    fn put_entity(&self, space: &Space, id: &[u8], entity: Entity) {
        let mut tree = space.tree.write();
        let shared = |id: &[u8]| tree.shared(id).unwrap_or_else(|| Id::new(id));
        let parent = entity.parent.as_ref().map(|parent| shared(parent.as_bytes()));
        let who = self.who(space.id, id);
        let mut shard = self.shards.lock(who.shard());
        let at = shard.find(&who).unwrap_or_else(|| shard.insert(&who, shared(id)));
        let was_known = shard.holder(at).has_record();
        let known = shard.known(at);
        let (old_parent, old_cascade) = (known.parent.clone(), known.cascade);
        if entity.weight.is_some() {
            self.weighted.store(true, Ordering::Release);
        }
        known.set(entity, parent.clone());
        let moved = was_known && (old_parent != parent || old_cascade != known.cascade);
        if !was_known {
            self.post_holder(&mut shard, at);
        }
        let id = shard.holder(at).id.clone();
        drop(shard);
        tree.add(&id);
        if old_parent != parent {
            old_parent.iter().for_each(|old| tree.take_from(&id, old));
            parent.iter().for_each(|parent| tree.put_below(&id, parent));
        }
        drop(tree);
        if moved {
            self.post_space(space.id);
        }
    }

    /// The entity goes with its buckets.
    fn delete_entity(&self, space: &Space, id: &[u8], now: Nanos) {
        let who = self.who(space.id, id);
        let mut tree = space.tree.write();
        let mut shard = self.shards.lock(who.shard());
        if let Some(at) = shard.find(&who) {
            self.post_holder(&mut shard, at);
            let parent = shard.known(at).parent.take();
            parent.iter().for_each(|parent| tree.take_from(id, parent));
            shard.known(at).forget();
            let holder = shard.holder(at);
            for account in 0..holder.each_account().count() {
                self.refresh(space, holder, account, now);
            }
            // What is in flight comes back one day, and must not be given to others until then; and a minute is counted
            // to its end.
            keep_accounts(&mut shard, at, |account| account.forget() | account.is_counting());
            let gone = (space.id, shard.holder(at).id.clone());
            shard.gone.push(gone);
            shard.drop_if_nothing(at);
        }
        tree.remove(id);
        drop(shard);
        drop(tree);
        self.post_space(space.id);
        self.note_change();
    }

    fn set_scope(
        &self,
        space: &Space,
        scope: &Scope,
        settings: Option<Arc<Settings>>,
        now: Nanos,
    ) -> Result<(), Refused> {
        match scope {
            Scope::System => {
                space.change(now, |scopes| scopes.system = settings);
                self.note_new_terms();
            }
            Scope::Resource(resource) => {
                let word = self.words.intern(resource)?;
                space.change(now, |scopes| {
                    match settings {
                        Some(settings) => scopes.resources.insert(word, settings),
                        None => scopes.resources.remove(&word),
                    };
                });
                self.note_new_terms();
            }
            Scope::Entity(entity, resource) => {
                let word = self.words.intern(resource)?;
                if self.set_own(space, entity, word, settings, now) {
                    return Ok(());
                }
            }
        }
        self.post_space(space.id);
        Ok(())
    }

    /// Sets what an entity has of its own. True if it matters to nobody else.
    fn set_own(
        &self,
        space: &Space,
        entity: &[u8],
        resource: Word,
        settings: Option<Arc<Settings>>,
        now: Nanos,
    ) -> bool {
        let name = self.words.name(resource);
        let who = self.who(space.id, entity);
        let mut tree = space.tree.write();
        let mut shard = self.shards.lock(who.shard());
        let Some(at) = shard.find(&who).or_else(|| {
            let id = || tree.shared(entity).unwrap_or_else(|| Id::new(entity));
            settings.as_ref().map(|_| shard.insert(&who, id()))
        }) else {
            return true;
        };
        self.bring_up_to(&mut shard, space, at, now);
        let others = |settings: Option<&Arc<Settings>>| settings.map(|set| (set.told.mode, set.told.cascade));
        let (before, after) = (others(shard.known(at).settings(resource)), others(settings.as_ref()));
        let is_set = settings.is_some();
        shard.known(at).set_settings(resource, settings);
        self.adopt_all(&mut shard, at, now);
        self.post_holder(&mut shard, at);
        tree.set_custom(&shard.holder(at).id, &name, is_set);
        shard.drop_if_nothing(at);
        before.unwrap_or_default() == after.unwrap_or_default()
    }

    /// Counts the time up to now under the terms that have held, and marks them as past.
    fn bring_up_to(&self, shard: &mut Shard, space: &Space, at: u32, now: Nanos) {
        let holder = shard.holder(at);
        for account in 0..holder.each_account().count() {
            self.refresh(space, holder, account, now);
            holder.account(account).each(|_, bound, slot| slot.refill(bound, now));
            holder.account(account).set_stale();
        }
    }
}

/// Drops all accounts of a holder, whatever they hold.
pub(crate) fn drop_accounts(shard: &mut Shard, at: u32) {
    keep_accounts(shard, at, |_| false);
}

/// Makes the accounts of a holder as they were at first, and drops those of which nothing is to be kept.
pub(crate) fn keep_accounts(shard: &mut Shard, at: u32, mut is_kept: impl FnMut(&mut Account) -> bool) {
    let Shard { holders, accounts, counting, changed, watched, .. } = shard;
    let Some(holder) = holders.get_mut(at) else { return };
    *accounts -= holder.drop_accounts(|account| !is_kept(account));
    counting.unset(at);
    changed.unset(at);
    watched.remove(&at);
    holder.each_account_mut(|account| {
        if account.is_counting() {
            counting.set(at);
        }
        if account.is_changed() {
            changed.set(at);
        }
    });
}
