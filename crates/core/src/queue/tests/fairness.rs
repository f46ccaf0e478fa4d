//! Shares under load: costs, new keys, quiet keys, throttled keys.

use super::world::*;
use crate::queue::*;

/// Sends what was delivered again, so that every flow stays backlogged.
fn refill(world: &mut World, delivered: &[Delivered]) {
    for one in delivered {
        let again = world.sent.remove(&one.receipt.id).unwrap();
        world.ack(one);
        world.send(again);
    }
}

/// Credit for `n` messages, one at a time, all of them acked, every flow refilled. Deliveries per flow.
fn run_evenly(world: &mut World, n: usize, every: u64) -> std::collections::BTreeMap<String, u64> {
    let mut counts = std::collections::BTreeMap::new();
    for _ in 0..n {
        world.credit(1);
        let delivered = world.pass(every);
        for (flow, count) in world.counts(&delivered) {
            *counts.entry(flow).or_insert(0) += count;
        }
        refill(world, &delivered);
    }
    counts
}

/// The design's case: 20 backlogged flows, 1,000 deliveries a second, so a fair share of 50.
#[test]
fn a_throttled_flow_gets_what_its_limit_and_its_share_allow() {
    for (limit, least, most) in [(40, 39.4, 40.1), (50, 49.5, 50.5), (500, 49.5, 50.5)] {
        let mut world = World::new().unchecked();
        world.budget.set(LimitId(1), rate(1, limit), START);
        world.send_many(3, throttled("0", &[1]));
        (1..20).for_each(|flow| world.send_many(3, send(&flow.to_string())));
        run_evenly(&mut world, 1000, MS);
        let counts = run_evenly(&mut world, 20_000, MS);
        let rate_per_s = counts["0"] as f64 / 20.0;
        assert!(rate_per_s > least && rate_per_s < most, "{rate_per_s} of {limit}");
        let others = counts.iter().filter(|(flow, _)| *flow != "0").map(|(_, count)| *count);
        let (low, high) = (others.clone().min().unwrap(), others.max().unwrap());
        assert!(high - low <= 2, "{low} to {high}");
        world.scheduler.check();
    }
}

/// Those who wait at a bucket are served there, but not beyond their share of the queue.
#[test]
fn flows_that_share_a_fast_bucket_get_no_more_than_their_share() {
    let mut world = World::new().unchecked();
    world.budget.set(LimitId(1), rate(1, 400), START);
    ["t1", "t2"].iter().for_each(|flow| world.send_many(3, throttled(flow, &[1])));
    (2..20).for_each(|flow| world.send_many(3, send(&flow.to_string())));
    let counts = run_evenly(&mut world, 20_000, MS);
    for flow in ["t1", "t2", "2", "19"] {
        let rate_per_s = counts[flow] as f64 / 20.0;
        assert!((rate_per_s - 50.0).abs() < 0.7, "{flow}: {rate_per_s}");
    }
}

/// Several flows with limits of their own, at, above and below the share.
#[test]
fn throttled_flows_of_all_speeds_share_with_the_others() {
    let mut world = World::new().unchecked();
    for (flow, limit) in [10, 30, 45, 60, 200].into_iter().enumerate() {
        world.budget.set(LimitId(flow as u32), rate(3, limit), START);
        world.send_many(3, throttled(&format!("t{limit}"), &[flow as u32]));
    }
    (0..15).for_each(|flow| world.send_many(3, send(&flow.to_string())));
    let counts = run_evenly(&mut world, 20_000, MS);
    // 1,000 less 10, 30 and 45, over 17.
    let fair = 915.0 / 17.0 * 20.0;
    for (flow, expected) in
        [("t10", 200.0), ("t30", 600.0), ("t45", 900.0), ("t60", fair), ("t200", fair), ("7", fair)]
    {
        let part = counts[flow] as f64 / expected;
        assert!(part > 0.98 && part < 1.02, "{flow}: {} of {expected}", counts[flow]);
    }
}

