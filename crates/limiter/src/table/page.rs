//! A page: up to 140 keys in 4 KiB, found by one byte each.
//!
//! A page is nine groups of 16 places. A key lives in the first free place from its home group on, and is
//! looked for from there, 16 tags at a time: mostly one cache line of tags and one of the entry itself. A key
//! never moves inside its page, and pages do not know of one another.

use tidegate_core::prefetch::prefetch;
use tidegate_core::{Nanos, Tat};

use crate::hash::KeyHash;

/// Keys in a page, which with their tags and marks is 4,084 bytes: one allocation of 4 KiB.
pub const CAPACITY: usize = 140;
const GROUP: usize = 16;
const GROUPS: usize = CAPACITY.div_ceil(GROUP);

/// The tag of a free place.
const FREE: u8 = 0;
/// The tag of the places that fill up the last group: no key has it, and none is ever put there.
const NO_PLACE: u8 = 255;

/// The top bit of the arrival time in an [`Entry`] that is on its way to another page: changed since the last
/// flush. An arrival time needs 63 bits until the year 2262.
const CHANGED: u64 = 1 << 63;

/// See the module. In this order, so that what is written beside an entry lies with the tags that were read before.
#[repr(C)]
pub struct Page {
    tags: [u8; GROUPS * GROUP],
    /// For each group, a bit for each of its places: changed since the last flush.
    changed: [u16; GROUPS],
    len: u16,
    entries: [Entry; CAPACITY],
}

/// One key and all that is known of it, in 28 bytes.
#[derive(Clone, Copy, Default)]
#[repr(C, packed(4))]
pub struct Entry {
    high: u64,
    low: u64,
    tat_ns: u64,
    tat_rem: u32,
}

impl Entry {
    pub fn new(hash: KeyHash, tat: Tat) -> Entry {
        let (high, low) = ((hash.0 >> 64) as u64, hash.0 as u64);
        Entry { high, low, tat_ns: tat.ns.min(!CHANGED), tat_rem: tat.rem }
    }

    pub fn changed(self) -> Entry {
        Entry { tat_ns: self.tat_ns | CHANGED, ..self }
    }

    pub fn hash(&self) -> KeyHash {
        KeyHash(u128::from(self.high) << 64 | u128::from(self.low))
    }

    pub fn tat(&self) -> Tat {
        Tat { ns: self.tat_ns & !CHANGED, rem: self.tat_rem }
    }
}

impl Page {
    pub fn new() -> Box<Page> {
        let mut tags = [FREE; GROUPS * GROUP];
        tags[CAPACITY..].fill(NO_PLACE);
        Box::new(Page { tags, changed: [0; GROUPS], len: 0, entries: [Entry::default(); CAPACITY] })
    }

    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    pub fn is_full(&self) -> bool {
        self.len() == CAPACITY
    }

    /// The place of a key.
    #[inline(always)]
    pub fn find(&self, hash: KeyHash) -> Option<usize> {
        let (high, low) = ((hash.0 >> 64) as u64, hash.0 as u64);
        self.search(hash, tag(hash), |slot| {
            let entry = &self.entries[slot];
            entry.low == low && entry.high == high
        })
    }

    /// The first place with this tag that is the right one, from the key's home group on, round once.
    #[inline(always)]
    fn search(&self, hash: KeyHash, tag: u8, right: impl Fn(usize) -> bool) -> Option<usize> {
        let mut group = home(hash);
        for _ in 0..GROUPS {
            let mut matches = equal_bytes(&self.tags, group * GROUP, tag);
            while matches != 0 {
                let slot = group * GROUP + matches.trailing_zeros() as usize;
                if right(slot) {
                    return Some(slot);
                }
                matches &= matches - 1;
            }
            group = if group + 1 == GROUPS { 0 } else { group + 1 };
        }
        None
    }

    /// Prefetches the tags of a key's home group, and its marks: a store that waits for memory would hold up the unlocking
    /// of the shard behind it.
    #[inline]
    pub fn prefetch_tags(&self, hash: KeyHash) {
        prefetch(&self.tags[home(hash) * GROUP]);
        prefetch(&self.changed[home(hash)]);
    }

    /// Prefetches what is most likely the entry of a key: the first in its home group that has its tag.
    #[inline]
    pub fn prefetch_entry(&self, hash: KeyHash) {
        let base = home(hash) * GROUP;
        let matches = equal_bytes(&self.tags, base, tag(hash));
        if let Some(entry) = self.entries.get(base + matches.trailing_zeros() as usize) {
            prefetch_entry(entry);
        }
    }

