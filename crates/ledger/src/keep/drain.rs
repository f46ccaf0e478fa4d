//! What has changed since the last time, or all of it, as records: some at a time, so that no lock is held for long. Each
//! lock goes to whoever waits for it: this thread would have it again before the other one is awake.

use std::sync::atomic::Ordering;

use parking_lot::MutexGuard;
use tidegate_core::Nanos;

use crate::leases::{LEASE_SHARDS, LeaseShard};
use crate::ledger::Ledger;
use crate::shard::{SHARDS, Shard};

use super::bytes::{put, put_bytes};
use super::record;

/// Entries looked at under one lock.
const SEGMENT: u32 = 32;

/// Records of one segment, until the lock is gone.
struct Records {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Default for Records {
    /// With room for a segment, so that no memory is asked for under a lock.
    fn default() -> Records {
        Records { bytes: Vec::with_capacity(32 << 10), ends: Vec::with_capacity(256) }
    }
}

impl Records {
    fn end(&mut self) {
        self.ends.push(self.bytes.len());
    }

    fn show(&mut self, show: &mut dyn FnMut(&[u8])) {
        let mut from = 0;
        for end in self.ends.drain(..) {
            show(&self.bytes[from..end]);
            from = end;
        }
        self.bytes.clear();
    }
}

impl Ledger {
    /// Whether anything has changed since [`drain`](Ledger::drain) was last called.
    pub fn has_changed(&self) -> bool {
        self.changed.load(Ordering::Relaxed)
    }

    /// Shows a record of everything that has changed since the last call.
    pub fn drain(&self, now: Nanos, show: &mut dyn FnMut(&[u8])) {
        if self.retermed.swap(false, Ordering::AcqRel) {
            self.adopt_new_terms(now);
        }
        self.changed.store(false, Ordering::Relaxed);
        // What is gone goes before what has changed.
        let (mut gone, mut records) = (Records::default(), Records::default());
        for space in std::mem::take(&mut *self.cleared.lock()) {
            gone.bytes.push(record::CLEARED);
            put_bytes(&mut gone.bytes, space.as_bytes());
            gone.end();
        }
        gone.show(show);
        for shard in 0..SHARDS {
            let mut from = Some(0);
            while let Some(at) = from {
                let mut shard = self.shards.lock(shard);
                let entities = std::mem::take(&mut shard.gone);
                let operations = std::mem::take(&mut shard.done_lately);
                from = self.drain_accounts(&mut shard, at, &mut records);
                MutexGuard::unlock_fair(shard);
                for (space, id) in entities {
                    gone.bytes.push(record::GONE);
                    put_bytes(&mut gone.bytes, self.at(space).name.as_bytes());
                    put_bytes(&mut gone.bytes, &id);
                    gone.end();
                }
                operations.iter().for_each(|(operation, at)| put_operation(operation, *at, &mut gone));
                gone.show(show);
                records.show(show);
            }
        }
        for shard in 0..LEASE_SHARDS {
            let mut from = Some(0);
            while let Some(at) = from {
                let mut shard = self.leases.lock_shard(shard);
                let ended = std::mem::take(&mut shard.ended);
                from = self.drain_leases(&mut shard, at, &mut records);
                MutexGuard::unlock_fair(shard);
                for id in ended {
                    gone.bytes.push(record::ENDED);
                    put(&mut gone.bytes, u128::from(id.0));
                    gone.end();
                }
                gone.show(show);
                records.show(show);
            }
        }
    }

    /// A record tells under which terms its levels are. A restart fills them at that rate, so they must be those that hold.
    fn adopt_new_terms(&self, now: Nanos) {
        for shard in 0..SHARDS {
            let (mut at, mut end) = (0, 1);
            while at < end {
                let mut shard = self.shards.lock(shard);
                end = shard.holders.end();
                (at..end.min(at + SEGMENT)).for_each(|at| self.adopt_all(&mut shard, at, now));
                at += SEGMENT;
                MutexGuard::unlock_fair(shard);
            }
        }
    }

    fn drain_accounts(&self, shard: &mut Shard, from: u32, records: &mut Records) -> Option<u32> {
        let mut next = shard.changed.next(from);
        for _ in 0..SEGMENT {
            let at = next?;
            shard.changed.unset(at);
            if let Some(holder) = shard.holders.get_mut(at) {
                let (space, id) = (holder.space, holder.id.clone());
                holder.each_account_mut(|account| {
                    if account.is_changed() {
                        account.set_changed(false);
                        record::account(self, (space, &id), account, &mut records.bytes);
                        records.end();
                    }
                });
            }
            next = shard.changed.next(at + 1);
        }
        next
    }

    fn drain_leases(&self, shard: &mut LeaseShard, from: u32, records: &mut Records) -> Option<u32> {
        let mut next = shard.changed.next(from);
        for _ in 0..SEGMENT {
            let at = next?;
            shard.changed.unset(at);
            if let Some(lease) = shard.leases.get_mut(at) {
                lease.written = true;
                record::lease(self, lease, &mut records.bytes);
                records.end();
            }
            next = shard.changed.next(at + 1);
        }
        next
    }

    /// Shows a record of everything, changed or not: what a snapshot holds.
    pub fn read_all(&self, now: Nanos, show: &mut dyn FnMut(&[u8])) {
        let mut records = Records::default();
        for shard in 0..SHARDS {
            let (mut at, mut end) = (0, 1);
            while at < end {
                let mut shard = self.shards.lock(shard);
                end = shard.holders.end();
                if at == 0 {
                    shard.done.iter().for_each(|(operation, at)| put_operation(operation, *at, &mut records));
                }
                (at..end.min(at + SEGMENT))
                    .for_each(|at| self.read_holder(&mut shard, at, now, &mut records));
                at += SEGMENT;
                MutexGuard::unlock_fair(shard);
                records.show(show);
            }
        }
        for shard in 0..LEASE_SHARDS {
            let (mut at, mut end) = (0, 1);
            while at < end {
                let mut shard = self.leases.lock_shard(shard);
                end = shard.leases.end();
                for at in at..end.min(at + SEGMENT) {
                    if let Some(lease) = shard.leases.get_mut(at) {
                        lease.written = true;
                        record::lease(self, lease, &mut records.bytes);
                        records.end();
                    }
                }
                at += SEGMENT;
                MutexGuard::unlock_fair(shard);
                records.show(show);
            }
        }
    }

    fn read_holder(&self, shard: &mut Shard, at: u32, now: Nanos, records: &mut Records) {
        self.adopt_all(shard, at, now);
        let Some(holder) = shard.holders.get_mut(at) else { return };
        let (space, id) = (holder.space, holder.id.clone());
        holder.each_account_mut(|account| {
            if !account.is_idle(now) {
                record::account(self, (space, &id), account, &mut records.bytes);
                records.end();
            }
        });
    }
}

fn put_operation(operation: &[u8], at: Nanos, records: &mut Records) {
    records.bytes.push(record::DONE);
    put_bytes(&mut records.bytes, operation);
    put(&mut records.bytes, u128::from(at));
    records.end();
}
