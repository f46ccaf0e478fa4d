//! Who waits for a call to the table, and for whom one is under way: each key once, and a bounded number at a time.
//!
//! Who comes first is called for first. But in a line that is longer than what is done in a moment the last one is: whoever
//! stands at its head has waited so long that nobody may wait for it any more, and all behind it would come to the same.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// A line is long if so many wait for each that may be under way.
const LONG: usize = 8;

/// How it stands with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stand {
    Waiting,
    Running,
    /// Under way, and wanted again: what is wanted may have come after the call had begun.
    RunningWanted,
}

/// A line of keys. A key that is wanted twice is asked for once.
#[derive(Debug)]
pub(crate) struct Line<K> {
    waiting: VecDeque<K>,
    stands: HashMap<K, Stand>,
    running: usize,
    /// How many may be under way.
    most_running: usize,
    /// How many may be known at all.
    most: usize,
}

impl<K: Clone + Eq + Hash> Line<K> {
    pub(crate) fn new(most_running: usize, most: usize) -> Line<K> {
        Line { waiting: VecDeque::new(), stands: HashMap::new(), running: 0, most_running, most }
    }

    /// Wants a key. False if there is no room to remember it.
    pub(crate) fn want(&mut self, key: K) -> bool {
        if let Some(stand) = self.stands.get_mut(&key) {
            if *stand == Stand::Running {
                *stand = Stand::RunningWanted;
            }
            return true;
        }
        if self.stands.len() >= self.most {
            return false;
        }
        self.stands.insert(key.clone(), Stand::Waiting);
        self.waiting.push_back(key);
        true
    }

    /// How many may be under way from now on.
    pub(crate) fn set_most_running(&mut self, most: usize) {
        self.most_running = most.max(1);
    }

    /// The next key to call for, if one more call may be under way.
    pub(crate) fn next(&mut self) -> Option<K> {
        if self.running >= self.most_running {
            return None;
        }
        let is_long = self.waiting.len() > LONG * self.most_running;
        let key = if is_long { self.waiting.pop_back() } else { self.waiting.pop_front() }?;
        self.stands.insert(key.clone(), Stand::Running);
        self.running += 1;
        Some(key)
    }

    /// A call has ended.
    pub(crate) fn done(&mut self, key: &K) {
        self.running = self.running.saturating_sub(1);
        match self.stands.remove(key) {
            Some(Stand::RunningWanted) => {
                self.stands.insert(key.clone(), Stand::Waiting);
                self.waiting.push_back(key.clone());
            }
            Some(Stand::Waiting) | Some(Stand::Running) | None => {}
        }
    }

    /// How many calls are under way.
    pub(crate) fn running(&self) -> usize {
        self.running
    }

    /// Whether nobody waits and nothing is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.stands.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_called_for_once_at_a_time() {
        let mut line = Line::new(8, 8);
        assert!(line.want('a') && line.want('a') && line.want('b'));
        assert_eq!((line.next(), line.next(), line.next()), (Some('a'), Some('b'), None));
        assert!(line.want('a'));
        assert_eq!(line.next(), None);
        line.done(&'b');
        line.done(&'a');
        // Wanted while it was under way: once more.
        assert_eq!((line.next(), line.next()), (Some('a'), None));
        line.done(&'a');
        assert!(line.is_idle());
    }

    #[test]
    fn in_a_long_line_the_last_is_called_for_first() {
        let mut line = Line::new(2, 1000);
        assert!((0..20).all(|key| line.want(key)));
        assert_eq!((line.next(), line.next(), line.next()), (Some(19), Some(18), None));
        line.done(&19);
        line.done(&18);
        line.set_most_running(3);
        // 18 are no long line for three.
        assert_eq!((line.next(), line.next(), line.next(), line.next()), (Some(0), Some(1), Some(2), None));
    }

    #[test]
    fn no_more_are_under_way_than_may_be_and_no_more_known() {
        let mut line = Line::new(2, 3);
        assert_eq!([1, 2, 3, 4].map(|key| line.want(key)), [true, true, true, false]);
        assert_eq!((line.next(), line.next(), line.next()), (Some(1), Some(2), None));
        line.done(&1);
        assert_eq!((line.next(), line.next(), line.running()), (Some(3), None, 2));
        assert!(line.want(4));
    }
}
