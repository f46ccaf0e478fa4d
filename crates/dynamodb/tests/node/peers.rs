//! Numbers of nodes, and what is left of nodes that are gone.

use tidegate_dynamodb::layout::attribute::number;
use tidegate_dynamodb::layout::key::Key;
use tidegate_dynamodb::node::Claim;
use tidegate_dynamodb::{Freshness, Nsid};

use crate::world::{Tester, World, system};

#[test]
fn no_two_nodes_have_one_number() {
    let world = World::new();
    let claims = world.runtime.block_on(async {
        let now_ms = world.clock.now() / 1_000_000;
        let all = (0..6).map(|owner| {
            let table = world.table.clone();
            let owner = format!("owner-{owner}");
            tokio::spawn(async move { Claim::take(&table, &owner, now_ms).await.unwrap().number() })
        });
        let mut numbers = Vec::new();
        for claim in all.collect::<Vec<_>>() {
            numbers.push(claim.await.unwrap());
        }
        numbers
    });
    let mut numbers = claims;
    numbers.sort_unstable();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6]);
    let peers = world.runtime.block_on(world.table.peers()).unwrap();
    assert_eq!(peers.len(), 6);
}

#[test]
fn slots_of_a_node_that_is_gone_are_taken_over() {
    let world = World::new();
    world.set(&system(), &["rpm=1000000/day", "inflight=3"]);
    let crashed = world.node();
    for _ in 0..3 {
        assert!(world.runtime.block_on(crashed.lease("acme", &[("rpm", 1)])).unwrap().is_some());
    }
    crashed.crash();
    let other = world.node();
    assert!(world.runtime.block_on(other.lease("acme", &[("rpm", 1)])).unwrap().is_none());
    other.stop();
    // A while later.
    let key = Key::node(1);
    let mut item = world.runtime.block_on(world.table.get(&key, Freshness::Consistent)).unwrap().unwrap();
    item.insert("expires_at".into(), number(1));
    world.put(item);
    let third = world.node();
    world.until("its slots are taken over", || {
        world.runtime.block_on(third.lease("acme", &[("rpm", 1)])).unwrap().is_some()
    });
    assert_eq!(world.number("acme", "c_inflight_if"), 1);
    third.stop();
    assert_eq!(Nsid::reserved().as_str(), "_");
}

#[test]
fn a_node_that_comes_back_has_its_number_again_and_not_its_slots() {
    let world = World::new();
    world.set(&system(), &["inflight=3"]);
    let others = [world.node(), world.node()];
    let crashed = world.node_called("acme-1");
    assert!(world.runtime.block_on(crashed.lease("acme", &[])).unwrap().is_some());
    let before = crashed.handle.holder();
    crashed.crash();
    let again = world.node_called("acme-1");
    let after = again.handle.holder();
    assert_eq!((after.node, after.life), (before.node, before.life + 1));
    for _ in 0..3 {
        assert!(world.runtime.block_on(again.lease("acme", &[])).unwrap().is_some());
    }
    assert_eq!(world.number("acme", "c_inflight_if"), 3);
    others.into_iter().for_each(Tester::stop);
    again.stop();
}

#[test]
fn a_table_that_is_made_anew_is_used_again() {
    let world = World::with(|settings| (settings.timeout_ms, settings.attempts) = (500, 1));
    world.set(&system(), &["rpm=10/day"]);
    let node = world.node();
    for _ in 0..10 {
        assert!(world.acquire(&node, "acme", &[("rpm", 1)]).unwrap());
    }
    let world = world.made_anew();
    world.set(&system(), &["rpm=10/day"]);
    world.runtime.block_on(node.handle.beat());
    assert!(node.handle.is_available());
    world.until("the new bucket is drawn from", || {
        matches!(world.acquire(&node, "acme", &[("rpm", 1)]), Ok(true))
    });
    let peers = world.runtime.block_on(world.table.peers()).unwrap();
    assert_eq!(peers.iter().map(|peer| peer.number).collect::<Vec<_>>(), [node.handle.holder().node]);
    node.stop();
}

#[test]
fn a_node_whose_number_was_taken_draws_no_more() {
    let world = World::new();
    world.set(&system(), &["rpm=1000/day"]);
    let node = world.node();
    assert!(world.acquire(&node, "acme", &[("rpm", 1)]).unwrap());
    let key = Key::node(node.handle.holder().node);
    let mut item = world.runtime.block_on(world.table.get(&key, Freshness::Consistent)).unwrap().unwrap();
    item.insert("life".into(), number(2));
    world.put(item);
    world.runtime.block_on(node.handle.beat());
    assert!(!node.handle.is_available());
    assert!(world.acquire(&node, "other", &[("rpm", 1)]).is_err());
    drop(node);
}

#[test]
fn a_node_that_has_stopped_leaves_its_number_and_nothing_else() {
    let world = World::new();
    world.set(&system(), &["rpm=1000/day", "inflight=3"]);
    let node: Tester = world.node();
    let lease = world.runtime.block_on(node.lease("acme", &[("rpm", 1)])).unwrap().unwrap();
    let space = node.ledger.space("default").unwrap();
    node.ledger.release(space, lease, world.clock.now()).unwrap();
    node.stop();
    let item = world.bucket("acme").unwrap();
    assert!(!item.keys().any(|name| name.starts_with("c_inflight_h")), "{:?}", item.keys());
    assert_eq!((world.number("acme", "c_inflight_if"), world.number("acme", "b_rpm_tk") / 1000), (0, 1000));
    let peers = world.runtime.block_on(world.table.peers()).unwrap();
    assert!(peers[0].expires_ms <= world.clock.now() / 1_000_000);
}
