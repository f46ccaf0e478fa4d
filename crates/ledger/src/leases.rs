//! Leases: who holds what until when.
//!
//! A lease that ends before it was ever written down leaves no trace on disk, which is most of them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicU64, Ordering};

use hashbrown::HashTable;
use parking_lot::{Mutex, MutexGuard};
use tidegate_core::Nanos;

use crate::grant::{Item, Items};
use crate::lease::LeaseId;
use crate::settings::OnExpiry;
use crate::slab::{Bits, Slab};
use crate::space::SpaceId;

pub(crate) const LEASE_SHARDS: usize = 64;

/// The last bits of a lease's number are the node's that gave it, where several share a table.
const NODE_BITS: u32 = 10;
const MAX_NODE: u16 = (1 << NODE_BITS) - 1;

/// Entries of ended leases that a heap may have whatever its size.
const FEW: usize = 64;

/// One lease.
pub(crate) struct Lease {
    pub(crate) id: LeaseId,
    pub(crate) space: SpaceId,
    pub(crate) on_expiry: OnExpiry,
    /// Whether it was ever written down.
    pub(crate) written: bool,
    pub(crate) taken_at: Nanos,
    pub(crate) expires_at: Nanos,
    pub(crate) items: Box<[Item]>,
}

/// Leases whose ids hash alike.
#[derive(Default)]
pub(crate) struct LeaseShard {
    table: HashTable<u32>,
    pub(crate) leases: Slab<Lease>,
    /// When each expires. Entries of leases that have ended, or were extended, are passed over.
    expiries: BinaryHeap<Reverse<(Nanos, LeaseId)>>,
    /// Leases that differ from what was last written down.
    pub(crate) changed: Bits,
    /// Leases that were written down and have ended since.
    pub(crate) ended: Vec<LeaseId>,
}

/// All leases.
pub(crate) struct Leases {
    shards: Box<[(Mutex<LeaseShard>, AtomicU64)]>,
    last: AtomicU64,
    /// The number of this node, where several share a table.
    node: Option<u16>,
}

#[inline]
fn spread(id: LeaseId) -> u64 {
    let spread = id.0.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    // Ids are times, whose last bits a clock may leave at 0.
    spread ^ (spread >> 32)
}

impl Leases {
    pub(crate) fn new(node: Option<u16>) -> Leases {
        let shards = (0..LEASE_SHARDS).map(|_| (Mutex::default(), AtomicU64::new(u64::MAX))).collect();
        Leases { shards, last: AtomicU64::new(0), node }
    }

    /// A number that was never given: the time, or the one after the last.
    pub(crate) fn next_id(&self, now: Nanos) -> LeaseId {
        let after = |last: u64| match self.node {
            None => last.saturating_add(1).max(now),
            // Its last bits are the node's.
            Some(node) => {
                let time = (last >> NODE_BITS).saturating_add(1).max(now >> NODE_BITS);
                time << NODE_BITS | u64::from(node & MAX_NODE)
            }
        };
        let (last, order) = (&self.last, Ordering::Relaxed);
        let before = last.fetch_update(order, order, |last| Some(after(last))).unwrap_or(now);
        LeaseId(after(before))
    }

    /// Numbers up to here have been given.
    pub(crate) fn given(&self, id: LeaseId) {
        self.last.fetch_max(id.0, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn lock(&self, id: LeaseId) -> MutexGuard<'_, LeaseShard> {
        self.shards[(spread(id) >> 58) as usize].0.lock()
    }

    pub(crate) fn lock_shard(&self, shard: usize) -> MutexGuard<'_, LeaseShard> {
        self.shards[shard].0.lock()
    }

    pub(crate) fn insert(&self, lease: Lease) {
        let (expires_at, shard) = (lease.expires_at, &self.shards[(spread(lease.id) >> 58) as usize]);
        shard.0.lock().insert(lease);
        shard.1.fetch_min(expires_at, Ordering::Relaxed);
    }

    /// A lease as it was written down.
    pub(crate) fn restore(&self, lease: Lease) {
        let id = lease.id;
        self.insert(lease);
        let mut shard = self.lock(id);
        if let Some(at) = shard.find_at(id) {
            shard.changed.unset(at);
        }
    }

