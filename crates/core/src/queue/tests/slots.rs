//! Caps on concurrency: buckets of which nobody knows when they can pay.

use super::world::*;
use crate::queue::*;

const SLOTS: LimitId = LimitId(1);
const RATE: LimitId = LimitId(2);

/// Everything that is delivered is done at once, `n` times over.
fn run(world: &mut World, n: usize) -> Vec<Delivered> {
    let mut all = Vec::new();
    while all.len() < n {
        let delivered = world.deliver();
        assert!(!delivered.is_empty(), "nothing after {}", all.len());
        delivered.iter().for_each(|one| world.ack(one));
        all.extend(delivered);
    }
    all
}

#[test]
fn no_more_than_the_cap_are_in_flight() {
    let mut world = World::new().consuming();
    world.budget.cap(SLOTS, 3);
    (0..4).for_each(|flow| world.send_many(3, throttled(&flow.to_string(), &[1])));
    let first = world.deliver();
    assert_eq!((first.len(), world.budget.held(SLOTS)), (3, 3));
    assert_eq!((world.scheduler.waiters(SLOTS), world.stats().parked), (4, 9));
    // Nothing but the leases has a timer, so time changes nothing.
    assert!(world.pass(1000 * S).is_empty());
    assert!(world.scheduler.next_due().unwrap() > world.now);
    world.ack(&first[1]);
    assert_eq!(world.deliver().len(), 1);
    first.iter().filter(|one| **one != first[1]).for_each(|one| world.ack(one));
    assert_eq!(world.deliver().len(), 2);
}

/// One slot, many lanes in several queues: each that comes back is asked for once or twice, and goes by weight.
#[test]
fn a_slot_is_shared_by_weight_in_few_steps() {
    let mut world = World::new().unchecked().consuming();
    let second = QueueId(2);
    world.scheduler.create_queue(second, Policy { visibility_ns: 3600 * S, ..Policy::default() });
    world.scheduler.subscribe(second, ConsumerId(2), u32::MAX);
    world.budget.cap(SLOTS, 1);
    for flow in 0..10_000 {
        let queue = if flow % 2 == 0 { Q } else { second };
        let weight = Some([1, 1, 10][flow % 3]);
        world.send_many(3, Send { queue, weight, ..throttled(&flow.to_string(), &[1]) });
    }
    run(&mut world, 1);
    let asked = world.budget.asked;
    let delivered = run(&mut world, 9_000);
    assert!(world.budget.asked - asked <= 2 * 9_000 + 2, "{}", world.budget.asked - asked);
    let own = |flow: &str| flow.parse::<usize>().unwrap();
    let heavy = delivered.iter().filter(|one| own(&world.sent[&one.receipt.id].flow) % 3 == 2).count();
    // A third of the flows, by weight the most, with three messages each.
    assert!(heavy > 5_000, "{heavy}");
    world.scheduler.check();
}

/// 1 to 1 to 10 among flows that always have something, and across queues.
#[test]
fn weights_hold_at_a_slot() {
    let mut world = World::new().unchecked().consuming();
    let second = QueueId(2);
    world.scheduler.create_queue(second, Policy { visibility_ns: 3600 * S, ..Policy::default() });
    world.scheduler.subscribe(second, ConsumerId(2), u32::MAX);
    world.budget.cap(SLOTS, 2);
    for (queue, flow, weight) in [(Q, "a", 1), (second, "b", 1), (Q, "c", 10)] {
        world.send_many(5000, Send { queue, weight: Some(weight), ..throttled(flow, &[1]) });
    }
    let delivered = run(&mut world, 4800);
    for (flow, weight) in [("a", 1.0), ("b", 1.0), ("c", 10.0)] {
        let share = world.share(&delivered, flow);
        assert!((share * 12.0 / weight - 1.0).abs() < 0.02, "{flow}: {share}");
    }
}