    #[inline]
    pub fn tat(&self, slot: usize) -> Tat {
        self.entries[slot].tat()
    }

    /// Stores a new arrival time.
    #[inline]
    pub fn set_tat(&mut self, slot: usize, tat: Tat) {
        let entry = &mut self.entries[slot];
        entry.tat_ns = tat.ns.min(!CHANGED);
        entry.tat_rem = tat.rem;
    }

    /// Marks a key as changed.
    #[inline]
    pub fn mark(&mut self, slot: usize) {
        self.changed[slot / GROUP] |= 1 << (slot % GROUP);
    }

    /// Whether any key has changed since [`Page::settle`].
    pub fn is_changed(&self) -> bool {
        self.changed != [0; GROUPS]
    }

    /// Prefetches what says which keys have changed.
    pub fn prefetch_marks(&self) {
        prefetch(&raw const self.changed);
    }

    /// Prefetches the keys that have changed.
    pub fn prefetch_changed(&self) {
        each_marked(&self.changed, |slot| prefetch_entry(&self.entries[slot]));
    }

    /// Hands out the keys that have changed, and takes their marks off.
    pub fn settle(&mut self, mut read: impl FnMut(Entry)) {
        each_marked(&std::mem::take(&mut self.changed), |slot| read(self.entries[slot]));
    }

    fn slots(&self) -> impl Iterator<Item = usize> {
        (0..CAPACITY).filter(|&slot| self.tags[slot] != FREE)
    }

    /// All keys, with their marks.
    pub fn entries(&self) -> impl Iterator<Item = Entry> {
        self.slots().map(|slot| match self.changed[slot / GROUP] >> (slot % GROUP) & 1 {
            0 => self.entries[slot],
            _ => self.entries[slot].changed(),
        })
    }

    /// Adds a key that is not there, with its mark. False, and nothing done, if the page is full.
    #[must_use]
    pub fn push(&mut self, entry: Entry) -> bool {
        let hash = entry.hash();
        let Some(slot) = self.search(hash, FREE, |_| true) else { return false };
        self.tags[slot] = tag(hash);
        self.entries[slot] = Entry { tat_ns: entry.tat_ns & !CHANGED, ..entry };
        self.changed[slot / GROUP] |= u16::from(entry.tat_ns & CHANGED != 0) << (slot % GROUP);
        self.len += 1;
        true
    }

    /// Takes a key out.
    pub fn remove(&mut self, slot: usize) {
        self.tags[slot] = FREE;
        self.changed[slot / GROUP] &= !(1 << (slot % GROUP));
        self.len -= 1;
    }

    /// Takes out every key that is not to be kept, and says how many went.
    pub fn retain(&mut self, mut keep: impl FnMut(Entry) -> bool) -> usize {
        let before = self.len();
        for slot in 0..CAPACITY {
            if self.tags[slot] != FREE && !keep(self.entries[slot]) {
                self.remove(slot);
            }
        }
        before - self.len()
    }

    /// Forgets the keys whose bucket is full at `now`, and says how many went.
    pub fn sweep(&mut self, now: Nanos) -> usize {
        self.retain(|entry| !entry.tat().is_past(now))
    }

    /// The key closest to full: the one that loses least by being forgotten.
    pub fn soonest(&self) -> Option<usize> {
        self.slots().min_by_key(|&slot| self.entries[slot].tat())
    }

    pub fn clear(&mut self) {
        self.tags[..CAPACITY].fill(FREE);
        self.changed = [0; GROUPS];
        self.len = 0;
    }
}

/// One byte that tells the keys of a group apart: 1 to 254.
#[inline]
fn tag(hash: KeyHash) -> u8 {
    1 + ((u16::from(hash.byte()) * 254) >> 8) as u8
}

/// The group where a key is looked for first.
#[inline]
fn home(hash: KeyHash) -> usize {
    (usize::from(hash.second_byte()) * GROUPS) >> 8
}

/// Visits the places that are marked.
fn each_marked(marks: &[u16; GROUPS], mut visit: impl FnMut(usize)) {
    for (group, &marks) in marks.iter().enumerate() {
        let mut left = marks;
        while left != 0 {
            visit(group * GROUP + left.trailing_zeros() as usize);
            left &= left - 1;
        }
    }
}

/// An entry may lie across two cache lines.
#[inline]
fn prefetch_entry(entry: &Entry) {
    prefetch(&raw const entry.high);
    prefetch(&raw const entry.tat_rem);
}

