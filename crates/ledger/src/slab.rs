//! Where entries live: one row of places, addressed by a number of 32 bits, and sets of such numbers.
//!
//! The row grows by a quarter at a time: at a million entities a shard's has 125 KB, and is copied in some 10 us.

/// Entries by number.
pub(crate) struct Slab<T> {
    places: Vec<Option<T>>,
    vacant: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Slab<T> {
        Slab { places: Vec::new(), vacant: Vec::new() }
    }
}

impl<T> Slab<T> {
    pub(crate) fn insert(&mut self, entry: T) -> u32 {
        if let Some(at) = self.vacant.pop() {
            self.places[at as usize] = Some(entry);
            return at;
        }
        let len = self.places.len();
        if len == self.places.capacity() {
            self.places.reserve_exact((len / 4).max(16));
        }
        self.places.push(Some(entry));
        u32::try_from(len).expect("a shard has less than 2^32 entries")
    }

    pub(crate) fn remove(&mut self, at: u32) -> Option<T> {
        let entry = self.places.get_mut(at as usize)?.take()?;
        self.vacant.push(at);
        Some(entry)
    }

    #[inline]
    pub(crate) fn get(&self, at: u32) -> Option<&T> {
        self.places.get(at as usize)?.as_ref()
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, at: u32) -> Option<&mut T> {
        self.places.get_mut(at as usize)?.as_mut()
    }

    /// Numbers from here on have no entry.
    pub(crate) fn end(&self) -> u32 {
        self.places.len() as u32
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len() - self.vacant.len()
    }
}

/// A set of numbers, a bit each.
#[derive(Default)]
pub(crate) struct Bits {
    words: Vec<u64>,
}

impl Bits {
    #[inline]
    pub(crate) fn set(&mut self, at: u32) {
        let word = at as usize / 64;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (at % 64);
    }

    pub(crate) fn unset(&mut self, at: u32) {
        if let Some(word) = self.words.get_mut(at as usize / 64) {
            *word &= !(1 << (at % 64));
        }
    }

    /// The first number in the set from `at` on.
    pub(crate) fn next(&self, at: u32) -> Option<u32> {
        let mut word = at as usize / 64;
        let mut bits = self.words.get(word)? & (u64::MAX << (at % 64));
        while bits == 0 {
            word += 1;
            bits = *self.words.get(word)?;
        }
        Some(word as u32 * 64 + bits.trailing_zeros())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_used_again() {
        let mut slab = Slab::default();
        let numbers: Vec<u32> = (0..300).map(|n| slab.insert(n)).collect();
        assert_eq!(slab.remove(numbers[7]), Some(7));
        assert_eq!((slab.remove(7), slab.get(7), slab.get(9000), slab.len()), (None, None, None, 299));
        assert_eq!((slab.insert(1000), slab.len(), slab.end()), (7, 300, 300));
        assert_eq!(slab.get_mut(7), Some(&mut 1000));
    }

    #[test]
    fn bits_are_found_in_order() {
        let mut bits = Bits::default();
        for at in [3, 64, 300] {
            bits.set(at);
        }
        assert_eq!(
            [bits.next(0), bits.next(4), bits.next(65), bits.next(301)],
            [Some(3), Some(64), Some(300), None]
        );
        bits.unset(64);
        assert_eq!((bits.next(0), bits.next(4)), (Some(3), Some(300)));
    }
}
