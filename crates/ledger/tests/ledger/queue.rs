//! The queue door: taken at delivery, from the same buckets as an acquire.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use tidegate_core::bucket::Ready;
use tidegate_core::ledger::{ChargeName, charge};
use tidegate_ledger::{
    Acquire, Acquired, BucketName, Charge, HeldAgain, LeaseTerms, QueueCharge, Refused, Stated,
};

use crate::world::{SECOND, World, entity, resource};

fn of(world: &World, entity: &str, resource: &str, limit: &str) -> QueueCharge {
    let name = charge::encode(entity.as_bytes(), resource, limit);
    world.ledger.queue_charge(world.space, charge::parse(&name)).unwrap()
}

fn key(world: &World, key: &str) -> QueueCharge {
    world.ledger.queue_charge(world.space, ChargeName::Key(key.as_bytes())).unwrap()
}

fn world() -> World {
    let world = World::new();
    world.create("org", json!({}));
    world.create("a", json!({"parent": "org", "cascade": true}));
    world.limit(resource("r"), &["rpm=10/minute", "tpm=100/minute", "inflight=2"]);
    world
}

fn names(world: &World, buckets: &[BucketName]) -> Vec<String> {
    let name =
        |at: &BucketName| format!("{}/{}", String::from_utf8_lossy(&at.entity), world.ledger.word(at.limit));
    buckets.iter().map(name).collect()
}

#[test]
fn a_delivery_draws_on_what_an_acquire_does_and_is_settled_by_its_ack() {
    let world = world();
    let (rpm, tpm) = (of(&world, "a", "r", "rpm"), of(&world, "a", "r", "tpm"));
    let stated = [Stated { name: &rpm, amount: 1 }, Stated { name: &tpm, amount: 60 }];
    let grant = world.ledger.take(&stated, world.now).unwrap();
    assert_eq!(world.left("a", "r", "inflight"), 1);
    assert_eq!([world.left("a", "r", "tpm"), world.left("org", "r", "tpm")], [40, 40]);
    world.denied("a", "r", &[("tpm", 41)]);
    assert_eq!(world.ledger.grant_statuses(&grant, world.now).len(), 6);
    world.ledger.settle_grant(grant, &[("tpm", 80), ("unknown", 4)], world.now);
    assert_eq!([world.left("a", "r", "tpm"), world.left("org", "r", "tpm")], [20, 20]);
    assert_eq!([world.left("a", "r", "rpm"), world.left("a", "r", "inflight")], [9, 2]);
    let grant = world.ledger.take(&[Stated { name: &tpm, amount: 20 }], world.now).unwrap();
    world.ledger.release_grant(grant, world.now);
    let grant = world.ledger.take(&[Stated { name: &tpm, amount: 20 }], world.now).unwrap();
    world.ledger.keep_grant(grant, world.now);
    assert_eq!([world.left("a", "r", "tpm"), world.left("a", "r", "inflight")], [0, 2]);
}

#[test]
fn what_is_short_is_told_and_posted_once_when_something_comes_back() {
    let world = world();
    let woken = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&woken);
    world.ledger.on_freed(Box::new(move || {
        counter.fetch_add(1, Ordering::Relaxed);
    }));
    let tpm = of(&world, "a", "r", "tpm");
    let stated = [Stated { name: &tpm, amount: 1 }];
    let leases: Vec<_> = (0..2).map(|_| world.granted("org", "r", &[("tpm", 1)]).lease.unwrap()).collect();
    let short = world.ledger.take(&stated, world.now).unwrap_err();
    assert_eq!(
        (names(&world, std::slice::from_ref(&short.bucket)), short.ready),
        (vec!["org/inflight".into()], Ready::Pending)
    );
    let mut freed = Vec::new();
    world.ledger.take_freed(&mut freed);
    assert_eq!(freed, []);
    leases.iter().for_each(|lease| world.ledger.release(world.space, *lease, world.now).unwrap());
    world.ledger.take_freed(&mut freed);
    assert_eq!((freed, woken.load(Ordering::Relaxed)), (vec![short.bucket], 1));
    world.ledger.keep_grant(world.ledger.take(&stated, world.now).unwrap(), world.now);
}

