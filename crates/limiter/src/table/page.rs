//! A page: up to 140 keys in 4 KiB, in no order, found by scanning one byte each.
//!
//! Everything about a key is in five parallel arrays, so that a search touches the tags (two or three cache
//! lines) and then one entry. Pages never link to one another and never move a key they keep, except to fill
//! a hole with the last one.

use tidegate_core::{Nanos, Tat};

use crate::hash::KeyHash;

/// Keys in a page. With its counter the page is 4,080 bytes: one allocation of 4 KiB.
pub const CAPACITY: usize = 140;
const TAGS: usize = CAPACITY.next_multiple_of(16);

/// The top bit of a stored arrival time: changed since the last flush. An arrival time needs 63 bits until
/// the year 2262, and moves with its entry, so the mark does too.
const CHANGED: u64 = 1 << 63;

/// See the module.
pub struct Page {
    len: u16,
    tags: [u8; TAGS],
    high: [u64; CAPACITY],
    low: [u64; CAPACITY],
    tat_ns: [u64; CAPACITY],
    tat_rem: [u32; CAPACITY],
}

/// One key and all that is known of it, on its way between pages.
#[derive(Clone, Copy)]
pub struct Entry {
    pub hash: KeyHash,
    tat_ns: u64,
    tat_rem: u32,
}

impl Entry {
    pub fn new(hash: KeyHash, tat: Tat) -> Entry {
        Entry { hash, tat_ns: tat.ns.min(!CHANGED), tat_rem: tat.rem }
    }

    pub fn changed(self) -> Entry {
        Entry { tat_ns: self.tat_ns | CHANGED, ..self }
    }

    pub fn tat(&self) -> Tat {
        Tat { ns: self.tat_ns & !CHANGED, rem: self.tat_rem }
    }
}

impl Page {
    pub fn new() -> Box<Page> {
        Box::new(Page {
            len: 0,
            tags: [0; TAGS],
            high: [0; CAPACITY],
            low: [0; CAPACITY],
            tat_ns: [0; CAPACITY],
            tat_rem: [0; CAPACITY],
        })
    }

    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    pub fn is_full(&self) -> bool {
        self.len() == CAPACITY
    }

    /// The slot of a key.
    #[inline]
    pub fn find(&self, hash: KeyHash) -> Option<usize> {
        let (high, low) = ((hash.0 >> 64) as u64, hash.0 as u64);
        let tag = hash.tag();
        let len = self.len();
        let mut base = 0;
        while base < len {
            let mut matches = equal_bytes(&self.tags, base, tag);
            while matches != 0 {
                let slot = base + matches.trailing_zeros() as usize;
                // Tags past the end are stale; their entries must not be believed.
                if slot < len && self.low[slot] == low && self.high[slot] == high {
                    return Some(slot);
                }
                matches &= matches - 1;
            }
            base += 16;
        }
        None
    }

    #[inline]
    pub fn tat(&self, slot: usize) -> Tat {
        Tat { ns: self.tat_ns[slot] & !CHANGED, rem: self.tat_rem[slot] }
    }

    /// Stores a new arrival time and marks it changed. True if it was not marked before.
    #[inline]
    pub fn set_tat(&mut self, slot: usize, tat: Tat) -> bool {
        let fresh = self.tat_ns[slot] & CHANGED == 0;
        self.tat_ns[slot] = tat.ns | CHANGED;
        self.tat_rem[slot] = tat.rem;
        fresh
    }

    /// Takes the mark off.
    pub fn settle(&mut self, slot: usize) {
        self.tat_ns[slot] &= !CHANGED;
    }

    pub fn entry(&self, slot: usize) -> Entry {
        Entry { hash: self.hash(slot), tat_ns: self.tat_ns[slot], tat_rem: self.tat_rem[slot] }
    }

    pub fn entries(&self) -> impl Iterator<Item = Entry> {
        (0..self.len()).map(|slot| self.entry(slot))
    }

    fn hash(&self, slot: usize) -> KeyHash {
        KeyHash(u128::from(self.high[slot]) << 64 | u128::from(self.low[slot]))
    }