/// A bit for each of the 16 tags from `base` on that equals `tag`.
#[cfg(target_arch = "x86_64")]
#[inline]
fn equal_bytes(tags: &[u8; GROUPS * GROUP], base: usize, tag: u8) -> u32 {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8};
    let group: &[u8] = &tags[base..base + GROUP];
    // SAFETY: SSE2 is part of x86-64 itself, and the load reads the 16 bytes of `group`, aligned or not.
    unsafe {
        let group = _mm_loadu_si128(group.as_ptr().cast());
        _mm_movemask_epi8(_mm_cmpeq_epi8(group, _mm_set1_epi8(tag as i8))) as u32
    }
}

/// The same without vector instructions.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn equal_bytes(tags: &[u8; GROUPS * GROUP], base: usize, tag: u8) -> u32 {
    let group = &tags[base..base + GROUP];
    group.iter().enumerate().fold(0, |mask, (i, &byte)| mask | u32::from(byte == tag) << i)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All of one tag and one home group.
    fn hash(n: u128) -> KeyHash {
        KeyHash(n << 64 | 0x4242 << 32)
    }

    fn entry(n: u128) -> Entry {
        Entry::new(hash(n), Tat { ns: n as u64, rem: 0 })
    }

    #[test]
    fn a_page_is_one_allocation_of_four_kib() {
        // 4,096 less the word that glibc keeps of a chunk for itself; others have a size class of 4,096.
        assert!(size_of::<Page>() <= 4096 - 8, "{}", size_of::<Page>());
    }

    #[test]
    fn a_page_of_keys_with_one_tag_and_one_home_holds_them_all() {
        let mut page = Page::new();
        for n in 0..CAPACITY as u128 {
            assert!(page.push(entry(n)));
        }
        assert!(page.is_full() && !page.push(entry(1000)));
        for n in 0..CAPACITY as u128 {
            let slot = page.find(hash(n)).unwrap();
            assert_eq!(page.tat(slot).ns, n as u64);
        }
        let slot = page.find(hash(99)).unwrap();
        page.remove(slot);
        assert_eq!(page.find(hash(99)), None);
        assert!(page.push(entry(1000)) && !page.push(entry(1001)));
        page.clear();
        assert_eq!((page.find(hash(5)), page.len()), (None, 0));
    }

    #[test]
    fn no_key_has_the_tag_of_a_free_place_or_of_none() {
        for byte in 0..=255u128 {
            let tag = tag(KeyHash(byte << 32));
            assert!(tag != FREE && tag != NO_PLACE);
            assert!(home(KeyHash(byte << 40)) < GROUPS);
        }
    }

    #[test]
    fn a_sweep_takes_what_is_past_and_nothing_else() {
        let mut page = Page::new();
        for n in 0..100 {
            assert!(page.push(entry(n)));
        }
        assert_eq!(page.sweep(40), 41);
        assert_eq!(page.len(), 59);
        assert!((0..100).all(|n| page.find(hash(n)).is_some() == (n > 40)));
    }

    #[test]
    fn the_changed_mark_is_reported_once_and_moves_with_its_key() {
        let mut page = Page::new();
        assert!(page.push(entry(1)) && page.push(entry(2)));
        assert!(!page.is_changed());
        let slot = page.find(hash(2)).unwrap();
        page.set_tat(slot, Tat { ns: 5, rem: 3 });
        page.mark(slot);
        let mut other = Page::new();
        assert!(page.entries().all(|entry| other.push(entry)));
        let settle = |page: &mut Page| {
            let mut seen = Vec::new();
            page.settle(|entry| seen.push((entry.hash(), entry.tat())));
            seen
        };
        assert!(other.is_changed());
        assert_eq!(settle(&mut other), [(hash(2), Tat { ns: 5, rem: 3 })]);
        assert_eq!(settle(&mut other), []);
        assert!(other.push(entry(3).changed()));
        assert_eq!(settle(&mut other), [(hash(3), Tat { ns: 3, rem: 0 })]);
    }

    #[test]
    fn a_key_does_not_leave_its_mark_to_the_next_one_in_its_place() {
        let mut page = Page::new();
        assert!(page.push(entry(1).changed()));
        page.remove(page.find(hash(1)).unwrap());
        assert!(page.push(entry(2)) && !page.is_changed());
        assert!(page.push(entry(3).changed()));
        page.clear();
        assert!(page.push(entry(4)) && page.push(entry(5)) && !page.is_changed());
    }
}
