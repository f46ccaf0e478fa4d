//! Charges with amounts.

use super::world::*;
use crate::queue::*;

const A: LimitId = LimitId(1);
const B: LimitId = LimitId(2);

#[test]
fn a_limit_that_comes_twice_is_charged_the_sum() {
    let mut world = World::new().consuming();
    world.budget.set(A, rate(10, 1), START);
    world.send(Send { charges: vec![(A, 2), (B, 7), (A, 3)], ..send("a") });
    assert_eq!(world.deliver().len(), 1);
    assert_eq!((world.budget.taken[&A], world.budget.taken[&B]), (5, 7));
}

#[test]
fn one_set_is_one_lane_whatever_the_order_and_the_amounts() {
    let mut world = World::new().consuming();
    world.budget.set(A, rate(10, 10), START);
    for charges in [[(A, 10), (B, 1)], [(B, 1), (A, 1)], [(A, 5), (B, 0)]] {
        world.send(Send { charges: charges.to_vec(), ..send("a") });
    }
    assert_eq!(world.deliver().len(), 1);
    assert_eq!(world.scheduler.waiters(A), 1);
    // First in, first out, though the last could be paid before.
    let order: Vec<u64> = world.pass(S).iter().map(|delivered| delivered.receipt.id.0).collect();
    assert_eq!(order, [2, 3]);
}

#[test]
fn all_or_none_is_taken() {
    let mut world = World::new().consuming();
    world.budget.set(A, rate(10, 10), START);
    world.budget.set(B, rate(5, 5), START);
    world.send_many(4, Send { charges: vec![(A, 3), (B, 2)], ..send("a") });
    assert_eq!(world.deliver().len(), 2);
    assert_eq!((world.budget.tokens(A, START), world.budget.tokens(B, START)), (4, 1));
    world.pass(400 * MS);
    assert_eq!((world.budget.taken[&A], world.budget.taken[&B]), (9, 6));
}

#[test]
fn a_limit_is_in_use_while_a_message_is_charged_to_it() {
    let mut world = World::new().consuming();
    world.send(Send { charges: vec![(A, 3)], ..send("a") });
    assert!(world.scheduler.limit_in_use(A) && !world.scheduler.limit_in_use(B));
    let delivered = world.deliver()[0];
    assert!(world.scheduler.limit_in_use(A));
    world.ack(&delivered);
    assert!(!world.scheduler.limit_in_use(A));
}

#[test]
fn a_charge_of_nothing_passes_an_empty_bucket() {
    let mut world = World::new().consuming();
    world.budget.set(A, rate(1, 1), START);
    world.send(throttled("a", &[1]));
    world.deliver();
    world.send(Send { charges: vec![(A, 0)], ..send("b") });
    assert_eq!(world.deliver().len(), 1);
    world.send_many(3, Send { charges: vec![(A, u64::MAX), (A, u64::MAX)], ..send("c") });
    assert!(world.pass(S).is_empty());
}