    /// Adds a key that is not there. False, and nothing done, if the page is full.
    #[must_use]
    pub fn push(&mut self, entry: Entry) -> bool {
        if self.is_full() {
            return false;
        }
        self.len += 1;
        self.put(self.len() - 1, entry);
        true
    }

    fn put(&mut self, slot: usize, entry: Entry) {
        self.tags[slot] = entry.hash.tag();
        self.high[slot] = (entry.hash.0 >> 64) as u64;
        self.low[slot] = entry.hash.0 as u64;
        self.tat_ns[slot] = entry.tat_ns;
        self.tat_rem[slot] = entry.tat_rem;
    }

    /// Takes a key out; the last one fills the hole.
    pub fn remove(&mut self, slot: usize) {
        let last = self.len() - 1;
        let entry = self.entry(last);
        self.put(slot, entry);
        self.len -= 1;
    }

    /// Takes out every key that is not to be kept, and says how many went.
    pub fn retain(&mut self, mut keep: impl FnMut(Entry) -> bool) -> usize {
        let before = self.len();
        for slot in (0..before).rev() {
            if !keep(self.entry(slot)) {
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
        (0..self.len()).min_by_key(|&slot| self.tat_ns[slot] & !CHANGED)
    }

    pub fn clear(&mut self) {
        self.len = 0;
    }
}

/// A bit for each of the 16 tags from `base` on that equals `tag`.
#[cfg(target_arch = "x86_64")]
#[inline]
fn equal_bytes(tags: &[u8; TAGS], base: usize, tag: u8) -> u32 {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_movemask_epi8, _mm_set_epi64x, _mm_set1_epi8};
    let (low, high) = (word(tags, base), word(tags, base + 8));
    // SAFETY: SSE2 is part of x86-64 itself, and these four touch no memory.
    unsafe {
        let block = _mm_set_epi64x(high as i64, low as i64);
        _mm_movemask_epi8(_mm_cmpeq_epi8(block, _mm_set1_epi8(tag as i8))) as u32
    }
}

/// The same without vector instructions.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn equal_bytes(tags: &[u8; TAGS], base: usize, tag: u8) -> u32 {
    (0..16).fold(0, |mask, i| mask | u32::from(tags[base + i] == tag) << i)
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn word(tags: &[u8; TAGS], at: usize) -> u64 {
    let bytes: [u8; 8] = tags[at..at + 8].try_into().unwrap_or_default();
    u64::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(n: u128) -> KeyHash {
        KeyHash(n << 64 | n << 32)
    }

    fn entry(n: u128) -> Entry {
        Entry::new(hash(n), Tat { ns: n as u64, rem: 0 })
    }

    #[test]
    fn a_page_is_one_allocation_of_four_kib() {
        // 4,096 less what an allocator keeps of a chunk for itself.
        assert!(size_of::<Page>() <= 4096 - 16, "{}", size_of::<Page>());
    }

    #[test]
    fn keys_with_one_tag_are_told_apart_and_stale_tags_are_not_believed() {
        let mut page = Page::new();
        for n in 0..CAPACITY as u128 {
            // The tag is the low byte of n: 0 and 256 share one.
            assert!(page.push(entry(n * 256)));
        }
        assert!(!page.push(entry(7)));
        for n in 0..CAPACITY as u128 {
            let slot = page.find(hash(n * 256)).unwrap();
            assert_eq!(page.tat(slot).ns, n as u64 * 256);
        }
        let slot = page.find(hash(256)).unwrap();
        page.remove(slot);
        assert_eq!(page.find(hash(256)), None);
        page.clear();
        assert_eq!(page.find(hash(512)), None);
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
        assert!(page.set_tat(1, Tat { ns: 5, rem: 3 }));
        assert!(!page.set_tat(1, Tat { ns: 6, rem: 4 }));
        page.remove(0);
        assert_eq!(page.tat(0), Tat { ns: 6, rem: 4 });
        assert!(!page.set_tat(0, Tat { ns: 7, rem: 0 }));
        page.settle(0);
        assert!(page.set_tat(0, Tat { ns: 8, rem: 0 }));
    }
}
