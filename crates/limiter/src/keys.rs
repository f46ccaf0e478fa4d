//! Inline keys, shared by all threads: the table behind one lock per shard.

use parking_lot::{Mutex, MutexGuard};
use tidegate_core::{Decision, Limit, Nanos, Tat, cell, gcra};

use crate::hash::{KeyHash, KeyHasher, NamespaceTag};
use crate::table::page::Page;
use crate::table::shard::{Decide, ShardOptions};
use crate::table::{Shard, Stats, WhenFull};

pub use crate::table::shard::Full;

/// How the table is made.
#[derive(Clone, Copy, Debug)]
pub struct KeysOptions {
    /// The most keys to hold. Each takes some 37 bytes, 42 at the worst.
    pub max_keys: usize,
    /// What happens to a new key past that.
    pub when_full: WhenFull,
    /// Whether changes are noted for [`Keys::drain_changes`].
    pub track_changes: bool,
    /// The secret of the hash; random if `None`.
    pub secret: Option<[u8; 16]>,
}

impl Default for KeysOptions {
    fn default() -> KeysOptions {
        KeysOptions { max_keys: 1 << 24, when_full: WhenFull::Evict, track_changes: false, secret: None }
    }
}

/// So many keys, at least, make a shard worth its lock.
const MIN_SHARD_KEYS: usize = 4096;

/// Shards per core: few enough that a small table is small, enough that two threads seldom meet.
const SHARDS_PER_CORE: usize = 8;
const MAX_SHARDS: usize = 256;

/// Changed keys handed out at once, at least, unless they are the last.
const HAND_OUT: usize = 2048;

/// See the module.
pub struct Keys {
    hasher: KeyHasher,
    secret: [u8; 16],
    shard_bits: u8,
    shards: Box<[Padded]>,
}

/// Keeps two locks off one cache line.
#[repr(align(128))]
struct Padded(Mutex<Shard>);

impl Padded {
    #[inline]
    fn lock(&self) -> MutexGuard<'_, Shard> {
        self.0.lock()
    }
}

impl Keys {
    /// An empty table.
    pub fn new(options: KeysOptions) -> Keys {
        let secret = options.secret.unwrap_or_else(random_secret);
        let max_keys = options.max_keys.max(1);
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        let shards = (cores * SHARDS_PER_CORE).min(MAX_SHARDS).min(max_keys / MIN_SHARD_KEYS).max(1);
        let shard_bits = shards.ilog2() as u8;
        let count = 1usize << shard_bits;
        let shard = |index| {
            // The bounds of the shards add up to the bound of the table.
            let max_keys = (max_keys + index) / count;
            Padded(Mutex::new(Shard::new(ShardOptions {
                shard_bits,
                max_keys,
                when_full: options.when_full,
                track_changes: options.track_changes,
            })))
        };
        let shards = (0..count).map(shard).collect();
        Keys { hasher: KeyHasher::new(secret), secret, shard_bits, shards }
    }

    /// The secret that the hashes were made with: to be stored beside them.
    pub fn secret(&self) -> [u8; 16] {
        self.secret
    }

    /// The tag of a namespace, to be computed once.
    pub fn namespace(&self, name: &[u8]) -> NamespaceTag {
        self.hasher.namespace(name)
    }

    /// The identity of a key.
    #[inline]
    pub fn hash(&self, namespace: NamespaceTag, key: &[u8]) -> KeyHash {
        self.hasher.key(namespace, key)
    }

