//! All names: setting, looking, closing.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tidegate_core::bucket::{Bucket, Ready};
use tidegate_core::{Decision, Limit, Nanos};

use super::named::{Entry, Named};
use super::shard::Shard;

pub(super) const SHARDS: usize = 16;

/// Named limits. See the module.
pub struct Buckets {
    random: RandomState,
    shards: [Mutex<Shard>; SHARDS],
    /// Whether anything has changed since it was last written down.
    pub(super) changed: AtomicBool,
}

impl Buckets {
    /// No limits: every name passes.
    pub fn new() -> Buckets {
        Buckets { random: RandomState::new(), shards: Default::default(), changed: AtomicBool::new(false) }
    }

    /// Sets the limit of a name. One that it had keeps its tokens, cut to the new burst.
    pub fn set(&self, name: &[u8], limit: Limit, now: Nanos) {
        self.edit(name, now, |entry| entry.set(limit, now));
    }

    /// Removes the limit of a name, and opens it. True if it had one.
    pub fn remove(&self, name: &[u8]) -> bool {
        let hash = self.hash(name);
        self.lock(shard_of(hash)).remove(hash, name).is_some_and(|entry| entry.limit.is_some())
    }

    /// Lets nobody take from a name before `until`, whether it has a limit or not. A name that is closed for longer
    /// stays so.
    pub fn close_until(&self, name: &[u8], until: Nanos, now: Nanos) {
        self.edit(name, now, |entry| entry.closed_until = entry.closed_until.max(until));
    }

    /// Whole tokens left under a name, negative if in debt; `None` if it has no limit.
    pub fn tokens(&self, name: &[u8], now: Nanos) -> Option<i64> {
        self.get(name, now).filter(|named| named.limit.is_some()).map(|named| named.tokens)
    }

    /// What a name is at; nothing if it neither has a limit nor is closed.
    pub fn get(&self, name: &[u8], now: Nanos) -> Option<Named> {
        let hash = self.hash(name);
        let mut shard = self.lock(shard_of(hash));
        shard.find(hash, name).filter(|entry| !entry.is_idle(now)).map(|entry| entry.shown(now))
    }

    /// The limit of a name.
    pub fn limit(&self, name: &[u8]) -> Option<Limit> {
        let hash = self.hash(name);
        self.lock(shard_of(hash)).find(hash, name)?.limit
    }

    /// Every name, in order.
    pub fn list(&self, now: Nanos) -> Vec<Named> {
        let mut all = Vec::new();
        for shard in 0..SHARDS {
            let mut shard = self.lock(shard);
            all.extend(shard.entries().filter(|entry| !entry.is_idle(now)).map(|entry| entry.shown(now)));
        }
        all.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// When `n` could be taken from a name. Takes nothing.
    pub fn ready(&self, name: &[u8], n: u64, now: Nanos) -> Ready {
        let hash = self.hash(name);
        self.lock(shard_of(hash)).find(hash, name).map_or(Ready::Now, |entry| entry.ready(n, now))
    }

    /// Takes `n` from a name if they are there, and tells all about it; nothing if it neither has a limit nor is closed.
    pub fn decide(&self, name: &[u8], n: u64, now: Nanos) -> Option<Decision> {
        let hash = self.hash(name);
        let mut shard = self.lock(shard_of(hash));
        let entry = shard.find(hash, name).filter(|entry| !entry.is_idle(now))?;
        let ready = entry.try_take(n, now);
        let decision = entry.decision(ready, now);
        if decision.allowed {
            self.note(&mut shard, hash, name);
        }
        Some(decision)
    }

    /// Gives `n` tokens back, up to a full bucket.
    pub fn refund(&self, name: &[u8], n: u64, now: Nanos) {
        let hash = self.hash(name);
        let mut shard = self.lock(shard_of(hash));
        let Some(entry) = shard.find(hash, name) else { return };
        let Some(limit) = entry.limit else { return };
        entry.bucket.charge(&limit, -i64::try_from(n).unwrap_or(i64::MAX), now);
        entry.bucket.trim(&limit);
        self.note(&mut shard, hash, name);
    }

    /// Changes an entry, made if need be.
    pub(super) fn edit(&self, name: &[u8], now: Nanos, change: impl FnOnce(&mut Entry)) {
        let hash = self.hash(name);
        let mut shard = self.lock(shard_of(hash));
        match shard.find(hash, name) {
            Some(entry) => change(entry),
            None => {
                let bucket = Bucket::empty(now);
                let (name, closed_until) = (name.into(), 0);
                let mut entry = Entry { name, hash, limit: None, bucket, closed_until, changed: false };
                change(&mut entry);
                shard.insert(entry, now);
            }
        }
        self.note(&mut shard, hash, name);
    }

    /// Notes that an entry has changed.
    pub(super) fn note(&self, shard: &mut Shard, hash: u64, name: &[u8]) {
        if shard.note(hash, name) {
            self.changed.store(true, Ordering::Relaxed);
        }
    }

    pub(super) fn hash(&self, name: &[u8]) -> u64 {
        self.random.hash_one(name)
    }

    pub(super) fn lock(&self, shard: usize) -> MutexGuard<'_, Shard> {
        self.shards[shard].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn shard_of(hash: u64) -> usize {
    (hash >> 60) as usize
}

impl Default for Buckets {
    fn default() -> Buckets {
        Buckets::new()
    }
}
