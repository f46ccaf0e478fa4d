//! Lanes that wait for an answer that is being asked for.

use super::world::*;
use crate::queue::*;

const OTHER: QueueId = QueueId(2);

fn world() -> World {
    let mut world = World::new().consuming();
    world.scheduler.create_queue(OTHER, Policy { visibility_ns: 3600 * S, ..Policy::default() });
    world.scheduler.subscribe(OTHER, ConsumerId(2), u32::MAX);
    world
}

#[test]
fn a_queue_asks_until_there_is_an_answer_and_somebody_has_looked() {
    let mut world = world();
    world.ask(1, true);
    world.send(throttled("a", &[1]));
    assert!(!world.scheduler.asks(Q), "nobody was asked yet");
    assert!(world.flows().is_empty());
    assert!(world.scheduler.asks(Q) && !world.scheduler.asks(OTHER));
    world.ask(1, false);
    assert!(world.scheduler.asks(Q), "nobody has looked at the answer");
    assert_eq!(world.flows(), ["a"]);
    assert!(!world.scheduler.asks(Q));
}

#[test]
fn a_refill_and_a_slot_are_no_answers() {
    let mut world = world();
    world.budget.set(LimitId(1), rate(1, 1), world.now);
    world.budget.cap(LimitId(2), 1);
    world.send_many(2, throttled("a", &[1]));
    world.send_many(2, throttled("b", &[2]));
    assert_eq!(world.deliver().len(), 2);
    assert_eq!(world.stats().parked, 2);
    assert!(!world.scheduler.asks(Q));
    // The answer may be that one has to wait for a refill.
    world.ask(1, true);
    world.scheduler.bucket_changed(LimitId(1));
    assert!(world.deliver().is_empty());
    assert!(world.scheduler.asks(Q));
    world.ask(1, false);
    assert!(world.deliver().is_empty());
    assert!(!world.scheduler.asks(Q));
}

#[test]
fn all_queues_with_lanes_there_ask_and_those_that_leave_ask_no_more() {
    let mut world = world();
    world.ask(1, true);
    let first = world.send(throttled("a", &[1]));
    let second = world.send(Send { queue: OTHER, ..throttled("b", &[1]) });
    world.deliver();
    assert!(world.scheduler.asks(Q) && world.scheduler.asks(OTHER));
    world.scheduler.remove(first);
    assert!(!world.scheduler.asks(Q) && world.scheduler.asks(OTHER));
    world.deliver();
    assert!(world.scheduler.asks(OTHER));
    world.scheduler.remove(second);
    assert!(!world.scheduler.asks(OTHER));
    world.check();
}

#[test]
fn a_queue_that_can_take_nothing_asks_nothing() {
    let mut world = World::new();
    world.ask(1, true);
    world.send(throttled("a", &[1]));
    world.credit(1);
    world.deliver();
    assert!(world.scheduler.asks(Q));
    world.scheduler.pause(Q);
    assert!(!world.scheduler.asks(Q));
    world.ask(1, false);
    assert!(world.deliver().is_empty());
    world.scheduler.resume(Q);
    assert_eq!(world.flows(), ["a"]);
}

#[test]
fn nobody_waits_for_an_answer_where_another_bucket_can_never_pay() {
    let mut world = world();
    world.ask(1, true);
    world.budget.set(LimitId(2), rate(1, 1), world.now);
    world.send(Send { charges: vec![(LimitId(1), 1), (LimitId(2), 5)], ..send("a") });
    assert!(world.deliver().is_empty());
    assert!(!world.scheduler.asks(Q));
}
