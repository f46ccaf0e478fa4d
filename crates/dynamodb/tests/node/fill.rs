//! Resets and top-ups, and looks at a bucket.

use tidegate_dynamodb::bucket::fill::Fill;
use tidegate_ledger::AccountKey;

use crate::world::{RESOURCE, Tester, World, system};

fn key(node: &Tester, entity: &str) -> AccountKey {
    let space = node.ledger.space("default").unwrap();
    node.ledger.account_keys(space, entity.as_bytes(), RESOURCE).unwrap().remove(0)
}

fn by(tokens: Option<u64>) -> [Fill; 1] {
    [Fill { limit: "rpm".into(), tokens }]
}

fn takes(world: &World, node: &Tester, times: usize) -> usize {
    (0..times).filter(|_| world.acquire(node, "acme", &[("rpm", 1)]).unwrap()).count()
}

/// Takes so many, however often it is denied in between.
fn take(world: &World, node: &Tester, times: usize) {
    for _ in 0..times {
        world.until("it passes", || takes(world, node, 1) == 1);
    }
}

#[test]
fn a_reset_makes_full_and_a_top_up_stops_at_the_burst() {
    let world = World::new();
    world.set(&system(), &["rpm=100/day"]);
    let node = world.node();
    take(&world, &node, 40);
    let key = key(&node, "acme");
    let refill = |tokens, id| world.runtime.block_on(node.handle.refill(&key, &by(tokens), id)).unwrap();
    let there = || world.number("acme", "b_rpm_tk") / 1000;
    // A draw ahead that was under way may have come after it: that goes back when nobody spends it.
    let comes_to = |tokens: std::ops::RangeInclusive<i64>| {
        world.until(&format!("{tokens:?} are there"), || tokens.contains(&there()));
    };
    assert!(refill(None, None));
    comes_to(100..=100);
    take(&world, &node, 50);
    assert!(refill(Some(30), Some("order-7")));
    // A slice of a bucket that is full decays at once: parts of a token for each draw.
    comes_to(78..=80);
    let before = there();
    assert!(!refill(Some(30), Some("order-7")));
    assert_eq!(there(), before);
    assert!(refill(Some(500), Some("order-8")));
    assert_eq!(there(), 100);
    // What was consumed is told as before: nobody has given it back. Parts of a token are told with the next whole one.
    assert!((89_001..=90_000).contains(&world.number("acme", "b_rpm_tc")));
    node.stop();
}

#[test]
fn a_limit_that_was_changed_is_filled_as_it_is_set_now() {
    let world = World::new();
    world.set(&system(), &["rpm=10/day"]);
    let node = world.node();
    take(&world, &node, 10);
    let key = key(&node, "acme");
    let refill = |tokens| world.runtime.block_on(node.handle.refill(&key, &by(tokens), None)).unwrap();
    let there = |field: &str| world.number("acme", &format!("b_rpm_{field}")) / 1000;
    for (limit, tokens, full) in [("rpm=100/day", None, 100), ("rpm=40/day", Some(1), 40)] {
        world.set(&system(), &[limit]);
        world.until("it is known", || {
            // What nobody asks for is not looked at again.
            world.acquire(&node, "acme", &[("rpm", 0)]).unwrap();
            node.ledger.terms(&key, node.clock.now())[0].to_string() == limit
        });
        refill(tokens);
        assert_eq!((there("tk"), there("cp")), (full, full), "{limit}");
    }
    node.stop();
}

#[test]
fn what_another_node_holds_is_part_of_what_there_is() {
    let world = World::new();
    world.set(&system(), &["rpm=1000/day"]);
    let nodes = [world.node(), world.node()];
    let mut passed = 0;
    for round in 0..100 {
        passed += i64::from(world.acquire(&nodes[round % 2], "acme", &[("rpm", 1)]).unwrap());
    }
    let key = key(&nodes[0], "acme");
    world.runtime.block_on(nodes[0].handle.refill(&key, &by(None), None)).unwrap();
    let there = world.number("acme", "b_rpm_tk") / 1000;
    let drawn = nodes[1].handle.counters().drawn.load(std::sync::atomic::Ordering::Relaxed) as i64;
    assert!((1000 - drawn..=1000 - (drawn - passed / 2).max(0)).contains(&there), "{there}, {drawn} drawn");
    nodes.into_iter().for_each(Tester::stop);
    assert!(world.number("acme", "b_rpm_tk") / 1000 <= 1000);
}

#[test]
fn a_look_tells_what_others_have_taken() {
    // What is set stays known, though nobody asks for a while.
    let world = World::with(|settings| settings.config_refresh_ms = 60_000);
    world.set(&system(), &["rpm=100/day"]);
    let nodes = [world.node(), world.node()];
    assert_eq!(takes(&world, &nodes[0], 1), 1);
    assert_eq!(takes(&world, &nodes[1], 60), 60);
    let key = key(&nodes[0], "acme");
    let available = || {
        world.runtime.block_on(nodes[0].handle.look(&key)).unwrap();
        let space = nodes[0].ledger.space("default").unwrap();
        let charges = [tidegate_ledger::Charge { entity: b"acme", resource: RESOURCE, cost: &[("rpm", 1)] }];
        let acquire = tidegate_ledger::Acquire::new(space, &charges);
        nodes[0].ledger.check(&acquire, world.clock.now()).unwrap().statuses[0].available
    };
    assert!((0..=40).contains(&available()), "{}", available());
    nodes.into_iter().for_each(Tester::stop);
}

#[test]
fn what_is_read_with_the_settings_is_known_before_the_first_draw() {
    let world = World::new();
    world.set(&system(), &["rpm=100/day"]);
    let node = world.node();
    take(&world, &node, 40);
    node.stop();
    let other = world.node();
    let space = other.ledger.space("default").unwrap();
    let left =
        || other.ledger.levels(space, b"acme", RESOURCE, &["rpm"], other.clock.now()).unwrap()[0].available;
    assert!(world.acquire(&other, "acme", &[("rpm", 0)]).unwrap());
    assert_eq!(left(), 60, "though nothing was drawn");
    other.stop();
}
