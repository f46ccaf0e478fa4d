//! Declared limits: what the token-bucket story asks for.

use tidegate_core::Wait;
use tidegate_limiter::{Buckets, Limit, Ready, Short};

const START: u64 = 1_700_000_000_000_000_000;
const SECOND: u64 = 1_000_000_000;

fn limit(count: u64, burst: u64) -> Limit {
    Limit::per_second(count).unwrap().with_burst(burst).unwrap()
}

fn take(buckets: &Buckets, charges: &[(&str, u64)], now: u64) -> Result<(), Short> {
    buckets.take_all(charges, now)
}

#[test]
fn a_limit_is_taken_and_refills_with_time() {
    let buckets = Buckets::new();
    buckets.set(b"aws", limit(10, 5), START);
    assert_eq!(take(&buckets, &[("aws", 5)], START), Ok(()));
    let short = Short { charge: 0, ready: Ready::At(START + SECOND / 10) };
    assert_eq!(take(&buckets, &[("aws", 1)], START), Err(short));
    assert_eq!(buckets.tokens(b"aws", START), Some(0), "a refusal takes nothing");
    assert_eq!(take(&buckets, &[("aws", 1)], START + SECOND / 10), Ok(()));
    assert_eq!(buckets.tokens(b"aws", START + 100 * SECOND), Some(5), "never more than the burst");
    let never = Short { charge: 0, ready: Ready::Never };
    assert_eq!(take(&buckets, &[("aws", 6)], START + 100 * SECOND), Err(never));
}

#[test]
fn all_or_none() {
    let buckets = Buckets::new();
    buckets.set(b"aws", limit(10, 5), START);
    buckets.set(b"eu", limit(1, 1), START);
    assert_eq!(take(&buckets, &[("aws", 1), ("eu", 1), ("unknown", 99)], START), Ok(()));
    let short = take(&buckets, &[("aws", 1), ("unknown", 1), ("eu", 1)], START).unwrap_err();
    assert_eq!(short, Short { charge: 2, ready: Ready::At(START + SECOND) });
    assert_eq!(buckets.tokens(b"aws", START), Some(4), "nothing was taken from the one that could pay");
}

#[test]
fn the_charge_that_waits_longest_is_named() {
    let buckets = Buckets::new();
    buckets.set(b"fast", limit(100, 1), START);
    buckets.set(b"slow", limit(1, 1), START);
    assert_eq!(take(&buckets, &[("fast", 1), ("slow", 1)], START), Ok(()));
    let short = take(&buckets, &[("slow", 1), ("fast", 1)], START).unwrap_err();
    assert_eq!(short, Short { charge: 0, ready: Ready::At(START + SECOND) });
    let short = take(&buckets, &[("slow", 1), ("fast", 2)], START).unwrap_err();
    assert_eq!(short, Short { charge: 1, ready: Ready::Never });
}

#[test]
fn a_name_that_comes_twice_pays_twice() {
    let buckets = Buckets::new();
    buckets.set(b"aws", limit(1, 3), START);
    assert_eq!(take(&buckets, &[("aws", 1), ("aws", 1)], START), Ok(()));
    assert!(take(&buckets, &[("aws", 1), ("aws", 1)], START).is_err());
    assert_eq!(buckets.tokens(b"aws", START), Some(1));
    let many: Vec<(&str, u64)> = vec![("aws", 1); 20];
    assert_eq!(take(&buckets, &many, START).unwrap_err().ready, Ready::Never);
}

#[test]
fn a_name_without_a_limit_passes() {
    let buckets = Buckets::new();
    assert_eq!(take(&buckets, &[("nobody", 1_000_000)], START), Ok(()));
    buckets.set(b"aws", limit(1, 1), START);
    assert_eq!(take(&buckets, &[("aws", 1)], START), Ok(()));
    assert!(buckets.remove(b"aws") && !buckets.remove(b"aws"));
    assert_eq!(take(&buckets, &[("aws", 5)], START), Ok(()));
}

#[test]
fn a_changed_limit_keeps_its_tokens_up_to_the_new_burst() {
    let buckets = Buckets::new();
    buckets.set(b"aws", limit(10, 100), START);
    assert_eq!(take(&buckets, &[("aws", 30)], START), Ok(()));
    buckets.set(b"aws", limit(1, 200), START);
    assert_eq!(buckets.tokens(b"aws", START), Some(70));
    buckets.set(b"aws", limit(1, 50), START);
    assert_eq!(buckets.tokens(b"aws", START), Some(50));
    buckets.set(b"aws", limit(1, 100), START);
    assert_eq!(buckets.tokens(b"aws", START + SECOND), Some(51), "the new rate counts from the change on");
}

