//! What is written down comes back the same.

use serde_json::json;
use tidegate_core::ledger::ChargeName;
use tidegate_ledger::{Edit, HeldAgain, Kept, MinuteFilter, Scope, Stated};

use crate::world::{MINUTE, SECOND, World, entity, resource};

/// The rows of a world's settings.
fn rows(world: &World) -> Vec<Kept> {
    let mut rows = Vec::new();
    for found in world.ledger.entities(world.space, None, usize::MAX) {
        let json = Some(serde_json::to_vec(&*found).unwrap());
        rows.push(Kept::Entity { space: "default".into(), id: found.id.clone().into_bytes(), json });
    }
    for (scope, settings) in world.ledger.scopes(world.space) {
        let json = Some(serde_json::to_vec(&*settings).unwrap());
        rows.push(Kept::Scope { space: "default".into(), key: scope.to_bytes(), json });
    }
    rows
}

fn drained(world: &World) -> Vec<Vec<u8>> {
    let mut records = Vec::new();
    world.ledger.drain(world.now, &mut |record| records.push(record.to_vec()));
    records
}

fn all(world: &World) -> Vec<Vec<u8>> {
    let mut records = Vec::new();
    world.ledger.read_all(world.now, &mut |record| records.push(record.to_vec()));
    records
}

/// Another ledger out of what was written down; settings before or after.
fn restarted(world: &World, records: &[Vec<u8>], settings_first: bool) -> World {
    let other = World { now: world.now, ..World::new() };
    if settings_first {
        other.ledger.apply(&rows(world), other.now).unwrap();
    }
    for record in records {
        assert!(other.ledger.restore(record, other.now));
    }
    if !settings_first {
        other.ledger.apply(&rows(world), other.now).unwrap();
    }
    other
}

fn busy() -> World {
    let mut world = World::new();
    world.create("org", json!({}));
    world.create("a", json!({"parent": "org", "cascade": true}));
    world.limit(resource("r"), &["tpm=100/minute", "inflight=3"]);
    let lease = world.granted("a", "r", &[("tpm", 60)]).lease.unwrap();
    world.ledger.settle(world.space, lease, &[("tpm", 130)], world.now).unwrap();
    world.granted("stranger", "r", &[("tpm", 10)]);
    world.now += 12 * SECOND;
    world
}

fn left(world: &World) -> Vec<i64> {
    let ids = ["a", "org", "stranger"];
    ids.iter().flat_map(|id| [world.left(id, "r", "tpm"), world.left(id, "r", "inflight")]).collect()
}

#[test]
fn levels_debts_leases_and_minutes_survive_a_restart() {
    for settings_first in [true, false] {
        let world = busy();
        let open = world.ledger.open_minutes(world.space, &MinuteFilter::default());
        assert_eq!(left(&world), [-10, 3, -10, 3, 100, 2]);
        for records in [all(&world), drained(&world)] {
            let mut other = restarted(&world, &records, settings_first);
            assert_eq!(left(&other), left(&world));
            assert_eq!(other.ledger.open_minutes(other.space, &MinuteFilter::default()), open);
            let leases = other.ledger.leases(other.space, None, None, 9);
            assert_eq!(leases, world.ledger.leases(world.space, None, None, 9));
            // The lease goes on, its id is not given again, and its slot comes back.
            assert!(other.granted("stranger", "r", &[("tpm", 0)]).lease.unwrap() > leases[0].id);
            other.ledger.settle(other.space, leases[0].id, &[], other.now).unwrap();
            other.now += MINUTE;
            assert_eq!(other.left("a", "r", "tpm"), 90);
        }
    }
}

#[test]
fn only_what_has_changed_is_drained_and_short_leases_leave_no_trace() {
    let world = busy();
    assert!(world.ledger.has_changed());
    assert_eq!(drained(&world).len(), 4);
    assert!(!world.ledger.has_changed());
    assert_eq!(drained(&world), Vec::<Vec<u8>>::new());
    let lease = world.granted("stranger", "r", &[("tpm", 1)]).lease.unwrap();
    world.ledger.settle(world.space, lease, &[], world.now).unwrap();
    // The account, and neither the lease nor its end.
    assert_eq!(drained(&world).len(), 1);
}

#[test]
fn a_log_of_drains_ends_where_the_world_does() {
    let mut world = busy();
    let mut log = drained(&world);
    let first = world.ledger.leases(world.space, None, None, 9)[0].id;
    world.ledger.extend(world.space, first, 5 * MINUTE, world.now).unwrap();
    world.ledger.adjust(world.space, first, &[("tpm", 7)], world.now).unwrap();
    log.extend(drained(&world));
    let second = world.granted("stranger", "r", &[("tpm", 20)]).lease.unwrap();
    log.extend(drained(&world));
    world.now += SECOND;
    world.ledger.release(world.space, second, world.now).unwrap();
    log.extend(drained(&world));
    let other = restarted(&world, &log, true);
    assert_eq!(left(&other), left(&world));
    let leases = other.ledger.leases(other.space, None, None, 9);
    assert_eq!(leases, world.ledger.leases(world.space, None, None, 9));
    assert_eq!(leases.len(), 1);
}

