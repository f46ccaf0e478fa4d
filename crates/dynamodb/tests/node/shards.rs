//! Buckets that other clients have split into several items.

use tidegate_dynamodb::layout::attribute::{Item, number, number_of, text};
use tidegate_dynamodb::layout::key::Key;
use tidegate_dynamodb::{Freshness, Nsid};

use crate::world::{RESOURCE, Tester, World, system};

fn shard(ns: &Nsid, item: &Item, shard: u32, tokens: i64) -> Item {
    let mut item = item.clone();
    let key = Key::bucket(ns, b"acme", RESOURCE, shard);
    item.insert("PK".into(), text(key.pk));
    item.insert("shard_count".into(), number(2));
    item.insert("b_rpm_tk".into(), number(tokens));
    item.insert("GSI2SK".into(), text(format!("BUCKET#acme#{shard}")));
    item.insert("GSI3SK".into(), text(format!("BUCKET#{RESOURCE}#{shard}")));
    item.insert("GSI4SK".into(), text(format!("BUCKET#acme#{RESOURCE}#{shard}")));
    item
}

#[test]
fn all_items_of_a_split_bucket_are_drawn_from_and_no_more_than_their_shares() {
    for second in [Some(30_000), None] {
        let world = World::new();
        world.set(&system(), &["rpm=100/day"]);
        let node = world.node();
        assert!(world.acquire(&node, "acme", &[("rpm", 1)]).unwrap());
        node.stop();
        let item = world.bucket("acme").unwrap();
        world.put(shard(&world.ns, &item, 0, 20_000));
        if let Some(tokens) = second {
            world.put(shard(&world.ns, &item, 1, tokens));
        }
        let node = world.node();
        // An item that is missing is made with its share: a half.
        let most = 20 + second.map_or(50, |tokens| tokens as u64 / 1000);
        let drawn = || node.handle.counters().drawn.load(std::sync::atomic::Ordering::Relaxed);
        // What the first item cannot pay comes from the other at once: nobody is denied before both are empty.
        let passed =
            (0..).take_while(|_| world.acquire(&node, "acme", &[("rpm", 1)]).unwrap()).count() as u64;
        assert!(passed + 2 >= most && passed <= most, "{passed} of {most}");
        assert!(drawn() <= most, "{} of {most}", drawn());
        node.stop();
        let second = Key::bucket(&world.ns, b"acme", RESOURCE, 1);
        let second =
            world.runtime.block_on(world.table.get(&second, Freshness::Consistent)).unwrap().unwrap();
        assert_eq!(number_of::<i64>(&second, "shard_count"), Some(2));
        assert_eq!(number_of::<i64>(&second, "b_rpm_cp"), Some(100_000));
    }
}

#[test]
fn slots_of_a_split_bucket_are_counted_once() {
    let world = World::new();
    world.set(&system(), &["rpm=100/day", "inflight=2"]);
    let node = world.node();
    assert!(world.runtime.block_on(node.lease("acme", &[("rpm", 1)])).unwrap().is_some());
    node.stop();
    let mut item = world.bucket("acme").unwrap();
    item.retain(|name, _| !name.starts_with("c_"));
    world.put(shard(&world.ns, &item, 0, 0));
    world.put(shard(&world.ns, &item, 1, 50_000));
    let nodes = [world.node(), world.node()];
    let lease = |at: usize| world.runtime.block_on(nodes[at].lease("acme", &[("rpm", 1)])).unwrap();
    let leases: Vec<_> = [0, 1, 0, 1].into_iter().filter_map(lease).collect();
    assert_eq!(leases.len(), 2);
    assert_eq!(world.number("acme", "c_inflight_if"), 2);
    nodes.into_iter().for_each(Tester::stop);
}
