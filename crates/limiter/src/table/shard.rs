//! A shard: the keys behind one lock, bounded, growing a segment at a time.
//!
//! The directory maps the leading bits of a place to a segment. It holds a few hundred numbers per million
//! keys, so doubling it is nothing; the keys themselves move only inside [`Segment::grow`].

use tidegate_core::{Nanos, Tat};

use super::page::{Entry, Page};
use super::segment::Segment;
use crate::hash::{KeyHash, NamespaceTag};

/// What happens to a new key when the table is full of live ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// The key closest to full is forgotten, out of a page of those nearest to the new one by hash.
    #[default]
    Evict,
    /// The call is refused.
    Refuse,
    /// The call passes as if it were the key's first, and nothing is kept of it.
    Admit,
}

/// The table is full of live keys, and its policy is to refuse new ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

impl std::fmt::Display for Full {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the key table is full of live keys")
    }
}

impl std::error::Error for Full {}

/// What a table holds and what it had to do to stay within its bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Keys held, the ones that are past but not yet swept included.
    pub keys: u64,
    /// Bytes of memory for them.
    pub bytes: u64,
    /// Keys forgotten before their time.
    pub evicted: u64,
    /// Calls on new keys that were refused.
    pub refused: u64,
    /// Calls on new keys that passed without a trace.
    pub untracked: u64,
}

impl std::ops::AddAssign for Stats {
    fn add_assign(&mut self, other: Stats) {
        self.keys += other.keys;
        self.bytes += other.bytes;
        self.evicted += other.evicted;
        self.refused += other.refused;
        self.untracked += other.untracked;
    }
}

/// Inserts between two sweeps: a page of 140 keys per 32 new ones outruns any growth by fourfold.
const INSERTS_PER_SWEEP: u32 = 32;

/// See the module.
pub struct Shard {
    /// Leading bits of a place that chose this shard.
    shard_bits: u8,
    /// Bits that the directory looks at beyond those.
    depth: u8,
    directory: Vec<u32>,
    segments: Vec<Segment>,
    keys: usize,
    pages: usize,
    max_keys: usize,
    when_full: WhenFull,
    /// What has changed since the last flush; `None` if nobody asks.
    changes: Option<Changes>,
    sweep_at: (usize, usize),
    inserts: u32,
    evicted: u64,
    refused: u64,
    untracked: u64,
}

/// What has changed since the last flush. The keys themselves carry a mark; this says where to look.
#[derive(Default)]
struct Changes {
    /// Segments with marked keys, each once.
    segments: Vec<u32>,
    /// Keys that callers have made the shard forget.
    forgotten: Vec<KeyHash>,
}

impl Changes {
    #[inline]
    fn note(&mut self, segment: &mut Segment, index: usize) {
        if !segment.noted {
            segment.noted = true;
            self.segments.push(index as u32);
        }
    }
}

/// What becomes of a key: an answer, and the state to store if it changed. Any closure will do.
pub trait Decide {
    /// The answer.
    type Answer;
    /// Decides on the state as it is.
    fn decide(self, tat: Tat) -> (Self::Answer, Option<Tat>);
}

impl<F: FnOnce(Tat) -> (R, Option<Tat>), R> Decide for F {
    type Answer = R;

    #[inline]
    fn decide(self, tat: Tat) -> (R, Option<Tat>) {
        self(tat)
    }
}

/// How a shard is made.
#[derive(Clone, Copy, Debug)]
pub struct ShardOptions {
    /// Leading bits of a place that choose the shard.
    pub shard_bits: u8,
    /// The most keys it may hold.
    pub max_keys: usize,
    /// What happens past that.
    pub when_full: WhenFull,
    /// Whether changed keys are noted for a flush.
    pub track_changes: bool,
}

impl Shard {
    /// An empty shard.
    pub fn new(options: ShardOptions) -> Shard {
        Shard {
            shard_bits: options.shard_bits,
            depth: 0,
            directory: vec![0],
            segments: vec![Segment::new(options.shard_bits)],
            keys: 0,
            pages: 0,
            max_keys: options.max_keys.max(1),
            when_full: options.when_full,
            changes: options.track_changes.then(Changes::default),
            sweep_at: (0, 0),
            inserts: 0,
            evicted: 0,
            refused: 0,
            untracked: 0,
        }
    }

    #[inline]
    fn segment_of(&self, hash: KeyHash) -> usize {
        self.directory[self.directory_index(hash)] as usize
    }

    #[inline]
    fn directory_index(&self, hash: KeyHash) -> usize {
        // Two shifts, since a directory of one entry looks at no bits and 64 is no shift.
        let bits = hash.place() << self.shard_bits;
        ((bits >> 1) >> (63 - self.depth)) as usize
    }