    #[inline]
    fn shard(&self, hash: KeyHash) -> MutexGuard<'_, Shard> {
        let index = (hash.place() >> 1) >> (63 - self.shard_bits);
        self.shards[index as usize].lock()
    }

    /// Brings what is known of these keys towards the processor, for a caller that is about to ask for them.
    ///
    /// A key of a large table is two cache misses away, the second behind the first. Asked for one by one they
    /// add up, because nothing is read ahead across the lock of a shard; this way they overlap.
    pub fn foresee(&self, hashes: impl Iterator<Item = KeyHash> + Clone) {
        hashes.clone().for_each(|hash| self.shard(hash).prefetch(hash, Page::prefetch_tags));
        hashes.for_each(|hash| self.shard(hash).prefetch(hash, Page::prefetch_entry));
    }

    /// Takes `quantity` tokens if they are there.
    #[inline(always)]
    pub fn take(&self, hash: KeyHash, limit: &Limit, quantity: u64, now: Nanos) -> Result<Decision, Full> {
        self.shard(hash).update(hash, now, Take { limit, quantity, now })
    }

    /// What [`Keys::take`] would answer; takes nothing.
    pub fn peek(&self, hash: KeyHash, limit: &Limit, quantity: u64, now: Nanos) -> Decision {
        let tat = self.shard(hash).get(hash);
        gcra::peek(tat, limit, quantity, now)
    }

    /// Decides in the dialect of redis-cell.
    pub fn take_cell(
        &self,
        hash: KeyHash,
        args: &cell::Args,
        now: Nanos,
    ) -> Result<Result<cell::Reply, cell::Error>, Full> {
        self.shard(hash).update(hash, now, |tat| match cell::throttle(tat, args, now) {
            Ok((reply, tat)) => (Ok(reply), tat),
            Err(error) => (Err(error), None),
        })
    }

    /// Gives tokens back, up to a full bucket.
    pub fn refund(&self, hash: KeyHash, limit: &Limit, quantity: u64, now: Nanos) {
        let refund = |tat: Tat| ((), (!tat.is_past(now)).then(|| gcra::refund(tat, limit, quantity, now)));
        let done = self.shard(hash).update(hash, now, refund);
        debug_assert!(done.is_ok(), "a refund needs no new entry");
    }

    /// Forgets a key. True if it held back anything.
    pub fn reset(&self, hash: KeyHash, now: Nanos) -> bool {
        self.shard(hash).reset(hash, now)
    }

    /// Forgets every key of a namespace, a segment at a time, and says how many were live.
    pub fn clear(&self, namespace: NamespaceTag, now: Nanos) -> u64 {
        let mut cleared = 0;
        self.each_segment(|shard, index| cleared += shard.clear_segment(index, namespace, now));
        cleared
    }

    /// Hands out every live key, a segment at a time. A key whose segment splits meanwhile may come twice, the
    /// newer state last.
    pub fn read_all<E>(
        &self,
        now: Nanos,
        mut read: impl FnMut(&[(KeyHash, Tat)]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut records = Vec::new();
        for shard in &self.shards {
            let mut index = 0;
            loop {
                records.clear();
                let shard = shard.lock();
                if index == shard.segment_count() {
                    break;
                }
                shard.read_segment(index, now, |hash, tat| records.push((hash, tat)));
                drop(shard);
                read(&records)?;
                index += 1;
            }
        }
        Ok(())
    }

    fn each_segment(&self, mut visit: impl FnMut(&mut Shard, usize)) {
        for shard in &self.shards {
            let mut index = 0;
            loop {
                let mut shard = shard.lock();
                if index == shard.segment_count() {
                    break;
                }
                visit(&mut shard, index);
                index += 1;
            }
        }
    }

    /// Hands out the keys that changed since the last call, a few thousand at a time and under no lock, with
    /// their state now; `Tat::default()` is one that was forgotten. Needs `track_changes`.
    pub fn drain_changes(&self, mut read: impl FnMut(&[(KeyHash, Tat)])) {
        let mut records = Vec::new();
        let mut hand_out = |records: &mut Vec<(KeyHash, Tat)>, at_least: usize| {
            if records.len() > at_least {
                read(records);
                records.clear();
            }
        };
        for shard in &self.shards {
            let (forgotten, mut segments) = shard.lock().take_changes();
            // In the order in which they lie in memory.
            segments.sort_unstable();
            records.extend(forgotten.into_iter().map(|hash| (hash, Tat::default())));
            for index in segments {
                shard.lock().settle_segment(index, |hash, tat| records.push((hash, tat)));
                hand_out(&mut records, HAND_OUT);
            }
        }
        hand_out(&mut records, 0);
    }

    /// Puts a key back as it was stored.
    pub fn restore(&self, hash: KeyHash, tat: Tat, now: Nanos) {
        self.shard(hash).restore(hash, tat, now);
    }

    /// Sweeps a few pages of every shard, for a table that nobody inserts into.
    pub fn sweep(&self, pages_per_shard: usize, now: Nanos) {
        for shard in &self.shards {
            let mut shard = shard.lock();
            (0..pages_per_shard).for_each(|_| shard.sweep_next(now));
        }
    }

    /// What the table holds.
    pub fn stats(&self) -> Stats {
        let mut stats = Stats::default();
        self.shards.iter().for_each(|shard| stats += shard.lock().stats());
        stats
    }
}

/// [`gcra::take`] as more than a closure: only a function with a name can be made to be compiled into its caller, who
/// then does not pay for those parts of the decision that it does not look at.
struct Take<'a> {
    limit: &'a Limit,
    quantity: u64,
    now: Nanos,
}

impl Decide for Take<'_> {
    type Answer = Decision;

    #[inline(always)]
    fn decide(self, tat: Tat) -> (Decision, Option<Tat>) {
        gcra::take(tat, self.limit, self.quantity, self.now)
    }
}

/// A secret nobody outside can guess.
pub fn random_secret() -> [u8; 16] {
    let mut secret = [0; 16];
    match getrandom::fill(&mut secret) {
        Ok(()) => secret,
        // Without randomness the hash would be open to chosen collisions: better not to start.
        Err(error) => panic!("the system has no random numbers: {error}"),
    }
}
