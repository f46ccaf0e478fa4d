//! Usage: net amounts and grants, minute by minute.

use serde_json::json;
use tidegate_ledger::{Acquire, Charge, ClosedMinute, MinuteFilter};

use crate::world::{MINUTE, SECOND, START, World, entity, resource};

fn told(rows: &[ClosedMinute]) -> Vec<(String, String, u64, i64, u32)> {
    let first = START / MINUTE;
    let row = |row: &ClosedMinute| {
        let entity = String::from_utf8_lossy(&row.entity).into_owned();
        (entity, row.limit.to_string(), u64::from(row.minute) - first, row.amount, row.events)
    };
    rows.iter().map(row).collect()
}

#[test]
fn what_is_taken_counts_when_it_is_taken_and_what_comes_back_when_it_does() {
    let mut world = World::new();
    world.create("org", json!({}));
    world.create("key", json!({"parent": "org", "cascade": true}));
    world.limit(resource("r"), &["tpm=1000/minute"]);
    let first = world.granted("key", "r", &[("tpm", 100)]).lease.unwrap();
    let second = world.granted("key", "r", &[("tpm", 50)]).lease.unwrap();
    world.now += 30 * SECOND;
    world.ledger.settle(world.space, first, &[("tpm", 130)], world.now).unwrap();
    let mut rows = Vec::new();
    world.ledger.drain_minutes(world.now, &mut rows);
    assert_eq!(rows, []);
    let open = world.ledger.open_minutes(world.space, &MinuteFilter::default());
    assert_eq!(
        told(&open),
        [("key".into(), "tpm".into(), 0, 180, 2), ("org".into(), "tpm".into(), 0, 180, 2)]
    );
    world.now += 60 * SECOND;
    world.ledger.release(world.space, second, world.now).unwrap();
    world.ledger.drain_minutes(world.now, &mut rows);
    rows.sort();
    assert_eq!(
        told(&rows),
        [("key".into(), "tpm".into(), 0, 180, 2), ("org".into(), "tpm".into(), 0, 180, 2)]
    );
    rows.clear();
    world.ledger.drain_minutes(world.now + MINUTE, &mut rows);
    rows.sort();
    assert_eq!(
        told(&rows),
        [("key".into(), "tpm".into(), 1, -50, 0), ("org".into(), "tpm".into(), 1, -50, 0)]
    );
    rows.clear();
    world.ledger.drain_minutes(world.now + 9 * MINUTE, &mut rows);
    assert_eq!(rows, []);
}

#[test]
fn many_are_handed_over_in_parts_and_each_once() {
    // More in every shard than are looked at under one lock.
    const MANY: usize = 20_000;
    let mut world = World::new();
    let limits = ["a", "b", "c", "d", "e"];
    world
        .limit(resource("r"), &limits.map(|limit| format!("{limit}=1000/minute")).each_ref().map(|s| &s[..]));
    let entity = |number: usize| format!("k{number}");
    let cost = limits.map(|limit| (limit, 1));
    (0..MANY).for_each(|number| drop(world.granted(&entity(number), "r", &cost)));
    world.now += MINUTE;
    // Some are closed by who comes first in the minute after.
    let again = (0..MANY).step_by(3);
    again.clone().for_each(|number| drop(world.granted(&entity(number), "r", &[("a", 7)])));
    let (mut rows, mut some, mut more) = (Vec::new(), Vec::new(), true);
    while more {
        more = world.ledger.drain_some_minutes(world.now, MANY, &mut some);
        rows.append(&mut some);
    }
    assert!(rows.iter().all(|row| (row.amount, row.events) == (1, 1)));
    rows.sort();
    rows.dedup();
    assert_eq!(rows.len(), MANY * limits.len());
    let open = world.ledger.open_minutes(world.space, &MinuteFilter::default());
    assert!(open.len() == again.len() && open.iter().all(|row| row.amount == 7));
}