#[test]
fn who_waits_for_several_slots_hears_of_them_whoever_took_one_meanwhile() {
    let world = world();
    world.limit(entity("b", "r"), &["inflight=3"]);
    let slots = of(&world, "b", "r", "inflight");
    let take = |amount| world.ledger.take(&[Stated { name: &slots, amount }], world.now);
    let one = take(1).unwrap();
    let short = take(3).unwrap_err();
    assert_eq!(short.ready, Ready::Pending);
    let another = take(1).unwrap();
    let mut freed = Vec::new();
    world.ledger.keep_grant(another, world.now);
    world.ledger.take_freed(&mut freed);
    assert_eq!(freed, [short.bucket]);
    let short = take(3).unwrap_err();
    world.ledger.keep_grant(one, world.now);
    freed.clear();
    world.ledger.take_freed(&mut freed);
    assert_eq!(freed, [short.bucket]);
    assert!(take(3).is_ok());
}

#[test]
fn whoever_is_in_line_passes_nobody_who_waits() {
    let mut world = world();
    let tpm = of(&world, "a", "r", "tpm");
    world.granted("a", "r", &[("tpm", 50)]);
    let short = world.ledger.take(&[Stated { name: &tpm, amount: 60 }], world.now).unwrap_err();
    let charges = [Charge { entity: b"a", resource: "r", cost: &[("tpm", 1)] }];
    let in_line = Acquire { in_line: true, ..Acquire::new(world.space, &charges) };
    assert!(matches!(world.ledger.acquire(&in_line, world.now), Ok(Acquired::Denied(_))));
    world.granted("a", "r", &[("tpm", 1)]);
    world.now += 60 * SECOND;
    world.ledger.expire(world.now, 10);
    world
        .ledger
        .keep_grant(world.ledger.take(&[Stated { name: &tpm, amount: 60 }], world.now).unwrap(), world.now);
    assert!(matches!(world.ledger.acquire(&in_line, world.now), Ok(Acquired::Granted(_))));
    world.ledger.watch(&short.bucket);
    assert!(matches!(world.ledger.acquire(&in_line, world.now), Ok(Acquired::Denied(_))));
    world.ledger.unwatch(&short.bucket);
    assert!(matches!(world.ledger.acquire(&in_line, world.now), Ok(Acquired::Granted(_))));
}

#[test]
fn every_change_that_may_matter_posts_what_is_watched() {
    let world = world();
    let tpm = of(&world, "a", "r", "tpm");
    let changes: [&dyn Fn(); 6] = [
        &|| world.limit(resource("r"), &["tpm=100/minute"]),
        &|| world.limit(entity("a", "r"), &["tpm=100/minute"]),
        &|| world.set(entity("org", "_default_"), json!({"mode": "bypass"})),
        &|| {
            assert!(world.ledger.top_up(world.space, b"a", "r", &[("tpm", 1)], None, "me", world.now).is_ok())
        },
        &|| assert!(world.ledger.close_until(world.space, b"a", "r", world.now + 1, world.now).is_ok()),
        &|| world.edit(tidegate_ledger::Edit::MoveEntity { id: "a".into(), parent: None }).unwrap(),
    ];
    for (at, change) in changes.iter().enumerate() {
        world.ledger.watch(&tpm.bucket);
        let shape = world.ledger.shape();
        change();
        let mut freed = Vec::new();
        world.ledger.take_freed(&mut freed);
        assert_eq!(freed, std::slice::from_ref(&tpm.bucket), "change {at}");
        assert_eq!(world.ledger.shape() != shape, ![3, 4].contains(&at), "change {at}");
    }
}

#[test]
fn a_disabled_scope_parks_and_enabling_it_posts() {
    let world = world();
    world.set(entity("org", "_default_"), json!({"mode": "disabled"}));
    let tpm = of(&world, "a", "r", "tpm");
    let stated = [Stated { name: &tpm, amount: 1 }];
    world.ledger.judge(&stated, world.now).unwrap();
    let short = world.ledger.take(&stated, world.now).unwrap_err();
    assert_eq!((short.bucket, short.ready), (tpm.bucket.clone(), Ready::Pending));
    world.set(entity("org", "_default_"), json!({"mode": null}));
    let mut freed = Vec::new();
    world.ledger.take_freed(&mut freed);
    assert_eq!(freed, std::slice::from_ref(&tpm.bucket));
    world.ledger.release_grant(world.ledger.take(&stated, world.now).unwrap(), world.now);
}