    /// A lease expires at another time.
    pub(crate) fn note_expiry(&self, id: LeaseId, at: Nanos) {
        self.shards[(spread(id) >> 58) as usize].1.fetch_min(at, Ordering::Relaxed);
    }

    /// When the next one may expire: not after it does.
    pub(crate) fn next_expiry(&self) -> Option<Nanos> {
        let soonest = self.shards.iter().map(|(_, soonest)| soonest.load(Ordering::Relaxed)).min();
        soonest.filter(|soonest| *soonest != u64::MAX)
    }

    /// Takes out leases that have expired, at most so many.
    pub(crate) fn take_expired(&self, now: Nanos, max: usize, out: &mut Vec<Lease>) {
        for (shard, soonest) in &self.shards {
            if out.len() >= max {
                return;
            }
            if soonest.load(Ordering::Relaxed) <= now {
                let mut shard = shard.lock();
                let next = shard.take_expired(now, max, out);
                // Under the lock, so that no lease that comes in now is missed.
                soonest.store(next.unwrap_or(u64::MAX), Ordering::Relaxed);
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        (0..LEASE_SHARDS).map(|shard| self.lock_shard(shard).leases.len()).sum()
    }
}

impl LeaseShard {
    fn find_at(&self, id: LeaseId) -> Option<u32> {
        let is = |at: &u32| self.leases.get(*at).is_some_and(|lease| lease.id == id);
        self.table.find(spread(id), is).copied()
    }

    pub(crate) fn find(&self, id: LeaseId) -> Option<&Lease> {
        self.leases.get(self.find_at(id)?)
    }

    /// The lease, to be changed.
    pub(crate) fn change(&mut self, id: LeaseId) -> Option<&mut Lease> {
        let at = self.find_at(id)?;
        self.changed.set(at);
        self.leases.get_mut(at)
    }

    fn insert(&mut self, lease: Lease) {
        self.remove(lease.id);
        let (id, expires_at) = (lease.id, lease.expires_at);
        let at = self.leases.insert(lease);
        let leases = &self.leases;
        self.table.insert_unique(spread(id), at, |at| leases.get(*at).map_or(0, |lease| spread(lease.id)));
        self.changed.set(at);
        self.expiries.push(Reverse((expires_at, id)));
    }

    /// Takes a lease out. If it was written down, its end will be.
    pub(crate) fn remove(&mut self, id: LeaseId) -> Option<Lease> {
        let lease = self.remove_unwritten(id)?;
        if lease.written {
            self.ended.push(id);
        }
        Some(lease)
    }

    /// Takes a lease out, and writes nothing down.
    pub(crate) fn remove_unwritten(&mut self, id: LeaseId) -> Option<Lease> {
        let at = self.find_at(id)?;
        if let Ok(entry) = self.table.find_entry(spread(id), |other| *other == at) {
            entry.remove();
        }
        self.changed.unset(at);
        let lease = self.leases.remove(at)?;
        self.tidy();
        Some(lease)
    }

    /// A lease expires at another time: the old entry is passed over.
    pub(crate) fn expires_at(&mut self, id: LeaseId, at: Nanos) {
        self.expiries.push(Reverse((at, id)));
        self.tidy();
    }

    /// Drops entries of leases that have ended once they are more than the others.
    fn tidy(&mut self) {
        if self.expiries.len() > 2 * self.leases.len() + FEW {
            let mut expiries = std::mem::take(&mut self.expiries);
            expiries.retain(|Reverse((at, id))| self.find(*id).is_some_and(|lease| lease.expires_at == *at));
            self.expiries = expiries;
        }
    }

    /// Tells when the next one expires.
    fn take_expired(&mut self, now: Nanos, max: usize, out: &mut Vec<Lease>) -> Option<Nanos> {
        while let Some(Reverse((at, id))) = self.expiries.peek().copied() {
            let alive = self.find(id).is_some_and(|lease| lease.expires_at == at);
            if alive && (at > now || out.len() >= max) {
                return Some(at);
            }
            self.expiries.pop();
            if alive {
                out.extend(self.remove(id));
            }
        }
        None
    }
}

impl Lease {
    pub(crate) fn new(id: LeaseId, space: SpaceId, items: Items, taken_at: Nanos) -> Lease {
        let items = items.into_boxed_slice();
        Lease { id, space, on_expiry: OnExpiry::Keep, written: false, taken_at, expires_at: 0, items }
    }
}