/// The one in front asks for more than there is, and goes: the next one asks less, and there is no timer to look at it.
#[test]
fn whoever_leaves_the_front_is_followed() {
    for way in 0..2 {
        let mut world = World::new().consuming();
        world.budget.cap(SLOTS, 3);
        world.send(Send { charges: vec![(SLOTS, 2)], ..send("first") });
        let large = world.send(Send { charges: vec![(SLOTS, 2)], ..send("large") });
        world.deliver();
        world.send(throttled("small", &[1]));
        assert!(world.deliver().is_empty(), "it overtook the other");
        match way {
            0 => assert!(world.scheduler.remove(large).is_some()),
            _ => {
                // The next one of its lane is as small as the other.
                world.send(throttled("large", &[1]));
                assert!(world.scheduler.remove(large).is_some());
            }
        }
        assert_eq!(world.deliver().len(), 1, "{way}");
    }
}

/// A queue that cannot take anything is not in the way of another.
#[test]
fn a_queue_without_credit_leaves_the_slot_to_others() {
    let mut world = World::new();
    let second = QueueId(2);
    world.scheduler.create_queue(second, Policy::default());
    world.budget.cap(SLOTS, 1);
    world.credit(1);
    world.send_many(5, Send { weight: Some(100), ..throttled("a", &[1]) });
    let first = world.deliver();
    world.scheduler.subscribe(second, ConsumerId(2), u32::MAX);
    world.send_many(2, Send { queue: second, ..throttled("b", &[1]) });
    assert!(world.deliver().is_empty());
    world.ack(&first[0]);
    assert_eq!(world.deliver()[0].queue, second);
    world.credit(1);
    let all = world.log.clone();
    world.ack(&all[1]);
    assert_eq!(world.deliver().len(), 1);
}

/// Every lane needs both a slot and tokens, and now one is short, now the other: what is spent on a delivery has a bound.
#[test]
fn a_crowd_that_needs_two_things_does_not_run_to_and_fro() {
    let mut world = World::new().unchecked().consuming();
    world.budget.cap(SLOTS, 4);
    world.budget.set(RATE, rate(1, 1000), START);
    const LANES: usize = 5_000;
    for flow in 0..LANES {
        world.send_many(4, throttled(&flow.to_string(), &[1, 2]));
    }
    world.deliver().iter().for_each(|one| world.ack(one));
    let (asked, from) = (world.budget.asked, world.log.len());
    let mut in_flight: std::collections::VecDeque<(u64, Delivered)> = std::collections::VecDeque::new();
    for n in 0..20_000u64 {
        // Each takes 4 ms, now a bit more and now a bit less, so that neither is the one that holds up all the time.
        let delivered = world.pass(250_000);
        let takes = if n / 400 % 2 == 0 { 4_400_000 } else { 3_600_000 };
        in_flight.extend(delivered.into_iter().map(|one| (world.now + takes, one)));
        while let Some((_, one)) = in_flight.pop_front_if(|(until, _)| *until <= world.now) {
            world.ack(&one);
        }
    }
    let delivered = (world.log.len() - from) as u64;
    let asked = world.budget.asked - asked;
    // A queue that gave out whatever it could at once would come to 4,600.
    assert!(delivered > 4_550, "{delivered}");
    assert!(asked < 20 * delivered, "{asked} for {delivered}");
    world.scheduler.check();
}

/// Whoever needs a slot and a busy rate, each with takers of its own, has a part of both.
#[test]
fn a_lane_that_needs_both_is_served() {
    let mut world = World::new().unchecked().consuming();
    world.budget.cap(SLOTS, 1);
    world.budget.set(RATE, rate(1, 200), START);
    (0..3).for_each(|n| world.send_many(3000, throttled(&format!("slot{n}"), &[1])));
    (0..3).for_each(|n| world.send_many(3000, throttled(&format!("rate{n}"), &[2])));
    world.send_many(3000, throttled("both", &[1, 2]));
    for _ in 0..3000 {
        for one in world.pass(MS) {
            world.ack(&one);
        }
    }
    let counts = world.counts(&world.log);
    assert!(counts["both"] > 30, "{counts:?}");
    assert!((counts["rate0"] as i64 - counts["rate2"] as i64).abs() < 5, "{counts:?}");
    world.scheduler.check();
}
