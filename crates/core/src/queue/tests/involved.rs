//! Limits that a charge involves beside the stated one: parents, which many flows share.

use super::world::*;
use crate::bucket::Ready;
use crate::queue::*;

const PARENT: LimitId = LimitId(100);
const OTHER: LimitId = LimitId(101);
const DAY: u64 = 24 * 3600 * S;

/// As a lap waits at most.
const LAP: u64 = 250 * MS;

fn same(limit: LimitId) -> (LimitId, bool) {
    (limit, true)
}

/// A flow with a limit of its own, under the parent.
fn child(world: &mut World, flow: u32, limit: crate::Limit) -> Send {
    world.budget.set(LimitId(flow), limit, START);
    world.involve(LimitId(flow), &[same(PARENT)]);
    throttled(&flow.to_string(), &[flow])
}

#[test]
fn amounts_of_all_that_name_it_add_up() {
    let mut world = World::new().consuming();
    world.involve(LimitId(1), &[same(PARENT), (OTHER, false)]);
    world.involve(LimitId(2), &[same(PARENT), (OTHER, false), same(LimitId(1))]);
    world.budget.set(PARENT, rate(20, 1), START);
    world.send_many(2, Send { charges: vec![(LimitId(2), 7), (LimitId(1), 5)], ..send("a") });
    assert_eq!(world.deliver().len(), 1);
    let taken = [1, 2, 100, 101].map(|limit| world.budget.taken[&LimitId(limit)]);
    assert_eq!(taken, [12, 7, 12, 2]);
    // 8 are left, and the second message asks the same.
    assert_eq!(world.scheduler.waiters(PARENT), 1);
    let station = world.scheduler.find_station(PARENT).unwrap();
    let lane = world.scheduler.lanes.iter().next().unwrap().0;
    let amounts = [PARENT, OTHER, LimitId(1), LimitId(2)].map(|limit| {
        let station = world.scheduler.find_station(limit).unwrap();
        world.scheduler.head_amount(lane, station)
    });
    assert_eq!(amounts, [Some(12), Some(2), Some(12), Some(7)]);
    assert_eq!(world.scheduler.station_of_lane(lane), station);
    assert!(world.pass(3999 * MS).is_empty());
    assert_eq!(world.pass(MS).len(), 1);
}

#[test]
fn it_is_in_use_while_a_message_involves_it() {
    let mut world = World::new().consuming();
    let message = child(&mut world, 1, rate(10, 10));
    world.send_many(2, message);
    let delivered = world.deliver();
    assert!(world.scheduler.limit_in_use(PARENT));
    world.ack(&delivered[0]);
    assert!(world.scheduler.limit_in_use(PARENT));
    world.ack(&delivered[1]);
    assert!(!world.scheduler.limit_in_use(PARENT) && !world.scheduler.limit_in_use(LimitId(1)));
    assert!(world.scheduler.stations.is_empty());
}

/// It is asked for once for each set of limits, and once more when the shape has moved.
#[test]
fn what_is_involved_is_asked_once() {
    let mut world = World::new().consuming();
    (1..=3).for_each(|flow| {
        let message = child(&mut world, flow, rate(1000, 1000));
        world.send_many(100, message);
    });
    world.deliver();
    assert_eq!(world.budget.asked_involved, 3);
    world.budget.shape += 1;
    (1..=3).for_each(|flow| world.send_many(100, throttled(&flow.to_string(), &[flow])));
    assert_eq!(world.deliver().len(), 300);
    assert_eq!(world.budget.asked_involved, 6);
}

/// 1 to 1 to 10, though each has a limit of its own that would do.
#[test]
fn weights_hold_at_a_parent() {
    for own in [rate(1000, 1000), rate(20, 95)] {
        let mut world = World::new().unchecked().consuming();
        world.budget.set(PARENT, rate(1, 100), START);
        for (flow, weight) in [(1, 1), (2, 1), (3, 10)] {
            let message = child(&mut world, flow, own);
            world.send_many(6000, Send { weight: Some(weight), ..message });
        }
        let delivered = world.pass(24 * S);
        assert!((delivered.len() as i64 - 2400).abs() <= 2, "{}", delivered.len());
        for (flow, weight) in [("1", 1.0), ("2", 1.0), ("3", 10.0)] {
            let share = world.share(&delivered, flow);
            assert!((share * 12.0 / weight - 1.0).abs() < 0.02, "{flow}: {share}");
        }
        world.scheduler.check();
    }
}

