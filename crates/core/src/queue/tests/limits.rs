//! Parking: what waits at buckets, and what it must not hold up.

use super::world::*;
use crate::queue::*;

const A: LimitId = LimitId(1);
const B: LimitId = LimitId(2);
const OTHER: QueueId = QueueId(2);

fn with_other(mut world: World) -> World {
    world.scheduler.create_queue(OTHER, Policy { visibility_ns: 3600 * S, ..Policy::default() });
    world
}

fn changed(world: &mut World, limit: LimitId, to: crate::Limit) {
    world.budget.set(limit, to, world.now);
    world.scheduler.bucket_changed(limit);
    world.check();
}

#[test]
fn a_queue_without_credit_does_not_block_another_at_a_shared_bucket() {
    let mut world = with_other(World::new());
    world.budget.set(A, rate(1, 10), START);
    world.credit(3);
    world.send_many(20, Send { weight: Some(1000), ..throttled("a", &[1]) });
    assert_eq!(world.pass(250 * MS).len(), 3);
    // The queue is first in line at the bucket, has far more weight, and cannot take anything.
    world.scheduler.subscribe(OTHER, ConsumerId(2), u32::MAX);
    world.send_many(20, Send { queue: OTHER, ..throttled("b", &[1]) });
    let delivered = world.pass(S);
    assert!(delivered.iter().all(|delivered| delivered.queue == OTHER));
    assert!(delivered.len() >= 10, "{}", delivered.len());
    // With credit again, it is back in its place.
    world.credit(100);
    let delivered = world.pass(S);
    assert!(delivered.iter().filter(|delivered| delivered.queue == Q).count() >= 9);
}

#[test]
fn a_paused_queue_takes_no_tokens_and_comes_back() {
    let mut world = World::new().consuming();
    world.budget.set(A, rate(1, 10), START);
    world.send_many(10, throttled("a", &[1]));
    world.send_many(10, send("b"));
    assert_eq!(world.deliver().len(), 11);
    world.scheduler.pause(Q);
    world.send_many(10, send("b"));
    assert!(world.pass(S).is_empty());
    assert_eq!(world.budget.tokens(A, world.now), 1);
    world.scheduler.resume(Q);
    assert_eq!(world.pass(S).len(), 9 + 10);
}

/// Whatever the number of lanes, only the bucket has a timer, and only the one in front asks.
#[test]
fn parked_lanes_are_not_polled() {
    let mut world = World::new().unchecked().consuming();
    world.budget.set(A, rate(1, 10), START);
    (0..1000).for_each(|flow| world.send_many(2, throttled(&flow.to_string(), &[1])));
    world.deliver();
    let asked = world.budget.asked;
    let delivered = world.pass(10 * S).len() as u64;
    assert_eq!(delivered, 100);
    assert!(world.budget.asked - asked <= 2 * delivered + 2, "{}", world.budget.asked - asked);
    assert_eq!(world.scheduler.waiters(A), 1000);
    assert_eq!(world.stats().parked, 2000 - 101);
}

#[test]
fn a_fast_rate_with_burst_1_is_used_up() {
    let mut world = World::new().unchecked().consuming();
    world.budget.set(A, rate(1, 5000), START);
    (0..10).for_each(|flow| world.send_many(2000, throttled(&flow.to_string(), &[1])));
    let delivered = world.pass(2 * S).len();
    assert!(delivered <= 10_001 && delivered > 9_950, "{delivered}");
}

#[test]
fn an_amount_above_the_burst_waits_for_a_change_and_blocks_nobody() {
    let mut world = World::new().consuming();
    world.budget.set(A, rate(10, 10), START);
    world.send_many(2, Send { charges: vec![(A, 8)], ..send("large") });
    world.send_many(3, throttled("small", &[1]));
    world.deliver();
    // The rate is lowered below what is parked.
    changed(&mut world, A, rate(4, 10));
    assert_eq!(world.counts(&world.log.clone())["large"], 1);
    world.pass(S);
    let counts = world.counts(&world.log.clone());
    assert_eq!((counts["large"], counts["small"]), (1, 3));
    assert_eq!(world.scheduler.flow_stats(Q, 1, world.now)[0].parked_on, [A]);
    assert_eq!(world.scheduler.next_due().map(|next| next > world.now + 3000 * S), Some(true));
    // And raised again.
    changed(&mut world, A, rate(10, 10));
    world.pass(S);
    assert_eq!(world.counts(&world.log.clone())["large"], 2);
}

