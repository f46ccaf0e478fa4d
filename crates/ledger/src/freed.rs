//! Who waits at a bucket is told when there may be more in it.
//!
//! A bucket is watched from when a take was found short, in the same critical section, so nothing that is given back
//! in between is missed. It is posted once, and then is watched no more.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use crate::holder::Holder;
use crate::ledger::Ledger;
use crate::names::BucketName;
use crate::reach::{Made, Name};
use crate::shard::{SHARDS, Shard};
use crate::space::SpaceId;
use crate::words::Word;

type Wake = Box<dyn Fn() + Send + Sync>;

/// Buckets to tell of.
#[derive(Default)]
pub(crate) struct Freed {
    posted: Mutex<Vec<BucketName>>,
    /// Something was posted since somebody was last woken.
    news: AtomicBool,
    wake: OnceLock<Wake>,
}

impl Freed {
    /// Posts a bucket. Locks are held: nobody is woken yet.
    fn post(&self, name: BucketName) {
        self.posted.lock().push(name);
        self.news.store(true, Ordering::Release);
    }

    /// There is something to be told beside buckets.
    pub(crate) fn note_news(&self) {
        self.news.store(true, Ordering::Release);
    }

    /// Wakes whoever wants to know, if there is news. No lock is held.
    #[inline]
    pub(crate) fn wake(&self) {
        let news = self.news.load(Ordering::Acquire) && self.news.swap(false, Ordering::AcqRel);
        if let (true, Some(wake)) = (news, self.wake.get()) {
            wake();
        }
    }
}

impl Ledger {
    /// Whom to wake when a watched bucket is posted. The first one stays.
    pub fn on_freed(&self, wake: Wake) {
        self.freed.wake.get_or_init(|| wake);
    }

    /// The buckets that were posted since the last call.
    pub fn take_freed(&self, out: &mut Vec<BucketName>) {
        out.append(&mut self.freed.posted.lock());
    }

    /// Has a bucket posted the next time that there may be more in it. A take that is short has done so already.
    pub fn watch(&self, name: &BucketName) {
        let (space, who) = (self.at(name.space), self.who(name.space, &name.entity));
        let mut shard = self.shards.lock(who.shard());
        let now = 0;
        if let Ok(place) = self.reach(&mut shard, space, &who, Name::Word(name.resource), Made::Always, now) {
            self.watch_at(&mut shard, place.holder, place.account, name.limit);
        }
    }

    /// Nobody waits at this bucket any more.
    pub fn unwatch(&self, name: &BucketName) {
        let who = self.who(name.space, &name.entity);
        let mut shard = self.shards.lock(who.shard());
        let Some(at) = shard.find(&who) else { return };
        shard.holder(at).each_account_mut(|account| {
            if account.resolved.resource == name.resource {
                account.unwatch(name.limit);
            }
        });
        let any = shard.holder(at).each_account().any(|account| account.is_watched());
        if !any {
            shard.watched.remove(&at);
        }
    }

    pub(crate) fn watch_at(&self, shard: &mut Shard, holder: u32, account: usize, limit: Word) {
        shard.holder(holder).account(account).watch(limit);
        shard.watched.insert(holder);
    }

    pub(crate) fn want_at(&self, shard: &mut Shard, holder: u32, account: usize, limit: Word) {
        shard.holder(holder).account(account).want(limit);
        shard.watched.insert(holder);
    }

    /// Posts the buckets of an account that are watched; of one limit, or of all.
    pub(crate) fn post(&self, shard: &mut Shard, holder: u32, account: usize, limit: Option<Word>) {
        let at = shard.holder(holder);
        if at.account(account).watched().is_empty() {
            return;
        }
        self.post_account(at, account, limit);
        if at.each_account().all(|account| !account.is_watched()) {
            shard.watched.remove(&holder);
        }
    }

    fn post_account(&self, holder: &mut Holder, account: usize, limit: Option<Word>) {
        let (space, entity) = (holder.space, &*holder.id);
        let entity: Arc<[u8]> = entity.into();
        let account = holder.account(account);
        let resource = account.resolved.resource;
        for watched in account.watched().to_vec() {
            if limit.is_none_or(|limit| limit == watched) {
                account.unwatch(watched);
                self.freed.post(BucketName { space, entity: Arc::clone(&entity), resource, limit: watched });
            }
        }
    }

    /// Posts every watched bucket of an entity.
    pub(crate) fn post_holder(&self, shard: &mut Shard, holder: u32) {
        if !shard.watched.remove(&holder) {
            return;
        }
        let at = shard.holder(holder);
        for account in 0..at.each_account().count() {
            // Whatever has changed, more may be possible now.
            at.account(account).take_wanted().into_iter().for_each(|limit| at.account(account).watch(limit));
            self.post_account(at, account, None);
        }
    }

    /// Posts every watched bucket of a namespace: something was set that may matter to any of them.
    pub(crate) fn post_space(&self, space: SpaceId) {
        for shard in 0..SHARDS {
            let mut shard = self.shards.lock(shard);
            let all: Vec<u32> = shard.watched.iter().copied().collect();
            for at in all {
                if shard.holder(at).space == space {
                    self.post_holder(&mut shard, at);
                }
            }
        }
    }
}
