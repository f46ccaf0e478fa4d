//! A limit's state for one entity: the tokens of a rate, or what is in flight under a cap.
//!
//! It lives under terms that may change between any two calls, from a rate to a cap and back: tokens are kept and cut
//! to the new burst, and what is in flight stays counted whatever the terms say, so that no slot is ever lost or
//! taken twice.

use crate::Nanos;
use crate::bucket::{Bucket, Ready};

use super::term::Bound;

/// The state of one limit for one entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Its tokens, while it is a rate.
    pub bucket: Bucket,
    /// Taken and not given back, while it is a cap.
    pub in_flight: u32,
    /// How often it was taken from in the minute that is open.
    pub events: u32,
    /// How much was taken in that minute, less what was given back in it.
    pub used: i64,
}

impl Slot {
    /// Full, with nothing in flight.
    pub fn new(bound: &Bound, now: Nanos) -> Slot {
        let bucket = match bound {
            Bound::Rate(limit) => Bucket::full(limit, now),
            Bound::Concurrency(_) => Bucket::empty(now),
        };
        Slot { bucket, in_flight: 0, events: 0, used: 0 }
    }

    /// When `n` could be taken. 0 is a look, and always passes.
    pub fn ready(&mut self, bound: &Bound, n: u64, now: Nanos) -> Ready {
        match bound {
            _ if n == 0 => Ready::Now,
            Bound::Rate(limit) => {
                self.bucket.refill(limit, now);
                self.bucket.ready(limit, n)
            }
            Bound::Concurrency(cap) if n > *cap => Ready::Never,
            Bound::Concurrency(cap) if u64::from(self.in_flight) + n > *cap => Ready::Pending,
            Bound::Concurrency(_) => Ready::Now,
        }
    }

    /// Takes `n`, there or not: whoever must not take what is not there has asked before.
    pub fn take(&mut self, bound: &Bound, n: u64, now: Nanos) {
        match bound {
            Bound::Rate(limit) => {
                let mut left = n;
                // In parts, since a charge is signed and an amount may have all 64 bits.
                while left > 0 {
                    let part = left.min(i64::MAX as u64);
                    self.bucket.charge(limit, part as i64, now);
                    left -= part;
                }
            }
            Bound::Concurrency(_) => {
                self.in_flight = self.in_flight.saturating_add(u32::try_from(n).unwrap_or(u32::MAX));
            }
        }
    }

    /// Gives tokens back, never above the burst.
    pub fn give_tokens(&mut self, bound: &Bound, n: u64, now: Nanos) {
        if let Bound::Rate(limit) = bound {
            self.bucket.charge(limit, -i64::try_from(n).unwrap_or(i64::MAX), now);
            self.bucket.trim(limit);
        }
    }

    /// Gives back what was in flight, whatever the limit is by now.
    pub fn give_slots(&mut self, n: u32) {
        self.in_flight = self.in_flight.saturating_sub(n);
    }

    /// The same state under another bound, which has held since `since`.
    pub fn change(&mut self, from: &Bound, to: &Bound, since: Nanos, now: Nanos) {
        match (from, to) {
            (Bound::Rate(old), Bound::Rate(new)) if old == new => {}
            (Bound::Rate(old), Bound::Rate(new)) => {
                self.bucket.change(old, new, since.min(now));
                self.bucket.refill(new, now);
            }
            (Bound::Concurrency(_), Bound::Rate(new)) => self.bucket = Bucket::full(new, now),
            (_, Bound::Concurrency(_)) => {}
        }
    }

    /// Counts the time since the last refill.
    pub fn refill(&mut self, bound: &Bound, now: Nanos) {
        if let Bound::Rate(limit) = bound {
            self.bucket.refill(limit, now);
        }
    }

    /// What could be taken now; negative is debt, or more in flight than the cap.
    pub fn available(&mut self, bound: &Bound, now: Nanos) -> i64 {
        match bound {
            Bound::Rate(limit) => {
                self.bucket.refill(limit, now);
                self.bucket.tokens(limit)
            }
            Bound::Concurrency(cap) => {
                i64::try_from(*cap).unwrap_or(i64::MAX).saturating_sub(i64::from(self.in_flight))
            }
        }
    }