/// They hold across queues, with amounts that differ, while queues and messages go and the shape moves.
#[test]
fn weights_hold_at_a_parent_while_others_come_and_go() {
    let mut world = World::new().unchecked().consuming();
    let second = QueueId(2);
    world.scheduler.create_queue(second, Policy { visibility_ns: 3600 * S, ..Policy::default() });
    world.scheduler.subscribe(second, ConsumerId(2), u32::MAX);
    world.budget.set(PARENT, rate(500, 1000), START);
    let flows = [(1, Q, 1, 1u64), (2, second, 1, 100), (3, second, 10, 250)];
    for (flow, queue, weight, amount) in flows {
        let message = child(&mut world, flow, rate(100_000, 100_000));
        let charges = vec![(LimitId(flow), amount)];
        let n = 130_000 / amount as usize;
        world.send_many(n, Send { queue, weight: Some(weight), charges, ..message });
    }
    let guests = QueueId(3);
    let mut delivered = Vec::new();
    for n in 0..100 {
        world.budget.shape += 1;
        world.scheduler.create_queue(guests, Policy { visibility_ns: 3600 * S, ..Policy::default() });
        // They wait at the parent too, and nobody consumes from their queue.
        let message = child(&mut world, 200 + n, rate(10, 10));
        world.send_many(5, Send { queue: guests, ..message });
        let mine = world.send(Send { weight: Some(1), ..throttled("1", &[1]) });
        delivered.extend(world.pass(S));
        world.scheduler.remove(mine).unwrap();
        world.scheduler.delete_queue(guests, &mut |_, _| ());
        world.scheduler.check();
    }
    let amount = |d: &Delivered| world.sent[&d.receipt.id].charges[0].1;
    let taken: u64 = delivered.iter().map(amount).sum();
    assert!(taken > 99_000 && taken <= 100_500, "{taken}");
    for (flow, _, weight, _) in flows {
        let name = flow.to_string();
        let own = delivered.iter().filter(|d| world.sent[&d.receipt.id].flow == name).map(amount);
        let share = own.sum::<u64>() as f64 / taken as f64;
        assert!((share * 12.0 / f64::from(weight) - 1.0).abs() < 0.05, "{flow}: {share}");
    }
}

/// A flow whose own limit lets it try often takes nothing from the parent past those who wait there for more.
#[test]
fn nobody_overtakes_at_a_parent() {
    let mut world = World::new().unchecked().consuming();
    world.budget.set(PARENT, rate(20, 60), START);
    for flow in [1, 2] {
        let message = child(&mut world, flow, rate(1000, 1000));
        let charges = vec![(LimitId(flow), 10)];
        world.send_many(2000, Send { weight: Some(10), charges, ..message });
    }
    let small = child(&mut world, 3, rate(20, 50));
    world.send_many(5000, small);
    let delivered = world.pass(60 * S);
    let counts = world.counts(&delivered);
    // A part of 21, and what a turn may be off; it would be 50 a second.
    assert!(counts["3"] > 120 && counts["3"] < 60 * 60 / 21 * 13 / 10, "{counts:?}");
    assert!(world.budget.taken[&PARENT] > 60 * 60 - 30);
    world.scheduler.check();
}

/// A flow held up by its own limit holds up nobody at the parent.
#[test]
fn a_slow_child_does_not_close_its_parent() {
    let mut world = World::new().unchecked().consuming();
    world.budget.set(PARENT, rate(1, 100), START);
    for (flow, own) in [(1, rate(1, 2)), (2, rate(5, 30)), (3, rate(1000, 1000))] {
        let message = child(&mut world, flow, own);
        world.send_many(4000, message);
    }
    let delivered = world.pass(20 * S);
    assert!(delivered.len() > 1980, "{}", delivered.len());
    let counts = world.counts(&delivered);
    assert!(counts["1"] >= 38 && counts["1"] <= 41, "{counts:?}");
    assert!(counts["2"] > 560, "{counts:?}");
}

/// Each way to wait at a parent ends when the child is moved to another one.
#[test]
fn a_child_that_is_moved_waits_no_more_for_its_old_parent() {
    for way in 0..5 {
        let mut world = World::new();
        let message = child(&mut world, 1, rate(10, 10));
        match way {
            0 => world.budget.close(PARENT, START + DAY),
            1 => world.budget.cap(PARENT, 0),
            _ => world.budget.set(PARENT, rate(1, 1), START),
        }
        if way == 2 {
            world.budget.cap(PARENT, 1);
        }
        world.send_many(3, message.clone());
        world.send_many(3, throttled("other", &[50]));
        world.credit(5);
        let early = world.deliver().len();
        match way {
            // All parked, the last ones dormant for want of credit, or woken with none.
            3 => assert!(world.scheduler.unsubscribe(C, true, &mut |_| ())),
            4 => drop(world.pass(500 * MS)),
            _ => assert_eq!(world.scheduler.waiters(PARENT), 1, "{way}"),
        }
        world.involve(LimitId(1), &[same(OTHER)]);
        world.credit(20);
        world.pass(LAP);
        assert_eq!(world.log.len(), 6, "{way}: {early} at once");
        assert!(!world.scheduler.limit_in_use(PARENT) && world.scheduler.limit_in_use(OTHER), "{way}");
        world.scheduler.check();
    }
}

