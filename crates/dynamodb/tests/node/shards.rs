//! Buckets that other clients have split into several items.

use tidegate_dynamodb::layout::attribute::{Item, number, number_of, text};
use tidegate_dynamodb::layout::key::Key;
use tidegate_dynamodb::{Freshness, Nsid};

use crate::world::{RESOURCE, World, system};

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
        // A draw finds what one item has; more is found by asking again, and a denial is remembered for a while. More than the
        // first item has comes from the other.
        world.until("the other item is drawn from, too", || {
            world.acquire(&node, "acme", &[("rpm", 1)]).unwrap();
            drawn() * 2 >= most
        });
        assert!(drawn() <= most, "{} of {most}", drawn());
        node.stop();
        let second = Key::bucket(&world.ns, b"acme", RESOURCE, 1);
        let second =
            world.runtime.block_on(world.table.get(&second, Freshness::Consistent)).unwrap().unwrap();
        assert_eq!(number_of::<i64>(&second, "shard_count"), Some(2));
        assert_eq!(number_of::<i64>(&second, "b_rpm_cp"), Some(100_000));
    }
}
