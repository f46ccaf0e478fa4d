//! Looks at a bucket, and draws that cross them.

use std::collections::HashMap;

use tidegate_ledger::{AccountKey, Draws, Found};

use super::world::World;

fn key(world: &World) -> AccountKey {
    let mut keys = Vec::new();
    world.nodes[0].ledger.holding(world.now, &mut keys);
    keys.pop().expect("an account that holds something")
}

/// What a look at the table tells the node, now.
fn sees(world: &World, key: &AccountKey, before: Option<Draws>) -> bool {
    let left = 1000 * world.left("acme", "rpm");
    let found = Found { left: HashMap::from([("rpm", left)]), out: HashMap::new() };
    world.nodes[0].ledger.seen(key, &found, before, world.now)
}

#[test]
fn a_look_counts_unless_something_is_on_its_way() {
    let mut world = World::new(1, "rpm=100/day");
    world.decide(0, "acme", &[("rpm", 1)]);
    let key = key(&world);
    let draws = |world: &World| world.nodes[0].ledger.draws(&key, world.now);
    let before = draws(&world);
    assert!(sees(&world, &key, Some(before)));

    // More than the node holds: a draw is wanted, then under way.
    world.nodes[0].acquire("acme", &[("rpm", 60)], true, world.now).unwrap();
    assert!(!sees(&world, &key, Some(before)), "it began after the look did");
    let during = draws(&world);
    world.decide(0, "acme", &[("rpm", 60)]);
    assert!(!sees(&world, &key, Some(before)), "it came and went meanwhile");
    assert!(!sees(&world, &key, Some(during)), "it went meanwhile");
    assert!(sees(&world, &key, Some(draws(&world))));
    assert!(sees(&world, &key, None), "better than nothing");
}
