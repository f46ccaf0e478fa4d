//! Caps: held until the end, whatever the end.

use serde_json::json;
use tidegate_core::bucket::Ready;
use tidegate_ledger::{Acquire, Charge, Refused};

use crate::world::{SECOND, World, entity, resource};

fn capped() -> World {
    let world = World::new();
    world.limit(resource("gpt-4"), &["tpm=1000/minute", "inflight=2"]);
    world
}

#[test]
fn a_cap_is_taken_unasked_and_comes_back_however_the_lease_ends() {
    let mut world = capped();
    type End<'a> = &'a dyn Fn(&World, tidegate_ledger::LeaseId);
    let ends: [End<'_>; 3] = [
        &|world, lease| world.ledger.settle(world.space, lease, &[("tpm", 5)], world.now).unwrap(),
        &|world, lease| world.ledger.release(world.space, lease, world.now).unwrap(),
        &|world, _| assert_eq!(world.ledger.expire(world.now + 60 * SECOND, 10), 1),
    ];
    for end in ends {
        let first = world.granted("acme", "gpt-4", &[("tpm", 1)]);
        let second = world.granted("acme", "gpt-4", &[("tpm", 1), ("inflight", 1)]);
        assert_eq!(world.denied("acme", "gpt-4", &[("tpm", 1)]).ready, Ready::Pending);
        world.ledger.release(world.space, first.lease.unwrap(), world.now).unwrap();
        end(&world, second.lease.unwrap());
        assert_eq!(world.left("acme", "gpt-4", "inflight"), 2);
    }
    world.now += SECOND;
    assert!(matches!(world.refused("acme", "gpt-4", &[("inflight", 3)]), Refused::NeverPasses { .. }));
}

#[test]
fn a_cap_takes_a_lease() {
    let world = capped();
    let charges = [Charge { entity: b"acme", resource: "gpt-4", cost: &[("tpm", 1)] }];
    let request = Acquire { lease: None, ..Acquire::new(world.space, &charges) };
    let refused = world.ledger.acquire(&request, world.now).unwrap_err();
    assert!(matches!(refused, Refused::LeaseRequired { limit, .. } if limit == "inflight"));
}

#[test]
fn a_parents_cap_holds_over_its_children_and_a_lease_is_one_in_flight() {
    let world = capped();
    world.create("org", json!({}));
    world.create("a", json!({"parent": "org", "cascade": true}));
    world.create("b", json!({"parent": "org", "cascade": true}));
    world.limit(entity("org", "gpt-4"), &["inflight=3"]);
    let charges =
        ["a", "b"].map(|id| Charge { entity: id.as_bytes(), resource: "gpt-4", cost: &[("tpm", 1)] });
    world.ledger.acquire(&Acquire::new(world.space, &charges), world.now).unwrap();
    assert_eq!(["a", "b", "org"].map(|id| world.left(id, "gpt-4", "inflight")), [1, 1, 2]);
    world.granted("a", "gpt-4", &[("tpm", 1)]);
    world.granted("b", "gpt-4", &[("tpm", 1)]);
    assert_eq!(world.left("org", "gpt-4", "inflight"), 0);
}

#[test]
fn slots_outlive_a_cap_that_goes_and_comes() {
    let world = capped();
    let lease = world.granted("acme", "gpt-4", &[("tpm", 1), ("inflight", 2)]).lease.unwrap();
    world.limit(resource("gpt-4"), &["tpm=1000/minute"]);
    world.granted("acme", "gpt-4", &[("tpm", 1)]);
    world.limit(resource("gpt-4"), &["tpm=1000/minute", "inflight=4"]);
    assert_eq!(world.left("acme", "gpt-4", "inflight"), 2);
    world.ledger.release(world.space, lease, world.now).unwrap();
    assert_eq!(world.left("acme", "gpt-4", "inflight"), 4);
}

#[test]
fn a_lowered_cap_lets_nobody_in_until_enough_have_left() {
    let world = capped();
    let leases: Vec<_> =
        (0..2).map(|_| world.granted("acme", "gpt-4", &[("tpm", 1)]).lease.unwrap()).collect();
    world.limit(resource("gpt-4"), &["tpm=1000/minute", "inflight=1"]);
    assert_eq!(world.left("acme", "gpt-4", "inflight"), -1);
    world.ledger.release(world.space, leases[0], world.now).unwrap();
    world.denied("acme", "gpt-4", &[("tpm", 1)]);
    world.ledger.release(world.space, leases[1], world.now).unwrap();
    world.granted("acme", "gpt-4", &[("tpm", 1)]);
}
