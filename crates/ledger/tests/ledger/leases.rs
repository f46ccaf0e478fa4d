//! Leases: adjusted, settled, released, extended, expired.

use serde_json::json;
use tidegate_ledger::{Acquire, Acquired, Charge, LeaseId, LeaseTerms, OnExpiry, Refused, Scope};

use crate::world::{MINUTE, SECOND, World, resource};

fn world() -> World {
    let world = World::new();
    world.limit(resource("gpt-4"), &["tpm=1000/hour", "rpm=100/hour"]);
    world
}

#[test]
fn adjust_goes_into_debt_and_gives_back_no_more_than_is_held() {
    let world = world();
    let lease = world.granted("acme", "gpt-4", &[("tpm", 100)]).lease.unwrap();
    let adjust = |delta| world.ledger.adjust(world.space, lease, &[("tpm", delta)], world.now);
    adjust(1000).unwrap();
    assert_eq!(world.left("acme", "gpt-4", "tpm"), -100);
    adjust(-5000).unwrap();
    assert_eq!(world.left("acme", "gpt-4", "tpm"), 1000);
    adjust(10).unwrap();
    let view = world.ledger.lease(world.space, lease).unwrap();
    assert_eq!((view.held.len(), view.held[0].amount), (1, 10));
    let refused = world.ledger.adjust(world.space, lease, &[("rpm", 1)], world.now).unwrap_err();
    assert_eq!(refused.to_string(), format!("lease {lease} has no `rpm`; it has `tpm`"));
}

#[test]
fn settle_takes_the_real_cost_and_ends_it() {
    let world = world();
    let lease = world.granted("acme", "gpt-4", &[("tpm", 100), ("rpm", 1)]).lease.unwrap();
    world.ledger.settle(world.space, lease, &[("tpm", 40)], world.now).unwrap();
    assert_eq!((world.left("acme", "gpt-4", "tpm"), world.left("acme", "gpt-4", "rpm")), (960, 99));
    let again = world.ledger.settle(world.space, lease, &[], world.now);
    assert_eq!(again, Err(Refused::LeaseNotFound(lease)));
    assert_eq!(world.ledger.release(world.space, lease, world.now), Err(Refused::LeaseNotFound(lease)));
    assert_eq!(world.ledger.stats().leases, 0);
}

#[test]
fn a_name_that_the_lease_has_not_ends_nothing() {
    let world = world();
    let lease = world.granted("acme", "gpt-4", &[("tpm", 100)]).lease.unwrap();
    assert!(matches!(
        world.ledger.settle(world.space, lease, &[("x", 1)], world.now),
        Err(Refused::NotLeased { .. })
    ));
    world.ledger.release(world.space, lease, world.now).unwrap();
    assert_eq!(world.left("acme", "gpt-4", "tpm"), 1000);
}

#[test]
fn a_lease_is_of_its_namespace() {
    let world = world();
    let other = world.ledger.space("other").unwrap();
    let lease = world.granted("acme", "gpt-4", &[("tpm", 100)]).lease.unwrap();
    assert_eq!(world.ledger.release(other, lease, world.now), Err(Refused::LeaseNotFound(lease)));
    assert_eq!(world.ledger.extend(other, lease, SECOND, world.now), Err(Refused::LeaseNotFound(lease)));
    assert!(world.ledger.lease(other, lease).is_none());
}

#[test]
fn an_expired_lease_keeps_or_gives_back_as_told() {
    let mut world = world();
    let acquire = |world: &World, on_expiry, ttl_ns| {
        let charges = [Charge { entity: b"acme", resource: "gpt-4", cost: &[("tpm", 100)] }];
        let lease = Some(LeaseTerms { ttl_ns: Some(ttl_ns), on_expiry });
        let request = Acquire { lease, ..Acquire::new(world.space, &charges) };
        match world.ledger.acquire(&request, world.now) {
            Ok(Acquired::Granted(granted)) => granted.lease.unwrap(),
            other => panic!("{other:?}"),
        }
    };
    acquire(&world, None, 10);
    acquire(&world, Some(OnExpiry::GiveBack), 20);
    world.set(Scope::System, json!({"on_expiry": "give_back", "lease_ttl_ms": 5}));
    acquire(&world, None, 30);
    acquire(&world, Some(OnExpiry::Keep), 40);
    assert_eq!(world.granted("acme", "gpt-4", &[("tpm", 1)]).expires_at, world.now + 5_000_000);
    let (start, mut left) = (world.now, Vec::new());
    for at in [9, 10, 20, 30, 40] {
        assert!(world.ledger.next_expiry() <= Some(start + at) || at == 9);
        world.now = start + at;
        world.ledger.expire(world.now, 10);
        left.push(world.left("acme", "gpt-4", "tpm"));
    }
    assert_eq!(left, [599, 599, 699, 799, 799]);
    world.now = start + 5_000_000;
    assert_eq!((world.ledger.expire(world.now, 10), world.ledger.next_expiry()), (1, None));
}

#[test]
fn an_extended_lease_expires_later_or_sooner() {
    let mut world = world();
    let lease = world.granted("acme", "gpt-4", &[("tpm", 100)]).lease.unwrap();
    assert_eq!(world.ledger.extend(world.space, lease, 5 * MINUTE, world.now), Ok(world.now + 5 * MINUTE));
    assert_eq!(world.ledger.expire(world.now + 2 * MINUTE, 10), 0);
    assert_eq!(world.ledger.extend(world.space, lease, SECOND, world.now), Ok(world.now + SECOND));
    world.now += SECOND;
    assert_eq!(world.ledger.next_expiry(), Some(world.now));
    assert_eq!(world.ledger.expire(world.now, 10), 1);
    let refused = world.ledger.extend(world.space, lease, 25 * 60 * MINUTE, world.now);
    assert_eq!(refused, Err(Refused::InvalidTtl { max_ms: 24 * 3_600_000 }));
}

#[test]
fn leases_are_listed_in_order() {
    let world = world();
    let ids: Vec<LeaseId> = (0..30)
        .map(|n| {
            world.granted(if n % 3 == 0 { "acme" } else { "beta" }, "gpt-4", &[("tpm", 1)]).lease.unwrap()
        })
        .collect();
    assert!(ids.is_sorted());
    let list = |entity, after, max| {
        let leases = world.ledger.leases(world.space, entity, after, max);
        leases.into_iter().map(|lease| lease.id).collect::<Vec<_>>()
    };
    assert_eq!(list(None, None, 100), ids);
    assert_eq!(list(None, Some(ids[9]), 5), ids[10..15]);
    assert_eq!(list(Some(&b"acme"[..]), None, 100).len(), 10);
}

#[test]
fn expiry_keeps_up_with_leases_that_end_early() {
    let mut world = world();
    world.limit(resource("gpt-4"), &["tpm=1000000/second"]);
    for _ in 0..20_000 {
        let lease = world.granted("acme", "gpt-4", &[("tpm", 1)]).lease.unwrap();
        world.ledger.settle(world.space, lease, &[], world.now).unwrap();
        world.now += 1000;
    }
    let last = world.granted("acme", "gpt-4", &[("tpm", 1)]);
    assert_eq!(world.ledger.expire(last.expires_at - 1, 1_000_000), 0);
    assert_eq!(world.ledger.expire(last.expires_at, 1_000_000), 1);
}