#[test]
fn a_rate_acts_at_once_on_what_is_parked() {
    let mut world = World::new().consuming();
    world.budget.set(A, rate(1, 1), START);
    world.send_many(20, throttled("a", &[1]));
    world.deliver();
    changed(&mut world, A, rate(5, 1000));
    assert_eq!(world.pass(5 * MS).len(), 5);
    world.budget.remove(A);
    world.scheduler.bucket_changed(A);
    assert_eq!(world.deliver().len(), 14);
}

#[test]
fn a_closed_bucket_opens_at_its_time() {
    let mut world = World::new().consuming();
    world.budget.set(A, rate(100, 1000), START);
    world.send_many(5, throttled("a", &[1]));
    world.budget.close(A, START + 2 * S);
    world.scheduler.bucket_changed(A);
    let asked = world.budget.asked;
    assert!(world.pass(1999 * MS).is_empty());
    assert!(world.budget.asked <= asked + 2, "it was polled");
    assert_eq!(world.pass(MS).len(), 5);
}

/// A tenant's messages for one provider flow while those for another are throttled.
#[test]
fn lanes_do_not_block_one_another() {
    let mut world = World::new().consuming();
    world.budget.set(A, rate(1, 1), START);
    world.budget.set(B, rate(100, 100), START);
    (0..5).for_each(|_| {
        world.send(throttled("a", &[1]));
        world.send(throttled("a", &[2]));
        world.send(send("a"));
    });
    let delivered = world.deliver();
    assert_eq!(delivered.len(), 1 + 5 + 5);
    assert_eq!(world.stats().parked, 4);
}

/// Past the cap a flow's further sets share one lane, in which the first blocks the others.
#[test]
fn past_the_cap_lanes_are_shared() {
    let mut world = World::with(Policy { max_lanes: 2, ..Policy::default() }).consuming();
    (1..=5).for_each(|limit| world.budget.set(LimitId(limit), rate(1, 1), START));
    for limit in 1..=5 {
        world.send_many(2, throttled("a", &[limit]));
    }
    world.send(send("a"));
    // Lanes of 1 and 2 deliver one each; in the shared lane 3 passes once and then stands before 4, 5 and the plain one.
    assert_eq!(world.deliver().len(), 3);
    world.pass(S);
    world.pass(S);
    world.pass(S);
    assert_eq!(world.log.len(), 11);
    let all = world.log.clone();
    all.iter().for_each(|delivered| world.ack(delivered));
    assert!(
        world.scheduler.flow_stats(Q, 9, world.now).is_empty() && !world.scheduler.limit_in_use(LimitId(3))
    );
}

/// A lane that needs two busy buckets at once gets its part of both.
#[test]
fn a_lane_with_two_busy_buckets_is_not_sent_to_and_fro_for_ever() {
    for burst in [1, 3] {
        let mut world = World::new().unchecked().consuming();
        world.budget.set(A, rate(burst, 100), START);
        // Never ready at the same instant but by waiting.
        world.budget.set(B, rate(burst, 97), START + 3 * MS);
        (0..3).for_each(|n| world.send_many(3000, throttled(&format!("a{n}"), &[1])));
        (0..3).for_each(|n| world.send_many(3000, throttled(&format!("b{n}"), &[2])));
        world.send_many(3000, throttled("both", &[1, 2]));
        let delivered = world.pass(20 * S);
        let counts = world.counts(&delivered);
        // Four share each bucket; the one with both cannot have more than a quarter.
        assert!(counts["both"] > 100 && counts["both"] <= 520, "{counts:?}");
        let taken = world.budget.taken[&A] + world.budget.taken[&B];
        assert!(taken > 20 * 197 * 70 / 100, "{taken}");
        world.scheduler.check();
    }
}