    /// What is known of a key: `Tat::default()` if nothing.
    pub fn get(&self, hash: KeyHash) -> Tat {
        let page = self.segments[self.segment_of(hash)].page(hash);
        page.and_then(|page| Some(page.tat(page.find(hash)?))).unwrap_or_default()
    }

    /// Prefetches from the page that holds a key, if there is one.
    #[inline]
    pub fn prefetch(&self, hash: KeyHash, from: impl FnOnce(&Page, KeyHash)) {
        if let Some(page) = self.segments[self.segment_of(hash)].page(hash) {
            from(page, hash);
        }
    }

    /// Runs a decision on the key's state and stores what it leaves.
    #[inline(always)]
    pub fn update<D: Decide>(&mut self, hash: KeyHash, now: Nanos, decide: D) -> Result<D::Answer, Full> {
        let segment = self.segment_of(hash);
        let mut place = match self.segments[segment].page_mut(hash) {
            Some(page) => page.find(hash).map(|slot| (page, slot)),
            None => None,
        };
        let tat = match &place {
            Some((page, slot)) => page.tat(*slot),
            None => Tat::default(),
        };
        // The one place where a decision is made, so that it is compiled into its caller.
        let (result, tat) = decide.decide(tat);
        match (tat, &mut place) {
            (None, _) => Ok(result),
            (Some(tat), Some((page, slot))) => {
                page.set_tat(*slot, tat);
                if let Some(changes) = &mut self.changes {
                    page.mark(*slot);
                    changes.note(&mut self.segments[segment], segment);
                }
                Ok(result)
            }
            (Some(tat), None) if tat.is_past(now) => Ok(result),
            (Some(tat), None) => self.insert(hash, tat, now).map(|()| result),
        }
    }

    #[inline(never)]
    fn insert(&mut self, hash: KeyHash, tat: Tat, now: Nanos) -> Result<(), Full> {
        self.inserts += 1;
        if self.inserts.is_multiple_of(INSERTS_PER_SWEEP) {
            self.sweep_next(now);
        }
        if self.keys >= self.max_keys && !self.make_room(hash, now)? {
            return Ok(());
        }
        let index = self.place(Entry::new(hash, tat).changed(), now);
        self.note(index);
        Ok(())
    }

    /// Notes that a key of a segment has changed.
    #[inline]
    fn note(&mut self, index: usize) {
        if let Some(changes) = &mut self.changes {
            changes.note(&mut self.segments[index], index);
        }
    }

    /// Stores a key as it was found on disk: not a change, and within the bound.
    pub fn restore(&mut self, hash: KeyHash, tat: Tat, now: Nanos) {
        self.remove(hash);
        if !tat.is_past(now) && self.keys < self.max_keys {
            self.place(Entry::new(hash, tat), now);
        }
    }

    /// Puts a key that is not there into its segment, and says which that is.
    fn place(&mut self, entry: Entry, now: Nanos) -> usize {
        loop {
            let index = self.segment_of(entry.hash());
            if self.segments[index].push(entry) {
                self.keys += 1;
                return index;
            }
            self.grow(index, entry.hash(), now);
        }
    }

    fn grow(&mut self, index: usize, hash: KeyHash, now: Nanos) {
        if let Some(upper) = self.rebuild(index, |segment| segment.grow(hash, now)) {
            self.adopt(hash, upper);
        }
    }

    /// Changes a segment, and counts its keys and pages anew.
    fn rebuild<R>(&mut self, index: usize, change: impl FnOnce(&mut Segment) -> R) -> R {
        let segment = &mut self.segments[index];
        self.keys -= segment.len();
        self.pages -= segment.page_count();
        let result = change(segment);
        self.keys += segment.len();
        self.pages += segment.page_count();
        result
    }

    /// Enters the upper half of a split segment, which `hash` led to, into the directory.
    fn adopt(&mut self, hash: KeyHash, upper: Segment) {
        self.keys += upper.len();
        self.pages += upper.page_count();
        let depth = upper.depth() - self.shard_bits;
        if depth > self.depth {
            self.directory = self.directory.iter().flat_map(|&segment| [segment, segment]).collect();
            self.depth += 1;
        }
        // The run of entries that led to the old segment: its upper half now leads to the new one.
        let half = 1usize << (self.depth - depth);
        let start = self.directory_index(hash) & !(2 * half - 1);
        let index = self.segments.len();
        self.directory[start + half..start + 2 * half].fill(index as u32);
        self.segments.push(upper);
        if self.segments[index].pages().any(Page::is_changed) {
            self.note(index);
        }
    }

