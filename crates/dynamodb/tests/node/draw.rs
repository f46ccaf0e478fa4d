//! One node: what it draws, gives back and tells.

use crate::world::{World, system};

/// So slow that nothing comes back while a test runs.
const SLOW: &str = "rpm=1000/day";

#[test]
fn what_is_not_used_goes_back_and_what_is_used_is_told() {
    let world = World::new();
    world.set(&system(), &[SLOW]);
    let node = world.node();
    for _ in 0..137 {
        assert!(world.acquire(&node, "acme", &[("rpm", 1)]).unwrap());
    }
    node.stop();
    assert_eq!(world.number("acme", "b_rpm_tk") / 1000, 1000 - 137);
    assert_eq!(world.number("acme", "b_rpm_tc"), 137_000);
}

#[test]
fn no_more_is_let_pass_than_there_is() {
    let world = World::new();
    world.set(&system(), &["rpm=50/day"]);
    let node = world.node();
    let passed = std::cell::Cell::new(0);
    world.until("all of it is used", || {
        passed.set(passed.get() + i32::from(world.acquire(&node, "acme", &[("rpm", 1)]).unwrap()));
        passed.get() == 50
    });
    assert!(!(0..80).any(|_| world.acquire(&node, "acme", &[("rpm", 1)]).unwrap()));
    node.stop();
    assert_eq!(world.number("acme", "b_rpm_tk") / 1000, 0);
}

#[test]
fn many_decisions_are_few_writes() {
    let world = World::new();
    world.set(&system(), &["rpm=2000/second,burst=4000"]);
    let node = world.node();
    assert!(world.acquire(&node, "acme", &[("rpm", 1)]).unwrap());
    let start = world.clock.now();
    let (mut decisions, mut passed) = (0_u64, 0);
    // 1,000 a second, for two seconds.
    while world.clock.now() - start < 2_000_000_000 {
        if (world.clock.now() - start) / 1_000_000 >= decisions {
            decisions += 1;
            passed += u64::from(world.acquire(&node, "acme", &[("rpm", 1)]).unwrap());
        }
    }
    let writes = world.proxy.count("UpdateItem");
    assert!(passed * 100 >= decisions * 99, "{passed} of {decisions}");
    // Two units each, one of them the index's: at most 0.01 a decision. The node's own claim and heartbeat are among them.
    assert!(writes <= decisions / 200 + 2, "{writes} writes for {decisions} decisions");
    node.stop();
}

#[test]
fn a_change_reaches_a_bucket_that_is_in_use() {
    let world = World::new();
    world.set(&system(), &["rpm=1000/day"]);
    let node = world.node();
    assert!(world.acquire(&node, "acme", &[("rpm", 1)]).unwrap());
    world.set(&system(), &["rpm=5/day"]);
    world.until("the new limit holds", || {
        matches!(
            world.acquire(&node, "acme", &[("rpm", 6)]),
            Err(tidegate_ledger::Refused::NeverPasses { .. })
        )
    });
    let passed = (0..20).filter(|_| world.acquire(&node, "acme", &[("rpm", 1)]).unwrap()).count();
    assert!(passed <= 5, "{passed}");
    node.stop();
    assert_eq!(world.number("acme", "b_rpm_cp"), 5_000);
}

#[test]
fn a_limit_that_was_raised_acts_on_a_bucket_that_is_empty() {
    let world = World::new();
    world.set(&system(), &["rpm=5/day"]);
    let node = world.node();
    assert_eq!((0..9).filter(|_| world.acquire(&node, "acme", &[("rpm", 1)]).unwrap()).count(), 5);
    world.set(&system(), &["rpm=1000000/second,burst=10"]);
    world.until("it passes", || matches!(world.acquire(&node, "acme", &[("rpm", 10)]), Ok(true)));
    node.stop();
    assert_eq!((world.number("acme", "b_rpm_cp"), world.number("acme", "b_rpm_tc")), (10_000, 15_000));
}

#[test]
fn a_first_decision_is_few_calls() {
    let world = World::new();
    world.set(&system(), &["rpm=5/day"]);
    let node = world.node();
    world.proxy.forget_calls();
    assert!(world.acquire(&node, "acme", &[("rpm", 1)]).unwrap());
    // Not those by which the node shows that it lives, and looks what others have closed.
    let mut calls = world.proxy.calls();
    calls.retain(|call| !call.body.to_string().contains("#TIDEGATE#"));
    let of = |operation: &str| calls.iter().filter(|call| call.operation == operation).count();
    // The namespace, what is set and the bucket, and the bucket's making, by which it is told as well.
    assert!(of("GetItem") <= 1 && of("TransactWriteItems") == 1 && of("UpdateItem") == 0, "{calls:?}");
    assert_eq!(world.number("acme", "b_rpm_tc"), 1000);
    node.stop();
}

#[test]
fn limits_of_a_call_have_an_item_of_their_own() {
    use tidegate_core::ledger::Term;
    use tidegate_ledger::{Acquire, Acquired, Charge};
    let world = World::new();
    world.set(&system(), &[SLOW]);
    let node = world.node();
    let terms: Vec<Term> = vec!["x=3/day".parse().unwrap()];
    let space = node.ledger.space("default").unwrap();
    let charges = [Charge { entity: b"acme", resource: crate::world::RESOURCE, cost: &[("x", 1)] }];
    let mut passed = 0;
    for _ in 0..5 {
        let acquire = Acquire { terms: Some(&terms), lease: None, ..Acquire::new(space, &charges) };
        loop {
            match node.ledger.acquire(&acquire, node.clock.now()).unwrap() {
                Acquired::Granted(_) => break passed += 1,
                Acquired::Denied(_) => break,
                Acquired::Undecided(undecided) => world.runtime.block_on(node.ledger.decided(undecided)),
            }
        }
    }
    assert_eq!(passed, 3);
    node.stop();
    assert!(world.bucket("acme").is_none());
}
