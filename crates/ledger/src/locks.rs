//! Several shards at once, without ever waiting for one while holding one that comes after it.
//!
//! Who is above an entity is known only once its shard is locked, so the shards of a call cannot all be named
//! before. A shard that comes after all that are held is waited for. One that comes before is only tried; if somebody has
//! it, everything is let go, all shards that were seen are locked in order, and the call starts over.

use parking_lot::{Mutex, MutexGuard};
use smallvec::SmallVec;

use crate::shard::{SHARDS, Shard};

/// A call has to start over.
#[derive(Debug)]
pub(crate) struct Again;

pub(crate) struct Shards(Box<[Mutex<Shard>]>);

impl Shards {
    pub(crate) fn new() -> Shards {
        Shards((0..SHARDS).map(|_| Mutex::default()).collect())
    }

    #[inline]
    pub(crate) fn lock(&self, shard: usize) -> MutexGuard<'_, Shard> {
        self.0[shard].lock()
    }

    #[inline]
    pub(crate) fn locks(&self) -> Locks<'_> {
        Locks { shards: self, held: SmallVec::new(), seen: SmallVec::new() }
    }
}

/// The shards that a call holds.
pub(crate) struct Locks<'a> {
    shards: &'a Shards,
    held: SmallVec<[(usize, MutexGuard<'a, Shard>); 4]>,
    /// What it turned out to need in a turn that failed.
    seen: SmallVec<[usize; 8]>,
}

impl<'a> Locks<'a> {
    /// The place of a shard among those that are held.
    #[inline]
    pub(crate) fn hold(&mut self, shard: usize) -> Result<usize, Again> {
        if let Some(at) = self.held.iter().position(|(held, _)| *held == shard) {
            return Ok(at);
        }
        let guard = match self.held.iter().all(|(held, _)| *held < shard) {
            true => self.shards.0[shard].lock(),
            false => match self.shards.0[shard].try_lock() {
                Some(guard) => guard,
                None => {
                    self.seen.push(shard);
                    return Err(Again);
                }
            },
        };
        self.held.push((shard, guard));
        Ok(self.held.len() - 1)
    }

    #[inline]
    pub(crate) fn shard(&mut self, at: usize) -> &mut Shard {
        &mut self.held[at].1
    }

    /// Lets everything go and locks all that was seen, in order.
    #[cold]
    pub(crate) fn start_over(&mut self) {
        self.seen.extend(self.held.drain(..).map(|(shard, _)| shard));
        self.seen.sort_unstable();
        self.seen.dedup();
        for shard in &self.seen {
            self.held.push((*shard, self.shards.0[*shard].lock()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_that_comes_before_is_tried_and_never_waited_for() {
        let shards = Shards::new();
        let mut locks = shards.locks();
        assert_eq!(locks.hold(5).unwrap(), 0);
        assert_eq!((locks.hold(9).unwrap(), locks.hold(5).unwrap(), locks.hold(2).unwrap()), (1, 0, 2));
        let somebody = shards.lock(1);
        assert!(locks.hold(1).is_err());
        drop(somebody);
        locks.start_over();
        let held: Vec<usize> = locks.held.iter().map(|(shard, _)| *shard).collect();
        assert_eq!(held, [1, 2, 5, 9]);
    }
}
