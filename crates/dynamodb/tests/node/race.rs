//! Other clients that write between a node's look and its write, as they do: without moving the time of refill.

use tidegate_dynamodb::layout::attribute::number;
use tidegate_dynamodb::layout::expression::Expression;
use tidegate_dynamodb::layout::key::Key;
use tidegate_dynamodb::table::write::Written;
use tidegate_emulator::{Fault, Rule};

use crate::world::{RESOURCE, World, system};

/// Adds to a level, as the fast path and the refunds of other clients do.
fn add(world: &World, tokens: i64) {
    let mut write = Expression::new();
    write.add("b_rpm_tk", number(tokens * 1000));
    let key = Key::bucket(&world.ns, b"acme", RESOURCE, 0);
    let written = world.runtime.block_on(world.table.update(&key, &write)).unwrap();
    assert_eq!(written, Written::Done);
}

/// Holds the next write on the bucket, until it is released.
fn hold(world: &World) {
    world.proxy.add(Rule::of(Fault::Held).on("UpdateItem").naming("BUCKET#acme").times(1));
}

#[test]
fn what_others_take_meanwhile_is_not_drawn() {
    let world = World::new();
    world.set(&system(), &["rpm=100/day"]);
    let node = world.node();
    assert!(world.acquire(&node, "acme", &[("rpm", 1)]).unwrap());
    let there = world.number("acme", "b_rpm_tk") / 1000;
    hold(&world);
    let passed = std::thread::scope(|scope| {
        let asks = scope.spawn(|| world.acquire(&node, "acme", &[("rpm", 60)]).unwrap());
        world.proxy.wait_for_held();
        add(&world, 10 - there);
        world.proxy.release();
        asks.join().unwrap()
    });
    assert!(!passed);
    assert!(world.number("acme", "b_rpm_tk") >= 0);
    node.stop();
}

#[test]
fn what_others_give_back_meanwhile_does_not_lift_it_above_the_burst() {
    let world = World::new();
    world.set(&system(), &["rpm=100/day"]);
    let node = world.node();
    for _ in 0..40 {
        assert!(world.acquire(&node, "acme", &[("rpm", 1)]).unwrap());
    }
    hold(&world);
    std::thread::scope(|scope| {
        let stops = scope.spawn(|| node.stop());
        world.proxy.wait_for_held();
        add(&world, 100 - world.number("acme", "b_rpm_tk") / 1000);
        world.proxy.release();
        stops.join().unwrap();
    });
    let left = world.number("acme", "b_rpm_tk");
    assert!(left <= 101_000, "{left}");
}
