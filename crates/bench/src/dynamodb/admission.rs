//! Whether more was admitted than a limit allows, in any window of time.
//!
//! A decision was made between the send of its request and the arrival of its reply. So those that were sent after the
//! beginning of a window and answered before its end were made within it for certain, and nothing has to be allowed for.

use super::limit::Limit;

/// One that was admitted, in seconds from the start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Admitted {
    /// Whom for.
    pub entity: u64,
    /// When it was asked for.
    pub sent_s: f64,
    /// When the answer was there.
    pub answered_s: f64,
}

/// How far above the limit the worst window of any entity was; below 0 if none was. None if nothing was admitted.
pub fn excess(mut admitted: Vec<Admitted>, limit: Limit) -> Option<f64> {
    admitted.sort_by_key(|one| one.entity);
    let of_each = admitted.chunk_by_mut(|one, next| one.entity == next.entity);
    of_each.map(|of_one| worst(of_one, limit)).max_by(f64::total_cmp)
}

/// For every end, in the order of the answers, the start at which the most would be too many.
fn worst(admitted: &mut [Admitted], limit: Limit) -> f64 {
    admitted.sort_by(|one, other| one.answered_s.total_cmp(&other.answered_s));
    let mut by_start: Vec<usize> = (0..admitted.len()).collect();
    by_start.sort_by(|&one, &other| admitted[one].sent_s.total_cmp(&admitted[other].sent_s));
    let mut place = vec![0; admitted.len()];
    for (at, &index) in by_start.iter().enumerate() {
        place[index] = at;
    }
    let mut starts = Starts::new(admitted.len());
    let mut worst = f64::NEG_INFINITY;
    for (index, one) in admitted.iter().enumerate() {
        starts.admit(place[index], limit.rate_per_s() * one.sent_s);
        let most = starts.most() - limit.rate_per_s() * one.answered_s;
        worst = worst.max(most - limit.burst as f64);
    }
    worst
}

/// A window may start at any send; for each start the number that counts since, plus what would have come before it. A tree
/// over the starts, so that one more is added to all starts before it at once.
struct Starts {
    /// The largest below each node, without what was added to the node as a whole.
    most: Vec<f64>,
    /// How many count for all starts below each node.
    added: Vec<f64>,
    leaves: usize,
}

impl Starts {
    fn new(count: usize) -> Starts {
        let leaves = count.next_power_of_two();
        Starts { most: vec![f64::NEG_INFINITY; 2 * leaves], added: vec![0.0; 2 * leaves], leaves }
    }

    /// One that was sent at this place counts for this start, which is now one, and for all before it.
    fn admit(&mut self, place: usize, came_before: f64) {
        let mut node = self.leaves + place;
        self.most[node] = came_before;
        self.added[node] += 1.0;
        while node > 1 {
            // All of the left sibling's starts are before ours.
            if node % 2 == 1 {
                self.added[node - 1] += 1.0;
            }
            node /= 2;
            let below = [2 * node, 2 * node + 1].map(|child| self.most[child] + self.added[child]);
            self.most[node] = below[0].max(below[1]);
        }
    }

    fn most(&self) -> f64 {
        self.most[1] + self.added[1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::keys::{Keys, RandomKeys};

    fn at(sent_s: f64, answered_s: f64) -> Admitted {
        Admitted { entity: 0, sent_s, answered_s }
    }

    /// Every window by itself.
    fn plainly(admitted: &[Admitted], limit: Limit) -> f64 {
        let mut worst = f64::NEG_INFINITY;
        for from in admitted {
            for to in admitted.iter().filter(|to| to.answered_s >= from.answered_s) {
                let within = |one: &&Admitted| one.sent_s >= from.sent_s && one.answered_s <= to.answered_s;
                let count = admitted.iter().filter(within).count() as f64;
                worst = worst.max(count - limit.within(to.answered_s - from.sent_s));
            }
        }
        worst
    }

    #[test]
    fn the_worst_window_counts_wherever_it_is() {
        let limit = Limit { per_minute: 60, burst: 2 };
        assert_eq!(excess(Vec::new(), limit), None);
        assert_eq!(excess(vec![at(0.0, 0.0)], limit), Some(-1.0));
        let three = [at(0.0, 0.0), at(10.0, 10.0), at(10.0, 10.0), at(10.5, 10.5)];
        assert_eq!(excess(three.to_vec(), limit), Some(0.5));
    }

    #[test]
    fn what_may_have_been_decided_elsewhere_does_not_count() {
        let limit = Limit { per_minute: 60, burst: 1 };
        // The first may have been decided at 0, a second before the other.
        assert_eq!(excess(vec![at(0.0, 1.0), at(0.9, 1.0)], limit), Some(0.0));
        assert!(excess(vec![at(0.9, 1.0), at(0.9, 1.0)], limit).is_some_and(|excess| excess > 0.8));
    }

    #[test]
    fn entities_do_not_count_for_one_another() {
        let limit = Limit { per_minute: 60, burst: 1 };
        let other = Admitted { entity: 1, ..at(0.0, 0.0) };
        assert_eq!(excess(vec![at(0.0, 0.0), other], limit), Some(0.0));
    }

    #[test]
    fn the_tree_says_what_all_windows_say() {
        let mut random = RandomKeys::below(1_000);
        for burst in 1..40 {
            let limit = Limit { per_minute: 600, burst };
            let admitted: Vec<Admitted> = (0..37)
                .map(|_| {
                    let sent_s = random.next_key() as f64 / 100.0;
                    at(sent_s, sent_s + random.next_key() as f64 / 500.0)
                })
                .collect();
            let (tree, plain) = (excess(admitted.clone(), limit).unwrap(), plainly(&admitted, limit));
            assert!((tree - plain).abs() < 1e-6, "{tree} instead of {plain}");
        }
    }
}
