//! Tables from a name to the number of its entry in a slab.
//!
//! A table keeps numbers alone, five bytes each; names are compared in the entries. Large ones are split, so that
//! growth moves a small part at a time and never pauses a queue.

use hashbrown::HashTable;

use super::slab::NONE;
use crate::sip::Sip;

pub(super) struct Index {
    shards: Box<[HashTable<u32>]>,
}

impl Index {
    /// For names by the dozen.
    pub(super) fn small() -> Index {
        Index::split(1)
    }

    /// For names by the million.
    pub(super) fn large() -> Index {
        Index::split(256)
    }

    fn split(shards: usize) -> Index {
        Index { shards: (0..shards).map(|_| HashTable::new()).collect() }
    }

    /// The table itself uses the highest and the lowest bits.
    #[inline]
    fn shard(&self, hash: u64) -> usize {
        (hash >> 40) as usize & (self.shards.len() - 1)
    }

    #[inline]
    pub(super) fn find(&self, hash: u64, is: impl Fn(u32) -> bool) -> Option<u32> {
        self.shards[self.shard(hash)].find(hash, |at| is(*at)).copied()
    }

    /// The entry that a name most likely has, none of which was looked at.
    #[inline]
    pub(super) fn guess(&self, hash: u64) -> u32 {
        self.find(hash, |_| true).unwrap_or(NONE)
    }

    /// Adds a name that is not there. `hash_of` is asked of others when the table grows.
    #[inline]
    pub(super) fn insert(&mut self, hash: u64, at: u32, hash_of: impl Fn(u32) -> u64) {
        let shard = self.shard(hash);
        self.shards[shard].insert_unique(hash, at, |at| hash_of(*at));
    }

    #[inline]
    pub(super) fn remove(&mut self, hash: u64, at: u32) {
        let shard = self.shard(hash);
        match self.shards[shard].find_entry(hash, |other| *other == at) {
            Ok(entry) => drop(entry.remove()),
            Err(_) => panic!("entry {at} is not in its index"),
        }
    }

    #[cfg(any(test, feature = "check"))]
    pub(super) fn len(&self) -> usize {
        self.shards.iter().map(HashTable::len).sum()
    }
}

/// For numbers that this server gave out: nobody can choose them so that they collide.
#[inline]
pub(super) fn mix(a: u64, b: u32) -> u64 {
    let h = (a ^ u64::from(b).rotate_left(40)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (h ^ (h >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

/// For what strangers choose, keyed with a secret.
#[derive(Clone, Copy)]
pub(super) struct Keyed(Sip);

/// The hash of a fairness key, whatever its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeyHash(u64);

impl KeyHash {
    /// The same key differs from one queue to another.
    #[inline]
    pub(super) fn in_queue(self, queue: u32) -> u64 {
        self.0 ^ mix(queue.into(), 0)
    }
}

impl Keyed {
    pub(super) fn new(seed: [u64; 2]) -> Keyed {
        let [low, high] = seed.map(u128::from);
        Keyed(Sip::new(low | high << 64))
    }

    #[inline]
    pub(super) fn key(self, key: &[u8]) -> KeyHash {
        KeyHash(self.0.hash(key).0)
    }

    pub(super) fn words(self, words: impl Iterator<Item = u64>) -> u64 {
        self.0.hash_words(words)
    }
}
