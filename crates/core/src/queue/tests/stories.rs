//! The acceptance criteria of the stories, and the behaviours of the broker they come from.

use super::world::*;
use crate::queue::*;

const A: u32 = 1;
const B: u32 = 2;

/// Story 2.1, 1 and 2: weight x quantum per round, then the next key.
#[test]
fn a_turn_is_weight_times_quantum() {
    let mut world = World::with(Policy { quantum: 2, ..Policy::default() });
    for flow in ["a", "b"] {
        let weight = if flow == "a" { 2 } else { 1 };
        world.send_many(30, Send { weight: Some(weight), ..send(flow) });
    }
    // The first turns are those of new flows; then it is a plain round robin.
    world.credit(12);
    world.deliver();
    world.credit(12);
    assert_eq!(world.flows().concat(), "aaaabbaaaabb");
}

/// Story 2.1, 3 to 5: keys leave the active set when they run dry, and come back.
#[test]
fn a_key_that_runs_dry_leaves_and_comes_back() {
    let mut world = World::new().consuming();
    world.send(send("a"));
    world.send_many(3, send("b"));
    assert_eq!(world.stats().flows_active, 2);
    assert_eq!(world.flows().len(), 4);
    assert_eq!(world.stats().flows_active, 0);
    world.send(send("a"));
    assert_eq!(world.stats().flows_active, 1);
    assert_eq!(world.flows(), ["a"]);
    let all = world.log.clone();
    all.iter().for_each(|delivered| world.ack(delivered));
    assert!(world.scheduler.flow_stats(Q, 10, world.now).is_empty());
}

/// Story 2.1, 7; behaviour 36.
#[test]
fn three_equal_keys_get_equal_counts() {
    let mut world = World::new();
    ["a", "b", "c"].iter().for_each(|flow| world.send_many(100, send(flow)));
    world.credit(6);
    world.deliver();
    world.credit(150);
    let delivered = world.deliver();
    assert!(world.counts(&delivered).values().all(|count| *count == 50));
}

/// Behaviour 33.
#[test]
fn weights_3_to_1() {
    let mut world = World::new();
    world.send_many(100, Send { weight: Some(3), ..send("a") });
    world.send_many(100, Send { weight: Some(1), ..send("b") });
    world.credit(60);
    let delivered = world.deliver();
    assert_eq!(world.counts(&delivered).into_values().collect::<Vec<_>>(), [45, 15]);
}

/// Behaviours 34 and 35, and the issue's: 10,000 messages, 6 keys, within 1 %.
#[test]
fn shares_of_six_keys_are_within_one_percent() {
    let mut world = World::new().unchecked();
    for weight in 1..=6 {
        world.send_many(3000, Send { weight: Some(weight), ..send(&weight.to_string()) });
    }
    world.credit(10_000);
    let delivered = world.deliver();
    for weight in 1..=6 {
        let share = world.share(&delivered, &weight.to_string());
        let fair = f64::from(weight) / 21.0;
        assert!((share / fair - 1.0).abs() < 0.01, "{weight}: {share} of {fair}");
    }
    for flow in world.scheduler.flow_stats(Q, 10, world.now) {
        assert!((flow.share / flow.fair_share - 1.0).abs() < 0.01, "{flow:?}");
        assert_eq!(flow.in_flight, flow.delivered);
    }
    world.scheduler.check();
}

/// Behaviour 37.
#[test]
fn one_key_is_plain_fifo() {
    let mut world = World::new().consuming();
    world.send_many(50, send("default"));
    let order: Vec<u64> = world.deliver().iter().map(|delivered| delivered.receipt.id.0).collect();
    assert_eq!(order, (1..=50).collect::<Vec<_>>());
}

/// Behaviour 38.
#[test]
fn others_go_on_when_one_runs_dry() {
    let mut world = World::new().consuming();
    world.send_many(2, send("a"));
    world.send_many(10, send("b"));
    world.send_many(5, send("c"));
    assert_eq!(world.flows().concat(), "abacbcbcbcbcbbbbb");
}

/// Behaviour 39.
#[test]
fn weight_0_acts_as_1() {
    let mut world = World::with(Policy { weight: 0, quantum: 0, ..Policy::default() });
    world.send_many(10, Send { weight: Some(0), ..send("a") });
    world.send_many(10, Send { cost: 0, ..send("b") });
    world.credit(10);
    let delivered = world.deliver();
    assert!(world.counts(&delivered).values().all(|count| *count == 5));
}

