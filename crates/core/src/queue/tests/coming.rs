//! Messages on their way to the disk.

use super::world::*;
use crate::queue::*;

fn ids(delivered: &[Delivered]) -> Vec<MessageId> {
    delivered.iter().map(|delivered| delivered.receipt.id).collect()
}

#[test]
fn a_message_is_delivered_when_it_has_landed() {
    let mut world = World::new().consuming();
    let first = world.announce(send("a"));
    let second = world.announce(send("a"));
    let other = world.announce(send("b"));
    assert_eq!(ids(&world.deliver()), []);
    assert_eq!((world.stats().waiting, world.stats().flows_active), (3, 0));
    assert!(world.scheduler.expects(Q));
    world.land(1);
    assert_eq!(ids(&world.deliver()), [first]);
    world.land(2);
    assert_eq!(ids(&world.deliver()), [other, second]);
    assert!(!world.scheduler.expects(Q));
}

#[test]
fn who_is_on_the_way_holds_up_nobody() {
    let mut world = World::new().consuming();
    world.announce(send("a"));
    let there = world.send(send("a"));
    assert_eq!(ids(&world.deliver()), [there]);
}

#[test]
fn what_is_gone_does_not_land() {
    let mut world = World::new().consuming();
    let gone = world.announce(send("a"));
    let moved = world.announce(send("a"));
    let due = Some(world.now + S);
    let delayed = world.announce(Send { due, ..send("a") });
    assert_eq!(world.stats().delayed, 1);
    world.scheduler.remove(gone);
    world.scheduler.remove(moved);
    // Its slot is used again.
    let other = world.send(send("b"));
    world.land(3);
    assert_eq!(ids(&world.deliver()), [other]);
    assert_eq!(ids(&world.pass(S)), [delayed]);
}

#[test]
fn it_takes_room_in_its_queue_and_has_those_of_its_lane_before_it() {
    let mut world = World::with(Policy { max_depth: Some(2), ..Policy::default() });
    world.send(send("a"));
    assert_eq!(world.scheduler.room(Q, 10), Ok(()));
    let coming = world.announce(send("a"));
    assert_eq!(world.scheduler.room(Q, 10), Err(Full::Depth));
    let why = world.scheduler.why(coming).unwrap();
    assert_eq!((why.waits, why.ahead), (Waits::Ready, 1));
}
