//! What holds for every limit, every pattern of calls and every clock.

use proptest::prelude::*;
use tidegate_core::bucket::{Bucket, Ready};
use tidegate_core::limit::{HORIZON_NS, Parts};
use tidegate_core::{Limit, Tat, cell, gcra};

const START: u64 = 1_700_000_000_000_000_000;

fn limits() -> impl Strategy<Value = Limit> {
    let count = prop_oneof![1u64..20, Just(7), Just(700_000_000), 1u64..2_000_000_000, Just(5_000_000_000)];
    let period = prop_oneof![Just(1u128), Just(60), Just(3600), 1u128..100_000];
    (1u64..50, count, period).prop_map(|(burst, count, period_s)| {
        Limit::new(Parts { burst, count, period_ns: period_s * 1_000_000_000 }).unwrap()
    })
}

/// Limits that take longer than the horizon to refill, a token of which may come in a day or in a century.
fn far_limits() -> impl Strategy<Value = Limit> {
    let burst = prop_oneof![1u64..100, 1u64..4_000_000_000, 1u64..i64::MAX as u64];
    (burst, 1u64..100, 1u128..1000).prop_map(|(burst, count, share)| {
        let period_ns = (u128::from(HORIZON_NS) * u128::from(count)).div_ceil(u128::from(burst)) * share + 1;
        Limit::new(Parts { burst, count, period_ns }).unwrap()
    })
}

/// Calls as (share of the refill time since the last call in 1/1000, quantity).
fn calls() -> impl Strategy<Value = Vec<(u64, u64)>> {
    prop::collection::vec((prop_oneof![Just(0u64), 0u64..50, 0u64..1500], 0u64..8), 1..80)
}

fn gap_ns(limit: &Limit, share: u64) -> u64 {
    (u128::from(limit.refill_ns()) * u128::from(share) / 1000) as u64
}

/// Admitted tokens never exceed burst + rate x time, over any window.
fn assert_bounded(limit: &Limit, admitted: &[(u64, u64)]) {
    for (i, (from, _)) in admitted.iter().enumerate() {
        let mut sum = 0u128;
        for (at, n) in &admitted[i..] {
            sum += u128::from(*n);
            let elapsed = u128::from(at - from);
            let allowed = u128::from(limit.burst()) * limit.period_ns() + elapsed * u128::from(limit.count());
            assert!(sum * limit.period_ns() <= allowed, "{limit:?}: {sum} tokens in {elapsed} ns");
        }
    }
}

/// Redis-cell's interval between two tokens is cut to whole nanoseconds.
fn interval_is_zero(args: &cell::Args) -> bool {
    let period_ns = i128::from(args.period_s) * 1_000_000_000;
    period_ns.unsigned_abs() < i128::from(args.count).unsigned_abs()
}