    /// Frees a place in a full shard, for a key that is new. `Ok(false)`: the key is not to be kept.
    #[cold]
    fn make_room(&mut self, hash: KeyHash, now: Nanos) -> Result<bool, Full> {
        self.sweep_next(now);
        self.sweep_page_of(hash, now);
        if self.keys < self.max_keys {
            return Ok(true);
        }
        match self.when_full {
            WhenFull::Refuse => {
                self.refused += 1;
                Err(Full)
            }
            WhenFull::Admit => {
                self.untracked += 1;
                Ok(false)
            }
            WhenFull::Evict => Ok(self.evict(hash)),
        }
    }

    fn sweep_page_of(&mut self, hash: KeyHash, now: Nanos) {
        let index = self.segment_of(hash);
        if let Some(page) = self.segments[index].page_mut(hash) {
            self.keys -= page.sweep(now);
        }
    }

    /// Forgets the key closest to full, of those nearest to the new key's place.
    fn evict(&mut self, hash: KeyHash) -> bool {
        let (before, from_home) = {
            let home = self.segment_of(hash);
            self.segments.split_at_mut(home)
        };
        let nearest = from_home.iter_mut().chain(before).find(|segment| segment.len() > 0);
        let page = nearest.and_then(|segment| segment.pages_mut().max_by_key(|page| page.len()));
        if let Some(page) = page
            && let Some(slot) = page.soonest()
        {
            page.remove(slot);
            self.keys -= 1;
            self.evicted += 1;
        }
        self.keys < self.max_keys
    }

    /// Sweeps one more page, round and round.
    pub fn sweep_next(&mut self, now: Nanos) {
        let (index, page) = self.sweep_at;
        match self.segments[index].page_at(page) {
            Some(page_to_sweep) => {
                self.keys -= page_to_sweep.sweep(now);
                self.sweep_at = (index, page + 1);
            }
            None => {
                self.rebuild(index, Segment::shrink);
                self.sweep_at = ((index + 1) % self.segments.len(), 0);
            }
        }
    }

    /// Forgets a key. True if it was there.
    pub fn remove(&mut self, hash: KeyHash) -> bool {
        let index = self.segment_of(hash);
        let Some(page) = self.segments[index].page_mut(hash) else { return false };
        let Some(slot) = page.find(hash) else { return false };
        page.remove(slot);
        self.keys -= 1;
        true
    }

    /// Forgets a key because a caller asks, so that a flush writes it down. True if it was there and live.
    pub fn reset(&mut self, hash: KeyHash, now: Nanos) -> bool {
        let live = !self.get(hash).is_past(now);
        let held = self.remove(hash);
        if held && let Some(changes) = &mut self.changes {
            changes.forgotten.push(hash);
        }
        held && live
    }

    /// Segments there are to visit by [`Shard::read_segment`] and [`Shard::clear_segment`]. One that splits on the way
    /// adds its upper half at the end, so going up to the number of the moment misses nothing.
    pub fn segment_count(&self) -> usize {
        self.segments.len()
    }

    /// Reads out the live keys of a segment.
    pub fn read_segment(&self, index: usize, now: Nanos, mut read: impl FnMut(KeyHash, Tat)) {
        for entry in self.segments[index].entries().filter(|entry| !entry.tat().is_past(now)) {
            read(entry.hash(), entry.tat());
        }
    }

    /// Forgets the keys of a namespace in one segment, and says how many live ones went.
    pub fn clear_segment(&mut self, index: usize, namespace: NamespaceTag, now: Nanos) -> u64 {
        let (mut live, changes) = (0, &mut self.changes);
        let mut keep = |entry: Entry| {
            let keep = !entry.hash().is_in(namespace);
            if !keep {
                live += u64::from(!entry.tat().is_past(now));
                changes.iter_mut().for_each(|changes| changes.forgotten.push(entry.hash()));
            }
            keep
        };
        for page in self.segments[index].pages_mut() {
            self.keys -= page.retain(&mut keep);
        }
        live
    }

    /// Hands over what has changed since the last call: keys that callers had forgotten, to be told first, and
    /// segments to be read by [`Shard::settle_segment`].
    pub fn take_changes(&mut self) -> (Vec<KeyHash>, Vec<u32>) {
        let changes = self.changes.as_mut().map(std::mem::take).unwrap_or_default();
        (changes.forgotten, changes.segments)
    }

    /// Reads out the changed keys of a segment, which then count as unchanged.
    pub fn settle_segment(&mut self, index: u32, mut read: impl FnMut(KeyHash, Tat)) {
        self.segments[index as usize].settle(|entry| read(entry.hash(), entry.tat()));
    }

    /// What the shard holds.
    pub fn stats(&self) -> Stats {
        let fixed = self.directory.capacity() * 4 + self.segments.capacity() * size_of::<Segment>();
        Stats {
            keys: self.keys as u64,
            bytes: (self.pages * size_of::<Page>() + fixed) as u64,
            evicted: self.evicted,
            refused: self.refused,
            untracked: self.untracked,
        }
    }
}
