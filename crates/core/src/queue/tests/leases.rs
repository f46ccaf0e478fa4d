//! Leases, receipts, consumers and delays.

use super::world::*;
use crate::queue::*;

fn short() -> World {
    World::with(Policy { visibility_ns: S, ..Policy::default() })
}

#[test]
fn a_receipt_is_good_for_one_delivery() {
    let mut world = short().consuming();
    world.send(send("a"));
    let first = world.deliver()[0];
    assert_eq!((first.receipt.delivery, first.attempts, first.deadline), (1, 0, START + S));
    world.scheduler.requeue(first.receipt, 1, None, world.now).unwrap();
    let second = world.deliver()[0];
    assert_eq!((second.receipt.delivery, second.attempts), (2, 1));
    let stale = first.receipt;
    assert_eq!(world.scheduler.ack(stale), Err(Lookup::Stale));
    assert_eq!(world.scheduler.extend(stale, START), Err(Lookup::Stale));
    assert_eq!(world.scheduler.requeue(stale, 9, None, START), Err(Lookup::Stale));
    assert_eq!(world.scheduler.lease(stale), Err(Lookup::Stale));
    let place = Place { len: 10, ..Place::default() };
    assert_eq!(world.scheduler.lease(second.receipt), Ok(Leased { queue: Q, attempts: 1, place }));
    assert_eq!(world.scheduler.ack(second.receipt), Ok(Gone { queue: Q, place }));
    assert_eq!(world.scheduler.ack(second.receipt), Err(Lookup::NotFound));
    assert_eq!(
        world.stats(),
        QueueStats { consumers: 1, credit: u64::from(u32::MAX) - 2, delivered: 2, ..QueueStats::default() }
    );
}

#[test]
fn a_lease_that_ends_is_told_once_and_stays_until_settled() {
    let mut world = short().consuming();
    world.send_many(2, send("a"));
    let delivered = world.deliver();
    world.now = START + S - 1;
    assert!(world.expire().is_empty());
    world.now = START + S;
    assert_eq!(world.expire().len(), 2);
    world.now = START + 9 * S;
    assert!(world.expire().is_empty());
    // Late, but nobody else has it yet.
    world.ack(&delivered[0]);
    world.scheduler.extend(delivered[1].receipt, START + 10 * S).unwrap();
    world.now = START + 10 * S;
    assert_eq!(world.expire(), [delivered[1].receipt]);
}

#[test]
fn a_returned_message_goes_to_the_back_of_its_lane() {
    let mut world = short();
    world.send_many(3, send("a"));
    world.credit(1);
    let first = world.deliver()[0];
    world.scheduler.requeue(first.receipt, 1, None, world.now).unwrap();
    world.credit(3);
    let order: Vec<u64> = world.deliver().iter().map(|delivered| delivered.receipt.id.0).collect();
    assert_eq!(order, [2, 3, 1]);
}

#[test]
fn a_delay_is_kept_to_the_nanosecond() {
    let mut world = World::new().consuming();
    world.send(Send { due: Some(START + 1234), ..send("a") });
    assert_eq!(world.stats().delayed, 1);
    assert!(world.pass(1233).is_empty());
    assert_eq!(world.pass(1).len(), 1);
    // A time that has passed is no delay.
    world.send(Send { due: Some(world.now), ..send("a") });
    assert_eq!(world.deliver().len(), 1);
    let receipt = world.log[1].receipt;
    world.scheduler.requeue(receipt, 1, Some(world.now + MS), world.now).unwrap();
    assert_eq!(world.scheduler.describe(receipt.id).unwrap().state, State::Delayed(world.now + MS));
    assert_eq!(world.pass(MS).len(), 1);
}

#[test]
fn consumers_are_served_in_turn_as_far_as_they_have_credit() {
    let mut world = World::new();
    for (consumer, credit) in [(1, 3), (2, 1), (3, 0), (4, 5)] {
        world.scheduler.subscribe(Q, ConsumerId(consumer), credit);
    }
    world.send_many(20, send("a"));
    let order: Vec<u32> = world.deliver().iter().map(|delivered| delivered.consumer.0).collect();
    assert_eq!(order, [1, 2, 4, 1, 4, 1, 4, 4, 4]);
    world.scheduler.credit(ConsumerId(3), 1);
    assert_eq!(world.deliver()[0].consumer, ConsumerId(3));
    assert!(
        !world.scheduler.credit(ConsumerId(9), 1) && !world.scheduler.subscribe(QueueId(9), ConsumerId(9), 1)
    );
}

#[test]
fn a_consumer_that_goes_gives_its_leases_back() {
    let mut world = World::new();
    world.scheduler.subscribe(Q, ConsumerId(1), 2);
    world.scheduler.subscribe(Q, ConsumerId(2), 2);
    world.send_many(6, send("a"));
    let delivered = world.deliver();
    let mut returned = Vec::new();
    assert!(world.scheduler.unsubscribe(ConsumerId(1), false, &mut |id| returned.push(id.0)));
    world.check();
    assert_eq!(returned, [1, 3]);
    assert_eq!((world.stats().in_flight, world.stats().waiting, world.stats().consumers), (2, 4, 1));
    world.scheduler.credit(ConsumerId(2), 9);
    let again = world.deliver();
    let order: Vec<u64> = again.iter().map(|delivered| delivered.receipt.id.0).collect();
    assert_eq!(order, [5, 6, 1, 3]);
    assert_eq!((again[2].attempts, again[2].receipt.delivery), (0, 2));
    assert_eq!(world.scheduler.ack(delivered[0].receipt), Err(Lookup::Stale));
    // Or keeps them, as one that asked once and went on does.
    assert!(world.scheduler.unsubscribe(ConsumerId(2), true, &mut |_| panic!("kept")));
    world.check();
    world.ack(&again[2]);
    assert!(!world.scheduler.unsubscribe(ConsumerId(2), true, &mut |_| ()));
}

#[test]
fn a_lease_survives_a_restart() {
    let mut world = World::new().consuming();
    let id = MessageId(7);
    let (place, charges) = (Place::default(), [(LimitId(1), 1)]);
    let arrival = Arrival {
        id,
        place,
        flow: b"a",
        foreseen: None,
        weight: None,
        cost: 1,
        charges: &charges,
        due: None,
        attempts: 2,
        delivery: 5,
    };
    assert!(world.scheduler.restore_leased(Q, &arrival, START + S));
    world.check();
    assert!(
        !world.scheduler.restore_leased(Q, &arrival, START + S)
            && !world.scheduler.enqueue(Q, &arrival, START)
    );
    let receipt = Receipt { id, delivery: 5 };
    assert_eq!(world.scheduler.lease(receipt).unwrap().attempts, 2);
    world.now = START + S;
    assert_eq!(world.expire(), [receipt]);
    world.scheduler.requeue(receipt, 3, None, world.now).unwrap();
    let delivered = world.deliver();
    assert_eq!((delivered[0].receipt.delivery, delivered[0].attempts), (6, 3));
}

#[test]
fn timers_fire_a_few_at_a_time() {
    let mut world = short().unchecked().consuming();
    world.send_many(1000, send("a"));
    world.deliver();
    world.now = START + 5 * S;
    let mut expired = Vec::new();
    let mut calls = 0;
    while world.scheduler.expire(world.now, 10, &mut expired) {
        calls += 1;
        assert!(expired.len() <= 10 * calls);
    }
    assert_eq!(expired.len(), 1000);
    assert!(calls >= 100, "{calls}");
}