#[test]
fn a_minute_comes_once_even_for_who_is_late() {
    let mut world = World::new();
    world.limit(resource("r"), &["n=1000/minute"]);
    world.granted("a", "r", &[("n", 1)]);
    let mut rows = Vec::new();
    world.ledger.drain_minutes(world.now + MINUTE, &mut rows);
    // Another thread's clock is a hair behind.
    world.granted("a", "r", &[("n", 2)]);
    world.now += 2 * MINUTE;
    world.granted("a", "r", &[("n", 4)]);
    world.ledger.drain_minutes(world.now + MINUTE, &mut rows);
    let (a, n) = ("a".to_string(), "n".to_string());
    assert_eq!(
        told(&rows),
        [(a.clone(), n.clone(), 0, 1, 1), (a.clone(), n.clone(), 1, 2, 1), (a, n, 2, 4, 1)]
    );
}

#[test]
fn minutes_are_handed_over_in_parts_and_looked_for_once_in_a_minute() {
    let mut world = World::new();
    world.limit(resource("r"), &["n=1000/minute"]);
    let names: Vec<String> = (0..1_000).map(|number| format!("e{number}")).collect();
    for minute in 0..3 {
        names.iter().for_each(|name| drop(world.granted(name, "r", &[("n", 1)])));
        world.now += MINUTE;
        let (mut all, mut rows) = (Vec::new(), Vec::new());
        let mut parts = 0;
        let mut more = true;
        while more {
            more = world.ledger.drain_some_minutes(world.now, 100, &mut rows);
            // A shard's are handed over together.
            assert!(rows.len() < 200 && (rows.len() >= 100 || !more), "{}", rows.len());
            all.append(&mut rows);
            parts += 1;
        }
        assert!(parts > 5);
        assert_eq!(all.len(), names.len());
        assert!(
            told(&all).iter().all(|(_, _, at, amount, events)| (*at, *amount, *events) == (minute, 1, 1))
        );
    }
    // What comes back from disk may be of any minute.
    let mut records = Vec::new();
    world.granted("e0", "r", &[("n", 7)]);
    world.ledger.read_all(world.now, &mut |record| records.push(record.to_vec()));
    let other = World::new();
    other.limit(resource("r"), &["n=1000/minute"]);
    other.ledger.drain_minutes(world.now + MINUTE, &mut Vec::new());
    assert!(records.iter().all(|record| other.ledger.restore(record, world.now)));
    let mut rows = Vec::new();
    other.ledger.drain_minutes(world.now + MINUTE, &mut rows);
    assert_eq!(told(&rows), [("e0".into(), "n".into(), 3, 7, 1)]);
}

#[test]
fn bypassed_use_and_limits_of_calls_are_counted_under_one_name() {
    let world = World::new();
    world.limit(resource("r"), &["n=10/minute"]);
    world.set(entity("a", "r"), json!({"mode": "bypass"}));
    let lease = world.granted("a", "r", &[("n", 7)]).lease.unwrap();
    world.ledger.settle(world.space, lease, &[("n", 5)], world.now).unwrap();
    for limit in ["n=10/minute", "n=20/minute"] {
        let terms = [limit.parse().unwrap()];
        let charges = [Charge { entity: b"b", resource: "r", cost: &[("n", 3)] }];
        world
            .ledger
            .acquire(&Acquire { terms: Some(&terms), ..Acquire::new(world.space, &charges) }, world.now)
            .unwrap();
    }
    world.granted("b", "r", &[("n", 1)]);
    let mut rows = Vec::new();
    world.ledger.drain_minutes(world.now + MINUTE, &mut rows);
    rows.sort();
    assert_eq!(told(&rows), [("a".into(), "n".into(), 0, 5, 1), ("b".into(), "n".into(), 0, 7, 3)]);
}

#[test]
fn what_a_deleted_entity_has_used_is_not_lost() {
    let world = World::new();
    world.limit(resource("r"), &["n=10/minute"]);
    world.create("a", json!({}));
    world.granted("a", "r", &[("n", 7)]);
    world.edit(tidegate_ledger::Edit::DeleteEntity { id: "a".into() }).unwrap();
    let mut rows = Vec::new();
    world.ledger.drain_minutes(world.now + MINUTE, &mut rows);
    assert_eq!(told(&rows), [("a".into(), "n".into(), 0, 7, 1)]);
}