/// Weights hold inside one shared bucket.
#[test]
fn weights_hold_inside_a_shared_bucket() {
    let mut world = World::new().unchecked().consuming();
    world.budget.set(LimitId(1), rate(1, 100), START);
    for (flow, weight) in [("a", 1), ("b", 1), ("c", 10)] {
        world.send_many(6000, Send { weight: Some(weight), ..throttled(flow, &[1]) });
    }
    let delivered = world.pass(24 * S);
    assert!((delivered.len() as i64 - 2400).abs() <= 2, "{}", delivered.len());
    for (flow, weight) in [("a", 1.0), ("b", 1.0), ("c", 10.0)] {
        let share = world.share(&delivered, flow);
        assert!((share * 12.0 / weight - 1.0).abs() < 0.02, "{flow}: {share}");
    }
    world.scheduler.check();
}

/// They hold too when the burst is large, when amounts differ, and across queues.
#[test]
fn weights_hold_inside_a_shared_bucket_whatever_the_amounts() {
    let mut world = World::new().unchecked().consuming();
    let other = QueueId(2);
    world.scheduler.create_queue(other, Policy { visibility_ns: 3600 * S, ..Policy::default() });
    world.scheduler.subscribe(other, ConsumerId(2), u32::MAX);
    world.budget.set(LimitId(1), rate(300, 1000), START);
    for (queue, flow, weight, amount) in
        [(Q, "a", 1, 1), (Q, "b", 2, 100), (other, "c", 3, 7), (other, "d", 4, 250)]
    {
        let charges = vec![(LimitId(1), amount)];
        let n = 100_000 / amount as usize;
        world.send_many(n, Send { queue, weight: Some(weight), charges, ..send(flow) });
    }
    let delivered = world.pass(100 * S);
    let counts = world.counts(&delivered);
    let taken = world.budget.taken[&LimitId(1)];
    assert!(taken > 99_500 && taken <= 100_300, "{taken}");
    for (flow, weight, amount) in [("a", 1.0, 1), ("b", 2.0, 100), ("c", 3.0, 7), ("d", 4.0, 250)] {
        let share = (counts[flow] * amount) as f64 / taken as f64;
        assert!((share * 10.0 / weight - 1.0).abs() < 0.05, "{flow}: {share}");
    }
}

/// A flow gains nothing in a bucket by spreading over many lanes.
#[test]
fn many_lanes_do_not_make_a_larger_share_of_a_bucket() {
    let mut world = World::new().unchecked().consuming();
    world.budget.set(LimitId(0), rate(1, 100), START);
    for lane in 1..=40 {
        world.budget.set(LimitId(lane), rate(100, 100), START);
        world.send_many(100, throttled("spread", &[0, lane]));
    }
    world.send_many(4000, throttled("plain", &[0]));
    let delivered = world.pass(20 * S);
    let share = world.share(&delivered, "spread");
    assert!((share - 0.5).abs() < 0.01, "{share}");
}

/// Costs that differ by 1000 are shared as costs, in few steps.
#[test]
fn costs_are_shared_not_messages() {
    let mut world = World::new().unchecked();
    world.send_many(60_000, send("small"));
    world.send_many(300, Send { cost: 1000, ..send("large") });
    world.send_many(2000, Send { cost: 100, ..send("middle") });
    world.credit(40_000);
    let delivered = world.deliver();
    let counts = world.counts(&delivered);
    let costs = [counts["small"], counts["large"] * 1000, counts["middle"] * 100];
    let (low, high) = (costs.iter().min().unwrap(), costs.iter().max().unwrap());
    assert!(high - low <= 3000, "{costs:?}");
    world.scheduler.check();
}

/// A tenant that sends one message at a time is served next, whatever others have waiting.
#[test]
fn a_quiet_tenant_is_served_within_two_turns() {
    let mut world = World::new().unchecked();
    world.send_many(100_000, send("noisy"));
    world.credit(100);
    world.deliver();
    for _ in 0..200 {
        world.send(send("quiet"));
        world.credit(3);
        assert!(world.flows().contains(&"quiet".to_owned()));
        world.credit(3);
        world.deliver();
    }
}