    /// Nanoseconds until the bucket is full; 0 under a cap, which no time fills.
    pub fn until_full_ns(&mut self, bound: &Bound, now: Nanos) -> u64 {
        match bound {
            Bound::Rate(limit) => {
                self.bucket.refill(limit, now);
                self.bucket.until_full_ns(limit)
            }
            Bound::Concurrency(_) => 0,
        }
    }

    /// Whether it equals one that was never touched.
    pub fn is_idle(&mut self, bound: &Bound, now: Nanos) -> bool {
        self.in_flight == 0 && self.until_full_ns(bound, now) == 0
    }

    /// Counts what was taken (below 0: given back) as used, and how often.
    pub fn count(&mut self, amount: i128, events: u32) {
        let used = i128::from(self.used).saturating_add(amount);
        self.used = i64::try_from(used).unwrap_or(if used < 0 { i64::MIN } else { i64::MAX });
        self.events = self.events.saturating_add(events);
    }

    /// Whether anything was counted in the open minute.
    pub fn has_counts(&self) -> bool {
        self.used != 0 || self.events != 0
    }

    /// Makes it full. What is in flight stays so.
    pub fn fill(&mut self, bound: &Bound, now: Nanos) {
        if let Bound::Rate(limit) = bound {
            self.bucket = Bucket::full(limit, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limit, NANOS_PER_S};

    const START: Nanos = 1_700_000_000 * NANOS_PER_S;

    fn rate(per_s: u64) -> Bound {
        Bound::Rate(Limit::per_second(per_s).unwrap())
    }

    #[test]
    fn a_cap_counts_what_is_in_flight() {
        let cap = Bound::Concurrency(3);
        let mut slot = Slot::new(&cap, START);
        assert_eq!(slot.ready(&cap, 4, START), Ready::Never);
        slot.take(&cap, 2, START);
        assert_eq!(slot.ready(&cap, 1, START), Ready::Now);
        assert_eq!(slot.ready(&cap, 2, START), Ready::Pending);
        assert_eq!((slot.available(&cap, START), slot.is_idle(&cap, START)), (1, false));
        slot.give_slots(2);
        assert!(slot.is_idle(&cap, START));
        slot.give_slots(2);
        assert_eq!(slot.available(&cap, START), 3);
    }

    #[test]
    fn what_is_in_flight_outlives_a_change_to_a_rate_and_back() {
        let (cap, rate) = (Bound::Concurrency(3), rate(10));
        let mut slot = Slot::new(&cap, START);
        slot.take(&cap, 2, START);
        slot.change(&cap, &rate, START, START);
        assert_eq!(slot.available(&rate, START), 10);
        slot.give_slots(1);
        slot.change(&rate, &cap, START, START);
        assert_eq!(slot.available(&cap, START), 2);
    }

    #[test]
    fn a_change_counts_the_old_rate_up_to_when_it_held() {
        let (old, new) = (rate(10), rate(100));
        let mut slot = Slot::new(&old, START);
        slot.take(&old, 10, START);
        // 0.5 s at 10/s, then 0.25 s at 100/s.
        let (since, now) = (START + NANOS_PER_S / 2, START + NANOS_PER_S * 3 / 4);
        slot.change(&old, &new, since, now);
        assert_eq!(slot.available(&new, now), 30);
    }

    #[test]
    fn debt_is_taken_and_what_comes_back_stops_at_the_burst() {
        let bound = rate(10);
        let mut slot = Slot::new(&bound, START);
        slot.take(&bound, 25, START);
        assert_eq!(slot.available(&bound, START), -15);
        slot.give_tokens(&bound, 100, START);
        assert_eq!((slot.available(&bound, START), slot.until_full_ns(&bound, START)), (10, 0));
        slot.take(&bound, u64::MAX, START);
        assert!(slot.available(&bound, START) < -1_000_000_000_000);
        slot.fill(&bound, START);
        assert_eq!(slot.available(&bound, START), 10);
    }
}
