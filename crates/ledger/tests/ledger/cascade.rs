//! Parents are charged, too, when something says so.

use serde_json::json;
use tidegate_ledger::{Acquired, Edit, Refused};

use crate::world::{World, entity, resource};

/// org > team > key, all cascading.
fn tree() -> World {
    let world = World::new();
    world.create("org", json!({}));
    world.create("team", json!({"parent": "org", "cascade": true}));
    world.create("key", json!({"parent": "team", "cascade": true}));
    world.limit(resource("gpt-4"), &["tpm=100/minute"]);
    world
}

#[test]
fn every_parent_pays_and_the_tightest_decides() {
    let world = tree();
    world.limit(entity("org", "gpt-4"), &["tpm=50/minute"]);
    let granted = world.granted("key", "gpt-4", &[("tpm", 30)]);
    let told: Vec<_> = granted.statuses.iter().map(|at| (at.entity.to_vec(), at.available)).collect();
    assert_eq!(told, [(b"key".to_vec(), 70), (b"team".to_vec(), 70), (b"org".to_vec(), 20)]);
    let denied = world.denied("key", "gpt-4", &[("tpm", 30)]);
    assert_eq!(&*denied.bucket.entity, b"org");
    // Nothing of it was taken anywhere.
    assert_eq!([world.left("key", "gpt-4", "tpm"), world.left("team", "gpt-4", "tpm")], [70, 70]);
    // A cost that a parent could never pay is refused in its name.
    assert!(
        matches!(world.refused("key", "gpt-4", &[("tpm", 51)]), Refused::NeverPasses { entity, .. } if entity == "org")
    );
}

#[test]
fn the_first_that_says_decides_whether_it_cascades() {
    let world = tree();
    let parents_paid = || {
        let before = world.left("team", "gpt-4", "tpm");
        world.granted("key", "gpt-4", &[("tpm", 1)]);
        before - world.left("team", "gpt-4", "tpm")
    };
    assert_eq!(parents_paid(), 1);
    world.set(resource("gpt-4"), json!({"cascade": false}));
    assert_eq!(parents_paid(), 0);
    world.set(entity("key", "_default_"), json!({"cascade": true}));
    assert_eq!(parents_paid(), 1);
    world.set(entity("key", "gpt-4"), json!({"cascade": false}));
    assert_eq!(parents_paid(), 0);
}

#[test]
fn a_parent_pays_only_limits_that_it_has() {
    let world = tree();
    world.limit(resource("gpt-4"), &["tpm=100/minute", "rpm=10/minute"]);
    world.limit(entity("team", "gpt-4"), &["rpm=5/minute", "other=1/minute"]);
    let granted = world.granted("key", "gpt-4", &[("tpm", 10), ("rpm", 1)]);
    let of_team = granted.statuses.iter().filter(|status| &*status.entity == b"team");
    assert_eq!(of_team.map(|status| &*status.limit).collect::<Vec<_>>(), ["rpm"]);
}

#[test]
fn a_disabled_parent_refuses_and_a_bypassed_one_counts() {
    let world = tree();
    world.set(entity("org", "_default_"), json!({"mode": "disabled"}));
    assert!(
        matches!(world.refused("key", "gpt-4", &[("tpm", 1)]), Refused::Disabled { entity, .. } if entity == "org")
    );
    world.set(entity("org", "_default_"), json!({"mode": "bypass"}));
    assert!(world.granted("key", "gpt-4", &[("tpm", 1)]).bypassed);
    let left = ["key", "team", "org"].map(|id| world.left(id, "gpt-4", "tpm"));
    assert_eq!(left, [99, 99, 100]);
}

#[test]
fn a_move_acts_at_once() {
    let world = tree();
    world.create("other", json!({}));
    world.granted("key", "gpt-4", &[("tpm", 1)]);
    world.edit(Edit::MoveEntity { id: "key".into(), parent: Some("other".into()) }).unwrap();
    world.granted("key", "gpt-4", &[("tpm", 1)]);
    let left = ["key", "team", "other"].map(|id| world.left(id, "gpt-4", "tpm"));
    assert_eq!(left, [98, 99, 99]);
}

#[test]
fn settling_settles_parents_for_each_charge() {
    let world = tree();
    world.create("key2", json!({"parent": "team", "cascade": true}));
    let charges = [
        tidegate_ledger::Charge { entity: b"key", resource: "gpt-4", cost: &[("tpm", 10)] },
        tidegate_ledger::Charge { entity: b"key2", resource: "gpt-4", cost: &[("tpm", 10)] },
    ];
    let request = tidegate_ledger::Acquire::new(world.space, &charges);
    let Ok(Acquired::Granted(granted)) = world.ledger.acquire(&request, world.now) else { panic!() };
    assert_eq!(world.left("team", "gpt-4", "tpm"), 80);
    world.ledger.settle(world.space, granted.lease.unwrap(), &[("tpm", 3)], world.now).unwrap();
    let left = ["key", "key2", "team", "org"].map(|id| world.left(id, "gpt-4", "tpm"));
    assert_eq!(left, [97, 97, 94, 94]);
}
