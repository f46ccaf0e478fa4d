//! Queues as a whole: room, deletion, counts.

use super::world::*;
use crate::queue::*;

#[test]
fn room_is_by_messages_and_by_bytes() {
    let mut world =
        World::with(Policy { max_depth: Some(3), max_bytes: Some(35), ..Policy::default() }).consuming();
    assert_eq!(world.scheduler.room(Q, 36), Err(Full::Bytes));
    assert_eq!(world.scheduler.room(Q, 35), Ok(()));
    world.send(send("a"));
    world.deliver();
    world.send(Send { due: Some(START + S), ..send("a") });
    world.send(send("a"));
    assert_eq!(world.scheduler.room(Q, 0), Err(Full::Depth));
    world.scheduler.update_queue(Q, Policy { max_bytes: Some(35), ..Policy::default() });
    assert_eq!((world.scheduler.room(Q, 5), world.scheduler.room(Q, 6)), (Ok(()), Err(Full::Bytes)));
    assert!(world.scheduler.relocate(MessageId(1), Place { segment: 9, offset: 9, len: 15 }));
    assert_eq!(world.scheduler.room(Q, 1), Err(Full::Bytes));
    assert_eq!(world.scheduler.describe(MessageId(1)).unwrap().place.segment, 9);
    assert!(!world.scheduler.relocate(MessageId(99), Place::default()));
    let receipt = world.log[0].receipt;
    world.scheduler.ack(receipt).unwrap();
    assert_eq!(world.scheduler.room(Q, 15), Ok(()));
    assert_eq!(world.scheduler.room(QueueId(404), u32::MAX), Ok(()));
}

#[test]
fn a_deleted_queue_leaves_nothing_behind() {
    let mut world = World::new();
    world.budget.set(LimitId(1), rate(1, 1), START);
    world.credit(4);
    world.send_many(4, throttled("a", &[1]));
    world.send_many(6, send("b"));
    world.send(Send { due: Some(START + S), ..throttled("c", &[1, 2]) });
    world.deliver();
    assert!(!world.scheduler.create_queue(Q, Policy::default()));
    let mut gone = Vec::new();
    assert!(world.scheduler.delete_queue(Q, &mut |id, place| gone.push((id.0, place.len))));
    world.check();
    assert_eq!(gone, (1..=11).map(|id| (id, 10)).collect::<Vec<_>>());
    assert!(world.scheduler.stats(Q).is_none() && world.scheduler.next_due().is_none());
    assert!(!world.scheduler.limit_in_use(LimitId(1)) && !world.scheduler.credit(C, 1));
    assert!(!world.scheduler.delete_queue(Q, &mut |_, _| ()) && !world.scheduler.pause(Q));
    assert!(world.scheduler.create_queue(Q, Policy::default()));
    assert_eq!(world.stats(), QueueStats::default());
}

#[test]
fn counts_are_kept() {
    let mut world = World::new();
    world.budget.set(LimitId(1), rate(1, 1), START);
    world.send_many(3, throttled("a", &[1]));
    world.send_many(2, Send { weight: Some(3), ..send("b") });
    world.send(Send { due: Some(START + S), ..send("c") });
    world.credit(10);
    world.deliver();
    world.send(Send { weight: Some(3), ..send("b") });
    let stats = world.stats();
    let expected = QueueStats {
        waiting: 3,
        delayed: 1,
        parked: 2,
        in_flight: 3,
        bytes: 70,
        flows_active: 2,
        consumers: 1,
        credit: 7,
        delivered: 3,
        oldest: Some(MessageId(1)),
        paused: false,
    };
    assert_eq!(stats, expected);
    let flows = world.scheduler.flow_stats(Q, 10, START);
    assert_eq!(flows.iter().map(|flow| &*flow.key).collect::<Vec<_>>(), [b"a", b"b", b"c"]);
    assert_eq!((flows[0].waiting, flows[0].parked, flows[0].oldest), (2, 2, Some(MessageId(2))));
    assert_eq!((flows[0].parked_on.as_slice(), flows[0].in_flight), ([LimitId(1)].as_slice(), 1));
    assert_eq!((flows[1].weight, flows[1].delivered, flows[1].fair_share), (3, 2, 0.75));
    assert_eq!((flows[2].waiting, flows[2].fair_share), (0, 0.0));
    assert!((flows[0].share - 1.0 / 3.0).abs() < 1e-6);
    assert_eq!(world.scheduler.flow_stats(Q, 1, START).len(), 1);
}

#[test]
fn messages_are_listed_as_they_came() {
    let mut world = World::new().consuming();
    world.send(send("a"));
    world.send(Send { due: Some(START + S), ..send("b") });
    world.send(send("c"));
    world.deliver();
    let ids = |world: &World| world.scheduler.messages(Q).map(|id| id.0).collect::<Vec<_>>();
    assert_eq!(ids(&world), [1, 2, 3]);
    world.scheduler.remove(MessageId(1)).unwrap();
    assert_eq!((ids(&world), world.scheduler.oldest(Q)), (vec![2, 3], Some(MessageId(2))));
    assert_eq!(world.scheduler.messages(QueueId(404)).count(), 0);
}

/// A purge takes messages from anywhere in any lane.
#[test]
fn a_purged_queue_goes_on() {
    let mut world = World::new().consuming();
    world.budget.set(LimitId(1), rate(1, 1), START);
    world.budget.set(LimitId(2), rate(10, 1), START);
    for n in 0..10 {
        world.send(throttled("a", &[1]));
        world.send(Send { charges: vec![(LimitId(2), 5 + n)], ..send("b") });
    }
    world.deliver();
    let all: Vec<MessageId> = world.scheduler.messages(Q).collect();
    for id in all {
        world.scheduler.remove(id).unwrap();
        world.check();
    }
    assert_eq!((world.stats().waiting, world.stats().parked, world.stats().flows_active), (0, 0, 0));
    world.send_many(2, throttled("a", &[1]));
    assert_eq!(world.pass(3 * S).len(), 2);
}

#[test]
fn queues_are_served_in_turn() {
    let mut world = World::new().consuming();
    let other = QueueId(2);
    world.scheduler.create_queue(other, Policy::default());
    world.scheduler.subscribe(other, ConsumerId(2), 100);
    world.send_many(10, send("a"));
    world.send_many(10, Send { queue: other, ..send("a") });
    let mut out = Vec::new();
    assert!(world.scheduler.deliver(&mut world.budget, START, 10, &mut out));
    assert_eq!(out.iter().filter(|delivered| delivered.queue == Q).count(), 5);
}

#[test]
fn a_purge_leaves_no_flows_behind() {
    let mut world = World::new();
    ["a", "b", "c"].iter().for_each(|flow| world.send_many(3, send(flow)));
    (1..=9).for_each(|id| assert!(world.scheduler.remove(MessageId(id)).is_some()));
    world.check();
    assert!(world.scheduler.flow_stats(Q, 9, START).is_empty());
}