#[test]
fn a_rate_that_is_over_fills_nothing_after_a_restart() {
    for scope in [entity("a", "r"), resource("r"), Scope::System] {
        let mut world = World::new();
        world.limit(scope.clone(), &["tpm=10/s"]);
        world.granted("a", "r", &[("tpm", 10)]);
        let mut log = drained(&world);
        world.limit(scope.clone(), &["tpm=10/hour"]);
        log.extend(drained(&world));
        world.now += 5 * SECOND;
        let other = restarted(&world, &log, true);
        assert_eq!((world.left("a", "r", "tpm"), other.left("a", "r", "tpm")), (0, 0), "{scope:?}");
        // Nobody touches it: what is written down again is under the same terms.
        log.extend(drained(&other));
        world.now += 5 * SECOND;
        assert_eq!(restarted(&world, &log, true).left("a", "r", "tpm"), 0, "{scope:?}");
    }
}

#[test]
fn a_rate_that_is_over_fills_nothing_when_it_is_swept_or_read() {
    let mut world = World::new();
    world.limit(resource("r"), &["tpm=10/s"]);
    world.granted("a", "r", &[("tpm", 10)]);
    world.limit(resource("r"), &["tpm=10/hour"]);
    world.now += 5 * SECOND;
    world.ledger.sweep(world.now, 1_000);
    assert_eq!(restarted(&world, &all(&world), true).left("a", "r", "tpm"), 0);
    assert_eq!(world.left("a", "r", "tpm"), 0);
}

#[test]
fn slots_of_leases_come_back_whatever_the_order_of_records() {
    let world = busy();
    let mut records = drained(&world);
    records.reverse();
    let other = restarted(&world, &records, true);
    assert_eq!(left(&other), left(&world));
}

#[test]
fn throttle_keys_and_limits_of_calls_and_closings_come_back() {
    let world = World::new();
    world.limit(entity("k", "_default_"), &["rate=10/hour"]);
    world.ledger.decide_key(world.space, b"k", 4, world.now).unwrap();
    world.ledger.close_until(world.space, b"closed", "_default_", world.now + MINUTE, world.now).unwrap();
    let terms = ["n=5/hour".parse().unwrap()];
    let charges = [tidegate_ledger::Charge { entity: b"c", resource: "r", cost: &[("n", 4)] }];
    let request = tidegate_ledger::Acquire {
        terms: Some(&terms),
        ..tidegate_ledger::Acquire::new(world.space, &charges)
    };
    world.ledger.acquire(&request, world.now).unwrap();
    for records in [all(&world), drained(&world)] {
        let other = restarted(&world, &records, true);
        assert_eq!(other.ledger.keys(other.space, other.now), world.ledger.keys(world.space, world.now));
        let checked = other.ledger.check(&request, other.now).unwrap();
        assert_eq!((checked.granted, checked.statuses[0].available), (false, 1));
        // The lease's tokens go back to the call's own bucket.
        let lease = other.ledger.leases(other.space, None, None, 1)[0].id;
        other.ledger.release(other.space, lease, other.now).unwrap();
        assert_eq!(other.ledger.check(&request, other.now).unwrap().statuses[0].available, 5);
    }
}

#[test]
fn idempotency_keys_are_remembered_for_a_day() {
    let mut world = busy();
    let top_up = |world: &World| {
        let amounts = [("tpm", 5)];
        world.ledger.top_up(world.space, b"a", "r", &amounts, Some("k"), "me", world.now).unwrap()[0]
            .available
    };
    assert_eq!(top_up(&world), -5);
    for records in [drained(&world), all(&world)] {
        assert_eq!(top_up(&restarted(&world, &records, true)), -5);
    }
    world.now += 24 * 60 * MINUTE;
    let other = restarted(&world, &all(&world), true);
    let lease = other.granted("a", "r", &[("tpm", 50)]).lease.unwrap();
    other.ledger.settle(other.space, lease, &[], other.now).unwrap();
    assert_eq!(top_up(&other), 55);
}

#[test]
fn what_was_deleted_or_cleared_stays_so() {
    let world = busy();
    let mut log = drained(&world);
    world.edit(Edit::DeleteEntity { id: "a".into() }).unwrap();
    log.extend(drained(&world));
    let other = restarted(&world, &log, true);
    assert_eq!(other.left("a", "r", "tpm"), 100);
    world.ledger.clear_space(world.space);
    log.extend(drained(&world));
    let other = restarted(&world, &log, true);
    assert_eq!((other.ledger.stats().accounts, other.ledger.stats().leases), (0, 0));
}

#[test]
fn what_is_no_record_is_told() {
    let world = busy();
    let other = World::new();
    for record in drained(&world) {
        for end in 0..record.len() {
            // Never a panic; a cut between two limits reads as fewer of them.
            other.ledger.restore(&record[..end], other.now);
        }
    }
    for bytes in [&b""[..], b"X", b"A", b"L\xff", b"D\x01x", b"G"] {
        assert!(!other.ledger.restore(bytes, other.now), "{bytes:?}");
    }
}

#[test]
fn deliveries_hold_their_slots_again() {
    let world = busy();
    let name = tidegate_core::ledger::charge::encode(b"a", "r", "tpm");
    let charge = world.ledger.queue_charge(world.space, tidegate_core::ledger::charge::parse(&name)).unwrap();
    assert!(matches!(tidegate_core::ledger::charge::parse(&name), ChargeName::Entity { .. }));
    let other = restarted(&world, &all(&world), true);
    let stated = [Stated { name: &charge, amount: 1 }];
    let charge = other.ledger.queue_charge(other.space, tidegate_core::ledger::charge::parse(&name)).unwrap();
    let again = [Stated { name: &charge, ..stated[0] }];
    let HeldAgain::Now(grant) = other.ledger.hold_again(&again, other.now) else { panic!("all is known") };
    assert_eq!(other.left("org", "r", "inflight"), 2);
    other.ledger.keep_grant(grant, other.now);
    assert_eq!(left(&other), left(&world));
}