#[test]
fn a_closed_name_gives_nothing_to_anybody_and_opens_by_itself() {
    let buckets = Buckets::new();
    buckets.set(b"aws", limit(10, 5), START);
    for name in ["aws", "without a limit"] {
        buckets.close_until(name.as_bytes(), START + SECOND, START);
        let closed = Short { charge: 0, ready: Ready::At(START + SECOND) };
        assert_eq!(take(&buckets, &[(name, 1)], START), Err(closed), "{name}");
        assert_eq!(take(&buckets, &[(name, 1), ("free", 1)], START), Err(closed), "{name}");
        let told = buckets.decide(name.as_bytes(), 1, START).unwrap();
        assert_eq!((told.allowed, told.remaining, told.retry_after), (false, 0, Wait::Ns(SECOND)));
        buckets.close_until(name.as_bytes(), START + 1, START);
        assert_eq!(take(&buckets, &[(name, 1)], START + SECOND - 1).unwrap_err().ready, closed.ready);
        assert_eq!(take(&buckets, &[(name, 1)], START + SECOND), Ok(()), "{name}");
    }
    assert_eq!(buckets.get(b"without a limit", START + SECOND), None);
    assert_eq!(buckets.tokens(b"aws", START + SECOND), Some(4), "closed or not, it refills");
    assert_eq!(buckets.list(START + SECOND).len(), 1);
}

#[test]
fn closed_names_are_forgotten_once_they_are_open() {
    let buckets = Buckets::new();
    for n in 0..10_000u64 {
        buckets.close_until(format!("provider:{n}").as_bytes(), START + n + 1, START + n);
    }
    assert!(buckets.list(START).len() < 16 * 130, "{}", buckets.list(START).len());
}

#[test]
fn a_decision_tells_what_an_inline_key_would() {
    let buckets = Buckets::new();
    assert_eq!(buckets.decide(b"aws", 1, START), None);
    buckets.set(b"aws", limit(10, 5), START);
    let told = buckets.decide(b"aws", 2, START).unwrap();
    assert_eq!((told.allowed, told.limit, told.remaining, told.reset_after_ns), (true, 5, 3, SECOND / 5));
    let told = buckets.decide(b"aws", 4, START).unwrap();
    assert_eq!((told.allowed, told.remaining, told.retry_after), (false, 3, Wait::Ns(SECOND / 10)));
    assert_eq!(buckets.decide(b"aws", 6, START).unwrap().retry_after, Wait::Never);
    buckets.refund(b"aws", 100, START);
    assert_eq!(buckets.tokens(b"aws", START), Some(5), "a refund mints nothing");
}

#[test]
fn levels_that_changed_are_kept_once_and_come_back() {
    let buckets = Buckets::new();
    buckets.set(b"aws", limit(10, 5), START);
    buckets.set(b"idle", limit(10, 5), START);
    buckets.changed_levels(START, |_, _| ());
    assert!(!buckets.has_changed());
    take(&buckets, &[("aws", 4)], START).unwrap();
    take(&buckets, &[("aws", 1)], START).unwrap();
    assert!(buckets.has_changed());
    let mut kept = Vec::new();
    buckets.changed_levels(START, |name, level| kept.push((name.to_vec(), level.to_vec())));
    assert_eq!(kept.len(), 1);
    let (name, level) = &kept[0];
    let restored = |limit, now| {
        let buckets = Buckets::new();
        buckets.restore(name, limit, Some(level), now);
        buckets.tokens(name, now)
    };
    assert_eq!(restored(limit(10, 5), START), Some(0));
    assert_eq!(restored(limit(10, 5), START + SECOND / 5), Some(2));
    assert_eq!(restored(limit(10, 5), START - SECOND), Some(0), "a clock that is behind mints nothing");
    assert_eq!(
        restored(Limit::per_hour(3).unwrap(), START),
        Some(0),
        "whole tokens outlive a change of limit"
    );
    buckets.restore(b"new", limit(10, 5), None, START);
    buckets.restore(b"broken", limit(10, 5), Some(b"?"), START);
    assert_eq!((buckets.tokens(b"new", START), buckets.tokens(b"broken", START)), (Some(5), Some(5)));
}
