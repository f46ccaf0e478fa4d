//! Taking from one name or several.

use std::sync::MutexGuard;

use tidegate_core::Nanos;
use tidegate_core::bucket::{Ready, Short};

use super::shard::Shard;
use super::table::{Buckets, SHARDS, shard_of};

/// Names that a call may charge without the heap.
const INLINE: usize = 8;

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
        shard_of(self.hash)
    }
}

type Guards<'t> = [Option<MutexGuard<'t, Shard>>; SHARDS];

impl Buckets {
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
        let mut shard = self.lock(charge.shard());
        let Some(entry) = shard.find(charge.hash, charge.name) else { return Ok(()) };
        match entry.try_take(charge.amount, now) {
            Ready::Now if entry.changed => Ok(()),
            Ready::Now => {
                self.note(&mut shard, charge.hash, charge.name);
                Ok(())
            }
            ready => Err(Short { charge: charge.index, ready }),
        }
    }

    fn take_sorted(&self, charges: &mut [Charge<'_>], now: Nanos) -> Result<(), Short> {
        // By shard, so that locks are taken in one order; by name, so that a name's charges add up.
        charges.sort_unstable_by_key(|charge| (charge.hash, charge.name));
        let mut guards: Guards<'_> = Default::default();
        for charge in charges.iter() {
            guards[charge.shard()].get_or_insert_with(|| self.lock(charge.shard()));
        }
        let groups = || charges.chunk_by(|a, b| (a.hash, a.name) == (b.hash, b.name));
        let mut worst: Option<Short> = None;
        for group in groups() {
            let ready = ask(group, &mut guards, now);
            if ready != Ready::Now && worst.is_none_or(|worst| ready > worst.ready) {
                worst = Some(Short { charge: group[0].index, ready });
            }
        }
        if let Some(short) = worst {
            return Err(short);
        }
        for group in groups() {
            let Charge { hash, name, .. } = group[0];
            let Some(shard) = guards[group[0].shard()].as_mut() else { continue };
            let Some(entry) = shard.find(hash, name) else { continue };
            let ready = entry.try_take(total(group), now);
            assert_eq!(ready, Ready::Now, "a bucket that could pay no longer can, under its lock");
            if !entry.changed {
                self.note(shard, hash, name);
            }
        }
        Ok(())
    }

    fn charge<'a>(&self, (index, (name, amount)): (usize, (&'a [u8], u64))) -> Charge<'a> {
        Charge { hash: self.hash(name), name, amount, index }
    }
}

fn ask(group: &[Charge<'_>], guards: &mut Guards<'_>, now: Nanos) -> Ready {
    let shard = guards[group[0].shard()].as_mut();
    let entry = shard.and_then(|shard| shard.find(group[0].hash, group[0].name));
    entry.map_or(Ready::Now, |entry| entry.ready(total(group), now))
}

fn total(group: &[Charge<'_>]) -> u64 {
    group.iter().fold(0, |sum, charge| sum.saturating_add(charge.amount))
}
