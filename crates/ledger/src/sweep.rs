//! Forgetting: what is full, has nothing in flight and is not counted in equals what was never there.

use parking_lot::MutexGuard;
use tidegate_core::Nanos;

use crate::apply::drop_accounts;
use crate::leases::LEASE_SHARDS;
use crate::ledger::Ledger;
use crate::refill::REMEMBERED_NS;
use crate::shard::{SHARDS, Shard};
use crate::space::SpaceId;

/// Holders looked at under one lock.
const SEGMENT: u32 = 32;

/// Where the sweep goes on.
#[derive(Default)]
pub(crate) struct Cursor {
    shard: usize,
    at: u32,
}

impl Ledger {
    /// Looks at this many entities, going on where it last stopped, and drops what is idle.
    pub fn sweep(&self, now: Nanos, budget: usize) {
        self.forget_weights(now);
        let mut cursor = self.sweeping.lock();
        let (mut looked_at, mut ended) = (0, 0);
        while looked_at < budget && ended <= SHARDS {
            let mut shard = self.shards.lock(cursor.shard);
            let end = shard.holders.end();
            let upto = end.min(cursor.at.saturating_add(SEGMENT));
            (cursor.at..upto).for_each(|at| {
                // Full under terms that are over is not full.
                self.adopt_all(&mut shard, at, now);
                drop_idle(&mut shard, at, now);
            });
            looked_at += (upto.saturating_sub(cursor.at)) as usize;
            cursor.at = upto;
            if upto >= end {
                shard.done.retain(|_, at| at.saturating_add(REMEMBERED_NS) > now);
                (cursor.shard, cursor.at) = ((cursor.shard + 1) % SHARDS, 0);
                ended += 1;
            }
            MutexGuard::unlock_fair(shard);
        }
    }

    /// Forgets all of a namespace. Nobody uses it any more: it was deleted.
    pub fn clear_space(&self, space: SpaceId) {
        let space = self.at(space);
        self.drop_state(space.id);
        for shard in 0..SHARDS {
            let mut shard = self.shards.lock(shard);
            for at in 0..shard.holders.end() {
                if let Some(holder) = shard.holders.get_mut(at).filter(|holder| holder.space == space.id) {
                    holder.known = None;
                    shard.drop_if_nothing(at);
                }
            }
            shard.closed.retain(|row| row.space != space.id);
            let prefix = [space.name.as_bytes(), &[0]].concat();
            shard.done.retain(|operation, _| !operation.starts_with(&prefix));
            shard.done_lately.retain(|(operation, _)| !operation.starts_with(&prefix));
        }
        *space.tree.write() = Default::default();
        space.change(0, |scopes| *scopes = Default::default());
        self.shape.fetch_add(1, std::sync::atomic::Ordering::Release);
        self.cleared.lock().push(space.name.clone());
        self.note_change();
    }
}

impl Ledger {
    /// Drops the buckets and leases of a namespace, and leaves what is set.
    pub(crate) fn drop_state(&self, space: SpaceId) {
        for shard in 0..LEASE_SHARDS {
            let mut leases = self.leases.lock_shard(shard);
            let all = (0..leases.leases.end()).filter_map(|at| leases.leases.get(at));
            let ids: Vec<_> = all.filter(|lease| lease.space == space).map(|lease| lease.id).collect();
            ids.into_iter().for_each(|id| drop(leases.remove_unwritten(id)));
        }
        for shard in 0..SHARDS {
            let mut shard = self.shards.lock(shard);
            for at in 0..shard.holders.end() {
                if shard.holders.get(at).is_some_and(|holder| holder.space == space) {
                    drop_accounts(&mut shard, at);
                    shard.drop_if_nothing(at);
                }
            }
        }
    }
}

fn drop_idle(shard: &mut Shard, at: u32, now: Nanos) {
    let Some(holder) = shard.holders.get_mut(at) else { return };
    let dropped = holder.drop_accounts(|account| account.is_idle(now));
    shard.accounts -= dropped;
    if dropped > 0 && shard.holder(at).accounts.is_none() {
        shard.changed.unset(at);
        shard.counting.unset(at);
    }
    shard.drop_if_nothing(at);
}