/// The same with very many lanes, a part at a time.
#[test]
fn a_crowd_is_moved_a_part_at_a_time() {
    let mut world = World::new().unchecked().consuming();
    world.budget.close(PARENT, START + DAY);
    for flow in 0..3000 {
        world.budget.involve(LimitId(flow % 90), vec![same(PARENT)]);
        world.send(throttled(&flow.to_string(), &[flow % 90]));
    }
    assert!(world.deliver().is_empty());
    assert_eq!(world.scheduler.waiters(PARENT), 3000);
    world.scheduler.check();
    (0..90).for_each(|limit| world.budget.involve(LimitId(limit), Vec::new()));
    world.budget.shape += 1;
    let mut calls = 0;
    while world.scheduler.deliver(&mut world.budget, START, 10_000, &mut world.log) {
        world.scheduler.check();
        calls += 1;
    }
    assert_eq!(world.log.len(), 3000);
    assert!(calls >= 3000 / 256, "{calls}");
}

/// A shape that moves all the time costs a lap now and then.
#[test]
fn laps_have_a_pace() {
    let mut world = World::new().unchecked().consuming();
    world.budget.close(PARENT, START + DAY);
    for flow in 0..100 {
        let message = child(&mut world, flow, rate(10, 10));
        world.send(message);
    }
    world.deliver();
    let asked = world.budget.asked_involved;
    for _ in 0..10_000 {
        world.budget.shape += 1;
        world.pass(MS / 10);
    }
    let asked = world.budget.asked_involved - asked;
    assert!((300..=700).contains(&asked), "{asked}");
    // The last move is not forgotten.
    world.involve(LimitId(7), &[]);
    world.deliver();
    assert_eq!(world.pass(LAP).len(), 1);
}

/// A refusal that names a limit of which nothing was told: by then it is, or the lane waits a while.
#[test]
fn a_limit_that_was_not_told_of_is_asked_for() {
    for is_told in [true, false] {
        let mut world = World::new().consuming();
        world.budget.cap(PARENT, 1);
        world.budget.involve(LimitId(1), Vec::new());
        world.send_many(3, throttled("a", &[1]));
        world.send_many(3, throttled("b", &[1, 2]));
        world.credit(1);
        struct Late<'a>(&'a mut Budget, bool);
        impl Buckets for Late<'_> {
            fn take_all(&mut self, id: MessageId, charges: &[(LimitId, u64)], now: u64) -> Result<(), Short> {
                self.0.involve(LimitId(1), vec![same(PARENT)]);
                self.0.take_all(id, charges, now)
            }
            fn involved(&mut self, limits: &[LimitId], out: &mut Vec<Involved>) {
                if self.1 {
                    self.0.involved(limits, out);
                }
            }
            fn shape(&self) -> u64 {
                0
            }
        }
        let mut out = Vec::new();
        let mut late = Late(&mut world.budget, is_told);
        while world.scheduler.deliver(&mut late, START, 9, &mut out) {
            world.scheduler.check();
        }
        assert_eq!(out.len(), 1);
        let at = if is_told { PARENT } else { LimitId(1) };
        assert_eq!(world.scheduler.waiters(at), 2);
        let until = world.scheduler.why(MessageId(2)).unwrap().waits;
        let soon = (!is_told).then_some(START + S);
        assert_eq!(until, Waits::Parked { limit: at, until: soon });
        world.ack(&out[0]);
        let mut late = Late(&mut world.budget, is_told);
        let now = if is_told { START } else { START + S };
        world.scheduler.expire(now, 9, &mut Vec::new());
        while world.scheduler.deliver(&mut late, now, 9, &mut out) {}
        assert_eq!(out.len(), 2);
        world.scheduler.check();
    }
}

/// What is asked of a parent may be more than it can ever pay.
#[test]
fn a_message_too_large_for_a_parent_is_stuck_there() {
    let mut world = World::new().consuming();
    let message = child(&mut world, 1, rate(100, 100));
    world.budget.set(PARENT, rate(5, 5), START);
    let id = world.send(Send { charges: vec![(LimitId(1), 6)], ..message.clone() });
    world.send(Send { flow: "b".into(), ..message });
    assert_eq!(world.flows(), ["b"]);
    assert_eq!(world.scheduler.why(id).unwrap().waits, Waits::Stuck { limit: PARENT });
    world.budget.set(PARENT, rate(6, 6), START);
    world.scheduler.bucket_changed(PARENT);
    assert_eq!(world.pass(S).len(), 1);
    assert_eq!(world.budget.ready_at(PARENT, 7, world.now), Ready::Never);
}