/// Behaviour 40.
#[test]
fn a_weight_changes_with_the_newest_message() {
    let mut world = World::new();
    world.send_many(100, Send { weight: Some(1), ..send("a") });
    world.send_many(100, Send { weight: Some(1), ..send("b") });
    world.credit(20);
    let before = world.deliver();
    assert_eq!(world.share(&before, "a"), 0.5);
    world.send(Send { weight: Some(3), ..send("a") });
    world.credit(40);
    let after = world.deliver();
    assert_eq!(world.share(&after, "a"), 0.75);
}

#[test]
fn a_weight_that_is_learned_later_counts_for_what_waits_already() {
    let policy = Policy { visibility_ns: 3600 * S, weight: 2, ..Policy::default() };
    let mut world = World::with(policy);
    world.send_many(100, send("a"));
    world.send_many(100, send("b"));
    assert!(world.scheduler.weigh(Q, b"a", Some(6)));
    assert!(!world.scheduler.weigh(Q, b"c", Some(6)) && !world.scheduler.weigh(QueueId(9), b"a", None));
    world.check();
    world.credit(40);
    let delivered = world.deliver();
    assert_eq!(world.share(&delivered, "a"), 0.75);
    // Without one it has that of the queue.
    world.scheduler.weigh(Q, b"a", None);
    world.credit(8);
    world.deliver();
    world.credit(40);
    let delivered = world.deliver();
    assert_eq!(world.share(&delivered, "a"), 0.5);
}

/// Behaviour 42; story 4.2, 2.
#[test]
fn a_throttled_key_does_not_hold_back_another() {
    let mut world = World::new().consuming();
    world.budget.set(LimitId(A), rate(1, 1), START);
    world.send_many(3, throttled("a", &[A]));
    world.send_many(3, send("b"));
    assert_eq!(world.flows().concat(), "abbb");
    assert_eq!(world.stats().parked, 2);
    let later = world.pass(3 * S);
    assert_eq!(later.len(), 2);
}

/// Behaviour 43, with a rate that brings nothing back in the time that the test knows.
#[test]
fn without_refill_only_the_burst_passes() {
    let mut world = World::new().consuming();
    let once = crate::limit::Parts { burst: 1, count: 1, period_ns: u128::from(u64::MAX) };
    world.budget.set(LimitId(A), crate::Limit::new(once).unwrap(), START);
    world.send_many(3, throttled("a", &[A]));
    assert_eq!(world.pass(25 * S).len(), 1);
}

/// Behaviour 44; story 4.2, 3.
#[test]
fn all_throttle_keys_have_to_pass() {
    let mut world = World::new().consuming();
    world.budget.set(LimitId(A), rate(10, 1), START);
    world.budget.set(LimitId(B), rate(1, 1), START);
    world.send_many(3, throttled("a", &[A, B]));
    assert_eq!(world.deliver().len(), 1);
    assert_eq!((world.budget.tokens(LimitId(A), START), world.budget.tokens(LimitId(B), START)), (9, 0));
    let stats = world.scheduler.flow_stats(Q, 1, START);
    assert_eq!(stats[0].parked_on, [LimitId(B)]);
}

/// Behaviours 45 and 46.
#[test]
fn held_back_is_delivered_after_a_refill() {
    let mut world = World::new().consuming();
    world.budget.set(LimitId(A), rate(1, 1_000_000), START);
    world.send_many(3, throttled("a", &[A]));
    assert_eq!(world.deliver().len(), 1);
    assert_eq!(world.pass(5_000).len(), 2);
}

/// Behaviour 47.
#[test]
fn a_limit_that_is_not_set_passes() {
    let mut world = World::new().consuming();
    world.budget.set(LimitId(A), rate(1, 1), START);
    world.send_many(5, throttled("a", &[B]));
    world.send_many(5, send("a"));
    assert_eq!(world.deliver().len(), 10);
}

/// Behaviour 51.
#[test]
fn without_credit_no_token_is_taken() {
    let mut world = World::new();
    world.budget.set(LimitId(A), rate(5, 1), START);
    world.send_many(3, throttled("a", &[A]));
    assert!(world.deliver().is_empty());
    world.credit(1);
    assert_eq!(world.deliver().len(), 1);
    assert_eq!(world.budget.tokens(LimitId(A), START), 4);
}

/// Story 4.2, 5: a skip costs no deficit.
#[test]
fn parked_lanes_keep_their_deficit() {
    let mut world = World::new();
    world.budget.set(LimitId(A), rate(1, 1), START);
    world.send_many(10, Send { weight: Some(5), ..throttled("a", &[A]) });
    world.credit(1);
    world.deliver();
    assert_eq!(world.scheduler.flow_stats(Q, 1, START)[0].deficit, 4);
    world.credit(5);
    assert!(world.deliver().is_empty());
    assert_eq!(world.scheduler.flow_stats(Q, 1, START)[0].deficit, 4);
}