/// The same among many, as new: within two deliveries.
#[test]
fn a_new_key_does_not_wait_for_a_round() {
    let mut world = World::new().unchecked();
    (0..1000).for_each(|flow| world.send_many(20, Send { cost: 50, ..send(&flow.to_string()) }));
    world.credit(5000);
    world.deliver();
    world.send(send("quiet"));
    world.credit(2);
    assert!(world.flows().contains(&"quiet".to_owned()));
}

/// Keys that are never seen again cannot take more than half from those that are.
#[test]
fn an_endless_stream_of_new_keys_leaves_half() {
    let mut world = World::new().unchecked();
    world.send_many(10_000, send("old"));
    world.credit(10);
    world.deliver();
    let from = world.log.len();
    for n in 0..4000 {
        world.send(send(&format!("new{n}")));
        world.send(send(&format!("more{n}")));
        world.credit(1);
        world.deliver();
    }
    let share = world.share(&world.log[from..], "old");
    assert!((0.49..0.52).contains(&share), "{share}");
}

/// A flow that empties and comes back gets no second quantum: one message at a time is not worth more than a backlog.
#[test]
fn coming_and_going_gains_nothing() {
    let mut world = World::new().unchecked();
    (0..10).for_each(|flow| world.send_many(5000, send(&flow.to_string())));
    world.credit(100);
    world.deliver();
    let mut counts = 0;
    for _ in 0..20_000 {
        let has_one = world
            .scheduler
            .flow_stats(Q, 100, world.now)
            .iter()
            .any(|f| &*f.key == b"hopper" && f.waiting > 0);
        if !has_one {
            world.send(send("hopper"));
        }
        world.credit(1);
        let delivered = world.deliver();
        counts += delivered.iter().filter(|d| world.sent[&d.receipt.id].flow == "hopper").count() as u64;
        delivered.iter().for_each(|d| world.ack(d));
    }
    let share = counts as f64 / 20_000.0;
    assert!(share <= 1.02 / 11.0 + 0.045, "{share}");
}

/// Shares hold while keys come and go.
#[test]
fn shares_hold_while_keys_come_and_go() {
    let mut world = World::new().unchecked();
    for flow in ["a", "b"] {
        let weight = if flow == "a" { 1 } else { 2 };
        world.send_many(20_000, Send { weight: Some(weight), ..send(flow) });
    }
    let from = world.log.len();
    for n in 0..3000u32 {
        if n % 10 == 0 {
            world.send_many(5, send(&format!("guest{n}")));
        }
        world.credit(3);
        world.deliver();
    }
    let counts = world.counts(&world.log[from..]);
    let ratio = counts["b"] as f64 / counts["a"] as f64;
    assert!((ratio - 2.0).abs() < 0.02, "{ratio}");
    let guests: u64 =
        counts.iter().filter(|(flow, _)| flow.starts_with("guest")).map(|(_, count)| *count).sum();
    assert!(guests >= 1400, "{guests}");
}

/// Behaviour 41: any weights, any number of keys.
#[test]
fn shares_follow_any_weights() {
    for seed in 1..30u64 {
        let mut world = World::new().unchecked();
        let flows = 2 + seed % 19;
        let weight = |flow: u64| (flow * seed * 7919 % 10 + 1) as u32;
        let total: u32 = (0..flows).map(weight).sum();
        for flow in 0..flows {
            let n = 60 * weight(flow) as usize;
            world.send_many(n, Send { weight: Some(weight(flow)), ..send(&flow.to_string()) });
        }
        // Those that came first have had a few turns more, once.
        world.credit(total * 3);
        world.deliver();
        world.credit(total * 50);
        let delivered = world.deliver();
        for flow in 0..flows {
            let share =
                world.share(&delivered, &flow.to_string()) * f64::from(total) / f64::from(weight(flow));
            assert!((share - 1.0).abs() < 0.05, "{flow} of seed {seed}: {share}");
        }
    }
}
