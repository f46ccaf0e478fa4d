//! Declared limits: set once, taken by name, several at a time, all or none.
//!
//! The names of a call are locked shard by shard in one fixed order, every bucket is asked before any is
//! touched, and nothing is ever taken and put back, so no other caller sees a half-made decision.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use hashbrown::HashTable;
use tidegate_core::bucket::{Bucket, Ready};
use tidegate_core::{Limit, Nanos};

const SHARDS: usize = 16;

/// Names that a call may charge without the heap.
const INLINE: usize = 8;

/// Why nothing was taken: the charge that has to wait longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Short {
    /// Its place in the call.
    pub charge: usize,
    /// When it could pass; `Never` if it asks for more than the burst.
    pub ready: Ready,
}

impl std::fmt::Display for Short {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.ready {
            Ready::Never => {
                write!(f, "charge {} asks for more than its burst and can never pass", self.charge)
            }
            _ => write!(f, "charge {} is short of tokens", self.charge),
        }
    }
}

impl std::error::Error for Short {}

struct Declared {
    name: Box<[u8]>,
    hash: u64,
    limit: Limit,
    bucket: Bucket,
}

type Table = HashTable<Declared>;

/// See the module.
pub struct Buckets {
    random: RandomState,
    shards: [Mutex<Table>; SHARDS],
}

/// A charge with its hash worked out.
#[derive(Clone, Copy, Default)]
struct Charge<'a> {
    hash: u64,
    name: &'a [u8],
    amount: u64,
    index: usize,
}

impl Charge<'_> {
    fn shard(&self) -> usize {
        (self.hash >> 60) as usize
    }

    fn find<'t>(&self, table: &'t mut Table) -> Option<&'t mut Declared> {
        table.find_mut(self.hash, |declared| *declared.name == *self.name)
    }
}

impl Buckets {
    /// No limits: every name passes.
    pub fn new() -> Buckets {
        Buckets { random: RandomState::new(), shards: Default::default() }
    }

    /// Sets the limit of a name. One that it had keeps its tokens, cut to the new burst.
    pub fn set(&self, name: &[u8], limit: Limit, now: Nanos) {
        let charge = self.charge((0, (name, 0)));
        let mut table = self.lock(charge.shard());
        match charge.find(&mut table) {
            Some(declared) => {
                declared.bucket.change(&declared.limit, &limit, now);
                declared.limit = limit;
            }
            None => {
                let bucket = Bucket::full(&limit, now);
                let declared = Declared { name: name.into(), hash: charge.hash, limit, bucket };
                table.insert_unique(charge.hash, declared, |declared| declared.hash);
            }
        }
    }

    /// Removes the limit of a name. True if it had one.
    pub fn remove(&self, name: &[u8]) -> bool {
        let charge = self.charge((0, (name, 0)));
        let mut table = self.lock(charge.shard());
        let found = table.find_entry(charge.hash, |declared| *declared.name == *name);
        found.map(|entry| entry.remove()).is_ok()
    }

    /// Whole tokens left under a name, negative if in debt; `None` if it has no limit.
    pub fn tokens(&self, name: &[u8], now: Nanos) -> Option<i64> {
        let charge = self.charge((0, (name, 0)));
        let mut table = self.lock(charge.shard());
        let declared = charge.find(&mut table)?;
        declared.bucket.refill(&declared.limit, now);
        Some(declared.bucket.tokens(&declared.limit))
    }

    /// Takes every charge, or none. A name without a limit passes; a name that comes twice pays twice.
    pub fn take_all<N: AsRef<[u8]>>(&self, charges: &[(N, u64)], now: Nanos) -> Result<(), Short> {
        let parts = charges.iter().map(|(name, amount)| (name.as_ref(), *amount)).enumerate();
        if let [(name, amount)] = charges {
            return self.take_one(self.charge((0, (name.as_ref(), *amount))), now);
        }
        if charges.len() > INLINE {
            let mut charges: Vec<Charge<'_>> = parts.map(|part| self.charge(part)).collect();
            return self.take_sorted(&mut charges, now);
        }
        let mut buffer = [Charge::default(); INLINE];
        parts.for_each(|part| buffer[part.0] = self.charge(part));
        self.take_sorted(&mut buffer[..charges.len()], now)
    }

    fn take_one(&self, charge: Charge<'_>, now: Nanos) -> Result<(), Short> {
        let mut table = self.lock(charge.shard());
        let Some(declared) = charge.find(&mut table) else { return Ok(()) };
        match declared.bucket.try_take(&declared.limit, charge.amount, now) {
            Ready::Now => Ok(()),
            ready => Err(Short { charge: charge.index, ready }),
        }
    }

    fn take_sorted(&self, charges: &mut [Charge<'_>], now: Nanos) -> Result<(), Short> {
        // By shard, so that locks are taken in one order; by name, so that a name's charges add up.
        charges.sort_unstable_by_key(|charge| (charge.hash, charge.name));
        let mut guards: [Option<MutexGuard<'_, Table>>; SHARDS] = Default::default();
        for charge in charges.iter() {
            guards[charge.shard()].get_or_insert_with(|| self.lock(charge.shard()));
        }
        let groups = || charges.chunk_by(|a, b| (a.hash, a.name) == (b.hash, b.name));
        let mut worst: Option<Short> = None;
        for group in groups() {
            let ready = self.ask(group, &mut guards, now);
            if ready != Ready::Now && worst.is_none_or(|worst| later(ready, worst.ready)) {
                worst = Some(Short { charge: group[0].index, ready });
            }
        }
        if let Some(short) = worst {
            return Err(short);
        }
        for group in groups() {
            let declared = guards[group[0].shard()].as_mut().and_then(|table| group[0].find(table));
            if let Some(declared) = declared {
                let ready = declared.bucket.try_take(&declared.limit, total(group), now);
                assert_eq!(ready, Ready::Now, "a bucket that could pay no longer can, under its lock");
            }
        }
        Ok(())
    }

    fn ask(
        &self,
        group: &[Charge<'_>],
        guards: &mut [Option<MutexGuard<'_, Table>>; SHARDS],
        now: Nanos,
    ) -> Ready {
        let table = guards[group[0].shard()].as_mut();
        let Some(declared) = table.and_then(|table| group[0].find(table)) else { return Ready::Now };
        declared.bucket.refill(&declared.limit, now);
        declared.bucket.ready(&declared.limit, total(group))
    }

    fn charge<'a>(&self, (index, (name, amount)): (usize, (&'a [u8], u64))) -> Charge<'a> {
        Charge { hash: self.random.hash_one(name), name, amount, index }
    }

    fn lock(&self, shard: usize) -> MutexGuard<'_, Table> {
        self.shards[shard].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Buckets {
    fn default() -> Buckets {
        Buckets::new()
    }
}

fn total(group: &[Charge<'_>]) -> u64 {
    group.iter().fold(0, |sum, charge| sum.saturating_add(charge.amount))
}

fn later(a: Ready, b: Ready) -> bool {
    match (a, b) {
        (_, Ready::Never) => false,
        (Ready::Never, _) => true,
        (Ready::At(a), Ready::At(b)) => a > b,
        (_, Ready::Now) => true,
        (Ready::Now, _) => false,
    }
}
