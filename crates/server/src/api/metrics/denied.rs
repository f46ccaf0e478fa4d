//! The keys that are denied most, out of any number of keys, in bounded memory.
//!
//! A Space-Saving sketch cut into sets of eight counters: a denial looks at one set, and a key without a
//! counter takes over the smallest of its set, count included. A count is therefore never too low, and too
//! high by at most what the taken-over counter held, which is kept as `error`.

use std::sync::{Mutex, PoisonError};

use tidegate_limiter::KeyHash;

const WAYS: usize = 8;

#[derive(Default)]
struct Slot {
    hash: Option<KeyHash>,
    key: Vec<u8>,
    count: u64,
    error: u64,
}

type Set = [Slot; WAYS];

/// See the module.
pub struct Denied {
    top: usize,
    sets: Box<[Mutex<Set>]>,
}

/// One of the most denied keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopDenied {
    /// The key.
    pub key: Vec<u8>,
    /// Denials, at most.
    pub count: u64,
    /// By how much the count may be too high.
    pub error: u64,
}

impl Denied {
    /// A sketch that can name the `top` most denied keys; 0 counts nothing.
    pub fn new(top: usize) -> Denied {
        // Four counters for each key that is shown, so that the tail does not crowd out the top.
        let sets = if top == 0 { 0 } else { (top * 4).div_ceil(WAYS).next_power_of_two() };
        Denied { top, sets: (0..sets).map(|_| Mutex::default()).collect() }
    }

    /// Counts a denial.
    pub fn record(&self, hash: KeyHash, key: &[u8]) {
        if self.sets.is_empty() {
            return;
        }
        let set = &self.sets[(hash.0 >> 40) as usize % self.sets.len()];
        let mut set = set.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = set.iter_mut().find(|slot| slot.hash == Some(hash)) {
            slot.count += 1;
            return;
        }
        if let Some(slot) = set.iter_mut().min_by_key(|slot| slot.count) {
            slot.hash = Some(hash);
            slot.error = slot.count;
            slot.count += 1;
            slot.key.clear();
            slot.key.extend_from_slice(key);
        }
    }

    /// The most denied keys, most denied first.
    pub fn top(&self) -> Vec<TopDenied> {
        let mut all = Vec::new();
        for set in &self.sets {
            let set = set.lock().unwrap_or_else(PoisonError::into_inner);
            all.extend(set.iter().filter(|slot| slot.hash.is_some()).map(|slot| TopDenied {
                key: slot.key.clone(),
                count: slot.count,
                error: slot.error,
            }));
        }
        all.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.key.cmp(&b.key)));
        all.truncate(self.top);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heavy_keys_stay_on_top_of_a_long_tail() {
        let denied = Denied::new(3);
        let hash = |n: u64| KeyHash(u128::from(n.wrapping_mul(0x9E37_79B9_7F4A_7C15)) << 40);
        for round in 0..1000 {
            denied.record(hash(1), b"worst");
            denied.record(hash(2), b"bad");
            if round % 2 == 0 {
                denied.record(hash(3), b"mild");
            }
            denied.record(hash(round + 10), format!("tail:{round}").as_bytes());
        }
        let top = denied.top();
        let keys: Vec<&[u8]> = top.iter().map(|top| top.key.as_slice()).collect();
        assert_eq!(keys, [b"bad".as_slice(), b"worst", b"mild"]);
        assert!(top.iter().all(|top| top.count - top.error <= 1000));
        assert!(top[0].count >= 1000);
    }

    #[test]
    fn zero_keeps_nothing() {
        let denied = Denied::new(0);
        denied.record(KeyHash(1), b"k");
        assert_eq!(denied.top(), []);
    }
}
