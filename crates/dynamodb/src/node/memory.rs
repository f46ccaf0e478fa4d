//! What was seen last of each account's bucket: bounded, and forgotten when it has not been used for a while.

use std::collections::HashMap;
use std::hash::Hash;

/// A map of two generations: what was used in neither of them is forgotten. No order is kept and nothing is searched.
#[derive(Debug)]
pub(crate) struct Memory<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
    /// How many a generation has.
    generation: usize,
}

impl<K: Eq + Hash, V> Memory<K, V> {
    /// A memory of at most `most`.
    pub(crate) fn new(most: usize) -> Memory<K, V> {
        Memory { young: HashMap::new(), old: HashMap::new(), generation: (most / 2).max(1) }
    }

    /// Takes out what is known; whoever has used it puts it back.
    pub(crate) fn take(&mut self, key: &K) -> Option<V> {
        self.young.remove(key).or_else(|| self.old.remove(key))
    }

    /// Remembers.
    pub(crate) fn put(&mut self, key: K, value: V) {
        self.old.remove(&key);
        self.young.insert(key, value);
        if self.young.len() >= self.generation {
            self.old = std::mem::take(&mut self.young);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_stays_and_the_rest_goes() {
        let mut memory = Memory::new(10);
        for n in 0..1000 {
            memory.put(n, n);
            if let Some(zero) = memory.take(&0) {
                memory.put(0, zero);
            }
            assert!(memory.young.len() + memory.old.len() <= 10);
        }
        assert_eq!((memory.take(&0), memory.take(&999), memory.take(&500)), (Some(0), Some(999), None));
    }
}