#[test]
fn throttle_keys_pass_unless_they_are_limited_or_closed_and_are_spent_for_good() {
    let mut world = world();
    let name = key(&world, "k");
    let stated = [Stated { name: &name, amount: 1 }];
    assert!(world.ledger.take(&stated, world.now).unwrap().is_empty());
    world.limit(entity("k", "_default_"), &["rate=1/second", "inflight=1"]);
    let grant = world.ledger.take(&stated, world.now).unwrap();
    assert!(grant.is_empty());
    world.ledger.release_grant(grant, world.now);
    let short = world.ledger.take(&stated, world.now).unwrap_err();
    assert_eq!((short.bucket, short.ready), (name.bucket.clone(), Ready::At(world.now + SECOND)));
    assert_eq!(world.ledger.involved(&stated), []);
    let closed = key(&world, "closed");
    world.ledger.close_until(world.space, b"closed", "_default_", world.now + 5, world.now).unwrap();
    let stated = [Stated { name: &closed, amount: 1 }];
    assert_eq!(world.ledger.take(&stated, world.now).unwrap_err().ready, Ready::At(world.now + 5));
    world.now += 5;
    assert!(world.ledger.take(&stated, world.now).unwrap().is_empty());
}

#[test]
fn judging_refuses_what_can_never_go() {
    let world = world();
    let judge = |name: &QueueCharge, amount| world.ledger.judge(&[Stated { name, amount }], world.now);
    assert!(matches!(judge(&of(&world, "a", "r", "tpd"), 1), Err(Refused::UnknownLimit { .. })));
    assert!(matches!(judge(&of(&world, "a", "elsewhere", "tpm"), 1), Err(Refused::NoLimits { .. })));
    assert!(matches!(judge(&of(&world, "a", "r", "tpm"), 101), Err(Refused::NeverPasses { .. })));
    assert_eq!(judge(&of(&world, "a", "r", "tpm"), 100), Ok(()));
    assert_eq!(judge(&key(&world, "k"), 1 << 40), Ok(()));
    world.limit(entity("k", "_default_"), &["rate=1/second"]);
    assert!(matches!(judge(&key(&world, "k"), 2), Err(Refused::NeverPasses { .. })));
    // A limit that has gone since lets the message pass.
    let tpm = of(&world, "a", "r", "tpm");
    world.edit(tidegate_ledger::Edit::RemoveScope { scope: resource("r") }).unwrap();
    assert!(world.ledger.take(&[Stated { name: &tpm, amount: 5 }], world.now).unwrap().is_empty());
}

#[test]
fn parents_and_caps_are_involved() {
    let world = world();
    world.limit(entity("org", "r"), &["tpm=1000/minute", "all=7"]);
    let (rpm, tpm) = (of(&world, "a", "r", "rpm"), of(&world, "a", "r", "tpm"));
    let stated = [Stated { name: &rpm, amount: 1 }, Stated { name: &tpm, amount: 60 }];
    let involved = world.ledger.involved(&stated);
    let from: Vec<_> = involved.iter().map(|at| at.from).collect();
    let buckets: Vec<_> = involved.into_iter().map(|at| at.bucket).collect();
    let told: Vec<_> = names(&world, &buckets).into_iter().zip(from).collect();
    let expected = [("a/inflight", None), ("org/all", None), ("org/tpm", Some(1))];
    assert_eq!(told, expected.map(|(name, from)| (name.to_string(), from)));
}

#[test]
fn a_grant_can_become_a_lease_and_be_held_again_after_a_restart() {
    let world = world();
    let tpm = of(&world, "a", "r", "tpm");
    let stated = [Stated { name: &tpm, amount: 60 }];
    let grant = world.ledger.take(&stated, world.now).unwrap();
    let (lease, expires_at) =
        world.ledger.lease_grant(world.space, grant, LeaseTerms::default(), world.now).unwrap();
    assert_eq!(expires_at, world.now + 60 * SECOND);
    world.ledger.settle(world.space, lease, &[("tpm", 10)], world.now).unwrap();
    assert_eq!([world.left("a", "r", "tpm"), world.left("a", "r", "inflight")], [90, 2]);

    let grants = (0..3).map(|_| match world.ledger.hold_again(&stated, world.now) {
        HeldAgain::Now(grant) => grant,
        HeldAgain::Later(_) => panic!("all is known"),
    });
    let grants: Vec<_> = grants.collect();
    assert_eq!([world.left("a", "r", "tpm"), world.left("a", "r", "inflight")], [90, -1]);
    grants.into_iter().for_each(|grant| world.ledger.settle_grant(grant, &[("tpm", 60)], world.now));
    assert_eq!([world.left("a", "r", "tpm"), world.left("a", "r", "inflight")], [90, 2]);
}
