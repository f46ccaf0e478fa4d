//! What messages and flows say they wait for.

use super::world::*;
use crate::queue::*;

const A: LimitId = LimitId(1);
const B: LimitId = LimitId(2);
const PARENT: LimitId = LimitId(9);

#[test]
fn a_message_says_what_it_waits_for() {
    let mut world = World::new();
    world.budget.set(A, rate(1, 2), START);
    world.budget.cap(B, 1);
    world.involve(A, &[(PARENT, true)]);
    let delayed = world.send(Send { due: Some(START + S), ..send("a") });
    world.send_many(3, Send { weight: Some(7), ..throttled("a", &[1]) });
    world.send_many(2, throttled("b", &[2]));
    let stuck = world.send(Send { charges: vec![(B, 2)], ..send("c") });
    let ready = world.send(send("d"));
    let waits = |world: &World, id| world.scheduler.why(id).unwrap().waits;
    assert_eq!(waits(&world, MessageId(2)), Waits::Ready);
    world.credit(3);
    assert_eq!(world.deliver().len(), 3);
    let leased = world.log[0].receipt.id;
    assert_eq!(waits(&world, delayed), Waits::Delayed(START + S));
    assert_eq!(waits(&world, leased), Waits::Leased(START + 3600 * S));
    assert_eq!(world.scheduler.why(ready).map(|why| why.waits), Some(Waits::Leased(START + 3600 * S)));
    world.credit(3);
    world.deliver();
    let until = Some(START + 500 * MS);
    let why = world.scheduler.why(MessageId(4)).unwrap();
    let expected =
        Why { queue: Q, key: (*b"a").into(), weight: 7, waits: Waits::Parked { limit: A, until }, ahead: 1 };
    assert_eq!(why, expected);
    assert_eq!(waits(&world, MessageId(6)), Waits::Parked { limit: B, until: None });
    assert_eq!(waits(&world, stuck), Waits::Stuck { limit: B });
    assert_eq!(world.scheduler.why(MessageId(99)), None);
}

#[test]
fn a_flow_says_what_its_lanes_wait_for() {
    let mut world = World::new().consuming();
    world.budget.set(PARENT, rate(1, 2), START);
    world.involve(A, &[(PARENT, true)]);
    world.send_many(4, throttled("a", &[1]));
    world.send(throttled("a", &[2]));
    assert_eq!(world.deliver().len(), 2);
    let why = world.scheduler.why_flow(Q, b"a").unwrap();
    let parked = Waits::Parked { limit: PARENT, until: Some(START + 500 * MS) };
    let lanes = [
        WhyLane { next: Some(MessageId(2)), limits: vec![A, PARENT], waits: Some(parked), waiting: 3 },
        WhyLane { next: None, limits: vec![B], waits: None, waiting: 0 },
    ];
    assert_eq!((why.in_flight, why.weight, &why.lanes[..]), (2, 1, &lanes[..]));
    assert_eq!(world.scheduler.why_flow(Q, b"b"), None);
    assert_eq!(world.scheduler.why_flow(QueueId(7), b"a"), None);
}

#[test]
fn not_all_that_are_ahead_are_counted() {
    let mut world = World::new().unchecked();
    world.send_many(AHEAD_MOST as usize + 5, send("a"));
    let ahead = |n: u32| world.scheduler.why(MessageId(n.into())).unwrap().ahead;
    assert_eq!([1, 2, AHEAD_MOST, AHEAD_MOST + 5].map(ahead), [0, 1, AHEAD_MOST - 1, AHEAD_MOST]);
}