proptest! {
    #[test]
    fn gcra_admits_at_most_burst_plus_rate_times_time(limit in limits(), calls in calls()) {
        let (mut tat, mut now, mut admitted) = (Tat::default(), START, Vec::new());
        for (share, quantity) in calls {
            now += gap_ns(&limit, share);
            let (decision, changed) = gcra::take(tat, &limit, quantity, now);
            prop_assert_eq!(changed.is_some(), decision.allowed && quantity > 0);
            prop_assert!(decision.remaining <= decision.limit);
            tat = changed.unwrap_or(tat);
            if decision.allowed {
                admitted.push((now, quantity));
            }
        }
        assert_bounded(&limit, &admitted);
    }

    #[test]
    fn far_limits_admit_at_most_burst_plus_rate_times_time(
        limit in far_limits(),
        calls in prop::collection::vec((0u64..2000, prop_oneof![0u64..8, any::<u64>()]), 1..60),
    ) {
        let (mut tat, mut now, mut admitted) = (Tat::default(), START, Vec::new());
        for (milli_tokens, quantity) in calls {
            // Up to two tokens later, or ten years.
            let gap = (limit.period_ns() * u128::from(milli_tokens) / u128::from(limit.count()) / 1000).min(1 << 58);
            now += gap as u64;
            let quantity = quantity % (limit.burst() + 2);
            let before = gcra::peek(tat, &limit, 1, now).remaining;
            let (decision, changed) = gcra::take(tat, &limit, quantity, now);
            prop_assert_eq!(decision.allowed, quantity <= before, "{:?}", decision);
            prop_assert_eq!(decision.allowed, decision.retry_after.seconds() == 0);
            tat = changed.unwrap_or(tat);
            if decision.allowed {
                prop_assert_eq!(decision.remaining, before - quantity);
                admitted.push((now, quantity));
            }
            if now > START + (1 << 60) {
                break;
            }
        }
        assert_bounded(&limit, &admitted);
    }

    /// A far limit holds all of its burst, is full again when it says, and knows then that it may be forgotten.
    #[test]
    fn a_far_limit_is_like_any_other(limit in far_limits(), share in 1u64..1000, gap in 0u64..1000) {
        let quantity = (u128::from(limit.burst()) * u128::from(share)).div_ceil(1000) as u64;
        let (first, tat) = gcra::take(Tat::default(), &limit, quantity, START);
        prop_assert!(first.allowed);
        prop_assert_eq!(first.remaining, limit.burst() - quantity);
        let tat = tat.unwrap();
        // A far arrival time is rounded up: to a nanosecond, and by a part in 2^86.
        let out_ns = u128::from(quantity) * limit.period_ns() / u128::from(limit.count());
        let soon = START + 2 + (out_ns >> 85) as u64;
        let (rest, _) = gcra::take(tat, &limit, first.remaining, soon);
        prop_assert!(rest.allowed, "{:?}", rest);
        if first.reset_after_ns <= HORIZON_NS {
            prop_assert!(!tat.is_past(START + first.reset_after_ns - 1));
            prop_assert!(tat.is_past(START + first.reset_after_ns + 1));
        }
        let later = soon + (u128::from(first.reset_after_ns.min(HORIZON_NS)) * u128::from(gap) / 1000) as u64;
        prop_assert!(gcra::peek(tat, &limit, 1, later).remaining >= first.remaining);
        prop_assert_eq!(gcra::refund(tat, &limit, quantity, later).is_past(later + 1), true);
    }

    /// Nothing is lost to rounding: whoever takes all there is gets burst + rate x time, to the whole token,
    /// however often it asks. (A burst above 1: with 1 the bucket is full, and so losing, before it is seen.)
    #[test]
    fn gcra_admits_all_that_is_due(
        limit in limits().prop_map(|l| l.with_burst(l.burst() + 1).unwrap()),
        shares in prop::collection::vec(0u64..200, 1..200),
    ) {
        let (mut tat, mut now, mut admitted) = (Tat::default(), START, 0u128);
        let mut take_all = |now| {
            let quantity = gcra::peek(tat, &limit, 1, now).remaining;
            let (decision, changed) = gcra::take(tat, &limit, quantity, now);
            assert!(decision.allowed);
            tat = changed.unwrap_or(tat);
            admitted += u128::from(quantity);
            admitted
        };
        take_all(now);
        for share in shares {
            now += gap_ns(&limit, share);
            let admitted = take_all(now);
            let due = u128::from(now - START) * u128::from(limit.count()) / limit.period_ns();
            prop_assert_eq!(admitted, u128::from(limit.burst()) + due);
        }
    }

    /// A caller that waits as long as it is told to passes, and one nanosecond earlier does not.
    #[test]
    fn the_wait_told_is_exact(limit in limits(), calls in calls(), quantity in 1u64..8) {
        let (mut tat, mut now) = (Tat::default(), START);
        for (share, quantity) in calls {
            now += gap_ns(&limit, share);
            tat = gcra::take(tat, &limit, quantity, now).1.unwrap_or(tat);
        }
        let decision = gcra::peek(tat, &limit, quantity, now);
        if let (false, Some(wait)) = (decision.allowed, decision.retry_after.nanos()) {
            prop_assert!(gcra::peek(tat, &limit, quantity, now + wait).allowed);
            prop_assert!(!gcra::peek(tat, &limit, quantity, now + wait - 1).allowed);
        }
    }

    #[test]
    fn a_clock_that_steps_mints_nothing(
        limit in limits(),
        steps in prop::collection::vec((any::<bool>(), 0u64..3000, 0u64..8), 1..100),
    ) {
        let (mut tat, mut bucket) = (Tat::default(), Bucket::full(&limit, START));
        let (mut now, mut newest, mut by_gcra, mut by_bucket) = (START, START, 0u128, 0u128);
        for (back, share, quantity) in steps {
            let gap = gap_ns(&limit, share);
            now = if back { now.saturating_sub(gap).max(START) } else { now + gap };
            newest = newest.max(now);
            let (decision, changed) = gcra::take(tat, &limit, quantity, now);
            tat = changed.unwrap_or(tat);
            by_gcra += u128::from(quantity) * u128::from(decision.allowed);
            let ready = bucket.try_take(&limit, quantity, now);
            by_bucket += u128::from(quantity) * u128::from(ready == Ready::Now);
        }
        let due = u128::from(limit.burst()) * limit.period_ns()
            + u128::from(newest - START) * u128::from(limit.count());
        prop_assert!(by_gcra * limit.period_ns() <= due);
        prop_assert!(by_bucket * limit.period_ns() <= due);
    }

    /// Two formulations of one rule: they may not disagree on any call.
    #[test]
    fn bucket_and_gcra_decide_alike(limit in limits(), calls in calls()) {
        let (mut tat, mut now, mut bucket) = (Tat::default(), START, Bucket::full(&limit, START));
        for (share, quantity) in calls {
            now += gap_ns(&limit, share);
            let (decision, changed) = gcra::take(tat, &limit, quantity, now);
            tat = changed.unwrap_or(tat);
            let ready = bucket.try_take(&limit, quantity, now);
            prop_assert_eq!(decision.allowed, ready == Ready::Now);
            prop_assert_eq!(decision.remaining as i64, bucket.tokens(&limit));
            let at = decision.retry_after.nanos().map(|wait| now + wait);
            match ready {
                Ready::Now => prop_assert_eq!(at, Some(now)),
                Ready::At(time) => prop_assert_eq!(at, Some(time)),
                Ready::Pending | Ready::Never => prop_assert_eq!(at, None),
            }
        }
    }

    #[test]
    fn a_refund_undoes_a_take(limit in limits(), calls in calls(), quantity in 1u64..8) {
        let (mut tat, mut now) = (Tat::default(), START);
        for (share, quantity) in calls {
            now += gap_ns(&limit, share);
            tat = gcra::take(tat, &limit, quantity, now).1.unwrap_or(tat);
        }
        let before = gcra::peek(tat, &limit, 1, now);
        if let Some(taken) = gcra::take(tat, &limit, quantity, now).1 {
            prop_assert_eq!(gcra::peek(gcra::refund(taken, &limit, quantity, now), &limit, 1, now), before);
        }
    }

    #[test]
    fn a_changed_limit_keeps_whole_tokens_up_to_the_new_burst(
        from in limits(), to in limits(), debt in -1000i64..50,
    ) {
        let mut bucket = Bucket::holding(debt, &from, START);
        bucket.change(&from, &to, START);
        prop_assert_eq!(bucket.tokens(&to), debt.min(to.burst() as i64));
    }

    /// The full range of every parameter, in every order: an answer, never a panic.
    #[test]
    fn nothing_panics(
        numbers in prop::collection::vec(prop_oneof![
            any::<u64>(), 0u64..3, Just(u64::MAX), Just(i64::MAX as u64), Just(HORIZON_NS), Just(u64::from(u32::MAX)),
        ], 9),
        period_ns in prop_oneof![any::<u128>(), Just(u128::MAX), Just(i64::MAX as u128 * 1_000_000_000), 0u128..3],
        rem in any::<u32>(),
    ) {
        let [burst, count, quantity, ns, now, later, a, b, c] = numbers[..] else { unreachable!() };
        let tat = Tat { ns, rem };
        let args = cell::Args {
            max_burst: a as i64, count: b as i64, period_s: c as i64, quantity: quantity as i64,
        };
        let cell = cell::throttle(tat, &args, now);
        prop_assert_eq!(cell.is_err_and(|error| error == cell::Error::ZeroRate), args.count == 0 || interval_is_zero(&args));
        let Ok(limit) = Limit::new(Parts { burst, count, period_ns }) else { return Ok(()) };
        let (decision, changed) = gcra::take(tat, &limit, quantity, now);
        prop_assert_eq!(decision.allowed, decision.retry_after.seconds() == 0);
        gcra::take(changed.unwrap_or(tat), &limit, quantity, later);
        gcra::refund(tat, &limit, quantity, now);
        let mut bucket = Bucket::holding(a as i64, &limit, now);
        bucket.try_take(&limit, quantity, later);
        bucket.charge(&limit, b as i64, later);
        bucket.tokens(&limit);
        if let Ok(to) = Limit::new(Parts { burst: a, count: b, period_ns: period_ns.rotate_left(9) }) {
            bucket.change(&limit, &to, now);
        }
    }
}