/// Two lanes that need the same two buckets, and insist both.
#[test]
fn lanes_that_insist_do_not_lock_up() {
    let mut world = World::new().unchecked().consuming();
    for limit in [1, 2, 3] {
        world.budget.set(LimitId(limit), rate(1, 50 + u64::from(limit)), START + u64::from(limit) * MS);
        world.send_many(2000, throttled(&format!("only{limit}"), &[limit]));
    }
    for set in [[1, 2], [2, 3], [1, 3]] {
        world.send_many(1000, throttled(&format!("{set:?}"), &set));
    }
    world.send_many(1000, throttled("all", &[1, 2, 3]));
    let delivered = world.pass(30 * S);
    let counts = world.counts(&delivered);
    assert!(counts.len() == 7 && counts.values().all(|count| *count > 40), "{counts:?}");
    world.scheduler.check();
}

/// Whoever insists may be taken away, paused or left without credit: the others go on.
#[test]
fn a_lane_that_insists_and_goes_leaves_its_buckets_open() {
    for way in 0..4 {
        let mut world = World::new().unchecked();
        let both = ConsumerId(2);
        world = with_other(world);
        world.scheduler.subscribe(OTHER, both, u32::MAX);
        world.credit(u32::MAX);
        world.budget.set(A, rate(1, 100), START);
        world.budget.set(B, rate(1, 97), START + 3 * MS);
        world.send_many(2000, throttled("a", &[1]));
        world.send_many(2000, throttled("b", &[2]));
        world.send_many(50, Send { queue: OTHER, ..throttled("both", &[1, 2]) });
        let station = world.scheduler.find_station(A).unwrap();
        while world.scheduler.stations[station].insistent == u32::MAX {
            world.pass(MS);
        }
        match way {
            0 => assert!(world.scheduler.delete_queue(OTHER, &mut |_, _| ())),
            1 => assert!(world.scheduler.pause(OTHER)),
            2 => assert!(world.scheduler.unsubscribe(both, true, &mut |_| ())),
            _ => {
                let all: Vec<_> = world.scheduler.messages(OTHER).collect();
                // The one that it insists for is the last to go.
                all.into_iter().rev().for_each(|id| assert!(world.scheduler.remove(id).is_some()));
            }
        }
        world.scheduler.check();
        let delivered = world.pass(2 * S);
        assert!(delivered.len() >= 390, "{way}: {}", delivered.len());
        world.scheduler.check();
    }
}

/// A slow bucket that a lane also needs does not hold up a fast one.
#[test]
fn a_slow_bucket_does_not_close_a_fast_one() {
    let mut world = World::new().unchecked().consuming();
    world.budget.set(A, rate(1, 100), START);
    let slow = crate::limit::Parts { burst: 1, count: 1, period_ns: u128::from(60 * S) };
    world.budget.set(B, crate::Limit::new(slow).unwrap(), START);
    world.send_many(10, throttled("both", &[1, 2]));
    world.send_many(4000, throttled("a", &[1]));
    let delivered = world.pass(30 * S);
    assert!(delivered.len() > 2970, "{}", delivered.len());
    assert_eq!(world.counts(&delivered)["both"], 1);
}

/// A million lanes would do: no time is spent on those that wait.
#[test]
fn the_next_timer_is_that_of_the_bucket() {
    let mut world = World::new().consuming();
    world.budget.set(A, rate(1, 10), START);
    world.send_many(2, throttled("a", &[1]));
    world.deliver();
    let mut steps = 0;
    while world.log.len() < 2 {
        world.now = world.scheduler.next_due().unwrap();
        assert!(world.expire().is_empty());
        world.deliver();
        steps += 1;
    }
    assert_eq!(world.now, START + 100 * MS);
    assert!(steps <= 9, "{steps}");
}

/// The message that a bucket was waiting to pay is taken away: the next one may be cheaper.
#[test]
fn another_message_in_front_is_looked_at_at_once() {
    let mut world = World::new().consuming();
    world.budget.set(A, rate(10, 1), START);
    world.send_many(2, Send { charges: vec![(A, 8)], ..send("a") });
    world.send(Send { charges: vec![(A, 2)], ..send("a") });
    assert_eq!(world.deliver().len(), 1);
    world.scheduler.remove(MessageId(2)).unwrap();
    assert_eq!(world.deliver()[0].receipt.id, MessageId(3));
    // The same where it could never be paid.
    world.send(Send { charges: vec![(A, 11)], ..send("b") });
    world.send(Send { charges: vec![(A, 0)], ..send("b") });
    assert!(world.deliver().is_empty());
    world.scheduler.remove(MessageId(4)).unwrap();
    assert_eq!(world.deliver()[0].receipt.id, MessageId(5));
}
