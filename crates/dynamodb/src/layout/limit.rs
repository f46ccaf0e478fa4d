//! A limit as others store it: whole tokens and whole seconds. Which limits they can read.

use tidegate_core::ledger::{Bound, Term};
use tidegate_core::limit::{Limit, Parts};

const SECOND_NS: u128 = 1_000_000_000;

/// The largest amount that others take.
const MAX_AMOUNT: u128 = 1_000_000_000_000_000;

/// The longest period that others take, in seconds.
const MAX_PERIOD_S: u128 = 1_000_000_000;

/// The name of the limit that counts writes on a bucket.
pub const WRITES: &str = "wcu";

/// A rate limit in whole tokens and seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Tokens that may be taken at once.
    pub capacity: u64,
    /// Tokens that come back every period.
    pub amount: u64,
    /// The period, in seconds.
    pub period_s: u64,
}

impl Stored {
    /// The same limit in whole seconds: 7 in 1.5 ms are 14,000 in 3 s. None if others would not take its numbers.
    pub fn of(limit: &Limit) -> Option<Stored> {
        let period = limit.period_ns();
        let times = SECOND_NS / gcd(period, SECOND_NS);
        let amount = u128::from(limit.count()).checked_mul(times)?;
        let period_s = period.checked_mul(times)? / SECOND_NS;
        let sound =
            u128::from(limit.burst()) <= MAX_AMOUNT && amount <= MAX_AMOUNT && period_s <= MAX_PERIOD_S;
        let fits = |number| u64::try_from(number).ok();
        sound.then_some(Stored { capacity: limit.burst(), amount: fits(amount)?, period_s: fits(period_s)? })
    }

    /// The limit, if its rate can be kept exactly.
    pub fn limit(&self) -> Option<Limit> {
        let period_ns = u128::from(self.period_s) * SECOND_NS;
        let limit = Limit::new(Parts { burst: self.capacity, count: self.amount, period_ns }).ok()?;
        let told = Stored::of(&limit)?;
        let same = u128::from(told.amount) * u128::from(self.period_s)
            == u128::from(self.amount) * u128::from(told.period_s);
        (same && told.capacity == self.capacity).then_some(limit)
    }
}

/// The rate limit of a term that others read and enforce, too. A soft one, a cap, one with numbers beyond their bounds and one
/// called as the limit that counts writes is ours alone: it is kept where they do not look.
pub fn shared(term: &Term) -> Option<Stored> {
    match &term.bound {
        Bound::Rate(limit) if !term.soft && &*term.name != WRITES => Stored::of(limit),
        _ => None,
    }
}

/// What the attributes of a rate limit in a bucket begin with: `b_{name}_` if others read them.
pub fn bucket_prefix(name: &str, soft: bool, limit: &Limit) -> String {
    let is_shared = !soft && name != WRITES && Stored::of(limit).is_some();
    format!("{}_{name}_", if is_shared { "b" } else { "s" })
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn term(text: &str) -> Term {
        text.parse().unwrap()
    }

    #[test]
    fn limits_are_told_in_whole_seconds() {
        let cases = [
            ("rpm=100/minute", (100, 100, 60)),
            ("tpm=10000/minute,burst=20000", (20_000, 10_000, 60)),
            ("x=7/1500000ns", (7, 14_000, 3)),
            ("x=5/250ms", (5, 20, 1)),
            ("x=5000000000/second", (5_000_000_000, 5_000_000_000, 1)),
        ];
        for (text, (capacity, amount, period_s)) in cases {
            assert_eq!(shared(&term(text)), Some(Stored { capacity, amount, period_s }), "{text}");
        }
    }

    #[test]
    fn what_others_would_not_take_is_ours_alone() {
        let own = [
            "x=5/minute,soft",
            "x=8",
            "wcu=5/minute",
            "x=1/second,burst=1000000000000001",
            "x=4294967295/1ns",
        ];
        for text in own {
            assert_eq!(shared(&term(text)), None, "{text}");
        }
        let limit = |text| match term(text).bound {
            Bound::Rate(limit) => limit,
            Bound::Concurrency(_) => panic!("no rate"),
        };
        assert_eq!(bucket_prefix("tpm", false, &limit("x=5/minute")), "b_tpm_");
        assert_eq!(bucket_prefix("tpm", true, &limit("x=5/minute")), "s_tpm_");
        assert_eq!(bucket_prefix(WRITES, false, &limit("x=5/minute")), "s_wcu_");
    }

    #[test]
    fn a_rate_that_cannot_be_kept_exactly_is_none() {
        let stored = |amount| Stored { capacity: 1, amount, period_s: 1 };
        assert!(stored(5_000_000_000).limit().is_some());
        assert_eq!(stored(5_000_000_001).limit(), None);
        assert_eq!(stored(0).limit(), None);
    }

    proptest! {
        #[test]
        fn a_limit_of_others_is_read_and_written_the_same(
            capacity in 1u64..=1_000_000_000_000_000,
            amount in 1u64..=u64::from(u32::MAX),
            period_s in 1u64..=1_000_000_000,
        ) {
            let stored = Stored { capacity, amount, period_s };
            let limit = stored.limit();
            // A burst that takes long to refill may not be kept in full, and is refused then.
            if let Some(limit) = limit {
                let told = Stored::of(&limit).unwrap();
                prop_assert_eq!(u128::from(told.amount) * u128::from(period_s), u128::from(amount) * u128::from(told.period_s));
            }
        }
    }
}
