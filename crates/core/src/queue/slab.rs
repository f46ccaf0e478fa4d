//! Where entries live: chunks of slots, addressed by a number of 32 bits.
//!
//! A chunk is never moved, so growth costs one small allocation and never a copy of what is there. A number that
//! names no entry is a bug of this module's callers, and panics.

use std::ops::{Index, IndexMut};

use crate::prefetch::{LINE, prefetch};

/// The number of no entry.
pub(super) const NONE: u32 = u32::MAX;

const CHUNK_BITS: u32 = 9;
const CHUNK: usize = 1 << CHUNK_BITS;

/// With a niche in `T` this is as large as `T`.
pub(super) enum Slot<T> {
    Vacant(u32),
    Occupied(T),
}

pub(super) struct Slab<T> {
    /// Of a length that is known when the program is built, so that a number needs one look at a length.
    chunks: Vec<Box<[Slot<T>; CHUNK]>>,
    /// The slot that was vacated last; each names the one before.
    vacant: u32,
    /// Slots from here on were never used.
    fresh: u32,
    len: u32,
}

impl<T> Slab<T> {
    pub(super) fn new() -> Slab<T> {
        Slab { chunks: Vec::new(), vacant: NONE, fresh: 0, len: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    pub(super) fn insert(&mut self, value: T) -> u32 {
        self.len += 1;
        let at = self.vacant;
        if at != NONE {
            let slot = self.slot_mut(at);
            let Slot::Vacant(next) = *slot else {
                panic!("slot {at} is on the list of vacant ones, and is not")
            };
            *slot = Slot::Occupied(value);
            self.vacant = next;
            return at;
        }
        let at = self.fresh;
        assert!(at < NONE, "a slab holds less than 2^32 entries");
        if at as usize == self.chunks.len() << CHUNK_BITS {
            self.chunks.push(vacant_chunk());
        }
        self.fresh = at + 1;
        *self.slot_mut(at) = Slot::Occupied(value);
        at
    }

    /// Drops an entry where it is.
    #[inline]
    pub(super) fn remove(&mut self, at: u32) {
        let vacant = Slot::Vacant(self.vacant);
        let slot = self.slot_mut(at);
        assert!(matches!(slot, Slot::Occupied(_)), "slot {at} is vacant");
        *slot = vacant;
        self.note_vacant(at);
    }

    /// The same for an entry that somebody wants.
    pub(super) fn take(&mut self, at: u32) -> T {
        let vacant = Slot::Vacant(self.vacant);
        let Slot::Occupied(value) = std::mem::replace(self.slot_mut(at), vacant) else {
            panic!("slot {at} is vacant")
        };
        self.note_vacant(at);
        value
    }

    #[inline]
    fn note_vacant(&mut self, at: u32) {
        self.vacant = at;
        self.len -= 1;
        if self.len == 0 && self.chunks.len() > 1 {
            self.reset();
        }
    }

    /// What a backlog took is given back once it is gone.
    #[cold]
    fn reset(&mut self) {
        self.chunks.truncate(1);
        (self.vacant, self.fresh) = (NONE, 0);
        self.chunks[0].iter_mut().for_each(|slot| *slot = Slot::Vacant(NONE));
    }

    /// The entry at a number below [`end`](Self::end), if there is one.
    pub(super) fn get(&self, at: u32) -> Option<&T> {
        match self.chunks.get((at >> CHUNK_BITS) as usize)?.get(at as usize % CHUNK)? {
            Slot::Occupied(value) => Some(value),
            Slot::Vacant(_) => None,
        }
    }

    /// Asks for the memory of an entry, if there is room for one of that number.
    #[inline]
    pub(super) fn prefetch(&self, at: u32) {
        let Some(chunk) = self.chunks.get((at >> CHUNK_BITS) as usize) else { return };
        let slot = &raw const chunk[at as usize % CHUNK];
        prefetch(slot);
        if !LINE.is_multiple_of(size_of::<Slot<T>>()) {
            // It may end in another line than it begins in.
            prefetch(slot.wrapping_byte_add(size_of::<Slot<T>>() - 1));
        }
    }

    /// All entries have numbers below this.
    pub(super) fn end(&self) -> u32 {
        self.fresh
    }

    #[inline]
    fn slot_mut(&mut self, at: u32) -> &mut Slot<T> {
        &mut self.chunks[(at >> CHUNK_BITS) as usize][at as usize % CHUNK]
    }

    /// All entries, for what may walk.
    #[cfg(any(test, feature = "check"))]
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let slots = self.chunks.iter().flat_map(|chunk| chunk.iter()).enumerate();
        slots.filter_map(|(at, slot)| match slot {
            Slot::Occupied(value) => Some((at as u32, value)),
            Slot::Vacant(_) => None,
        })
    }
}

fn vacant_chunk<T>() -> Box<[Slot<T>; CHUNK]> {
    let chunk: Box<[Slot<T>]> = (0..CHUNK).map(|_| Slot::Vacant(NONE)).collect();
    chunk.try_into().unwrap_or_else(|_| unreachable!("a chunk has its length"))
}

impl<T> Index<u32> for Slab<T> {
    type Output = T;

    #[inline]
    fn index(&self, at: u32) -> &T {
        match &self.chunks[(at >> CHUNK_BITS) as usize][at as usize % CHUNK] {
            Slot::Occupied(value) => value,
            Slot::Vacant(_) => panic!("slot {at} is vacant"),
        }
    }
}

impl<T> IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, at: u32) -> &mut T {
        match self.slot_mut(at) {
            Slot::Occupied(value) => value,
            Slot::Vacant(_) => panic!("slot {at} is vacant"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_used_again_and_chunks_given_back() {
        let mut slab = Slab::new();
        let all: Vec<u32> = (0..5000).map(|n| slab.insert(n)).collect();
        assert_eq!(slab.take(all[17]), 17);
        assert_eq!(slab.insert(99), all[17]);
        assert_eq!((slab[all[17]], slab.len(), slab.iter().count()), (99, 5000, 5000));
        for at in &all {
            slab.remove(*at);
        }
        assert_eq!((slab.len(), slab.chunks.len(), slab.iter().count()), (0, 1, 0));
        let again: Vec<u32> = (0..2000).map(|n| slab.insert(n)).collect();
        assert!(again.iter().enumerate().all(|(n, at)| slab[*at] == n as i32));
    }

    #[test]
    #[should_panic(expected = "slot 3 is vacant")]
    fn a_vacant_slot_is_a_bug() {
        let mut slab = Slab::new();
        for n in 0..4 {
            slab.insert(n);
        }
        slab.remove(3);
        assert_eq!(slab[3], 3);
    }
}
