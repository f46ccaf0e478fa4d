//! Many threads on few buckets: sums are exact, and nothing leaks.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use proptest::prelude::*;
use serde_json::json;
use tidegate_core::ledger::charge;
use tidegate_ledger::{Acquire, Acquired, Charge, LeaseTerms, MinuteFilter, Refused, Stated};

use crate::world::{MINUTE, World, entity, resource};

/// A little generator of numbers, one per thread.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

const CHILDREN: u64 = 24;

fn family() -> World {
    let world = World::new();
    world.create("org", json!({}));
    for team in 0..4 {
        world.create(&format!("team{team}"), json!({"parent": "org", "cascade": true}));
    }
    for child in 0..CHILDREN {
        world.create(&format!("c{child}"), json!({"parent": format!("team{}", child % 4), "cascade": true}));
    }
    world.limit(resource("r"), &["n=1000000/hour", "inflight=40"]);
    world.limit(entity("org", "r"), &["n=20000/hour", "inflight=16"]);
    world
}

#[test]
fn threads_never_overdraw_and_every_sum_is_exact() {
    let world = family();
    let (ledger, space, now) = (&world.ledger, world.space, world.now);
    let (net, grants, in_flight) = (AtomicI64::new(0), AtomicU64::new(0), AtomicI64::new(0));
    std::thread::scope(|scope| {
        for thread in 0..6 {
            let (net, grants, in_flight) = (&net, &grants, &in_flight);
            scope.spawn(move || {
                let mut dice = Dice(thread);
                for _ in 0..1500 {
                    let names = [format!("c{}", dice.roll(CHILDREN)), format!("c{}", dice.roll(CHILDREN))];
                    let cost = [("n", 1 + dice.roll(9))];
                    let charges = names.each_ref().map(|id| Charge {
                        entity: id.as_bytes(),
                        resource: "r",
                        cost: &cost,
                    });
                    let charges = &charges[..1 + dice.roll(2) as usize];
                    if dice.roll(3) == 0 {
                        let name = charge::encode(names[0].as_bytes(), "r", "n");
                        let name = ledger.queue_charge(space, charge::parse(&name)).unwrap();
                        let Ok(grant) = ledger.take(&[Stated { name: &name, amount: cost[0].1 }], now) else {
                            continue;
                        };
                        assert!(in_flight.fetch_add(1, Ordering::SeqCst) < 16);
                        grants.fetch_add(1, Ordering::Relaxed);
                        in_flight.fetch_sub(1, Ordering::SeqCst);
                        match dice.roll(3) {
                            0 => ledger.release_grant(grant, now),
                            1 => {
                                net.fetch_add(3, Ordering::Relaxed);
                                ledger.settle_grant(grant, &[("n", 3)], now);
                            }
                            _ => {
                                net.fetch_add(cost[0].1 as i64, Ordering::Relaxed);
                                ledger.keep_grant(grant, now);
                            }
                        }
                        continue;
                    }
                    let request = Acquire { statuses: false, ..Acquire::new(space, charges) };
                    let Ok(Acquired::Granted(granted)) = ledger.acquire(&request, now) else { continue };
                    assert!(in_flight.fetch_add(1, Ordering::SeqCst) < 16);
                    grants.fetch_add(1, Ordering::Relaxed);
                    let lease = granted.lease.unwrap();
                    let paid = charges.len() as i64;
                    in_flight.fetch_sub(1, Ordering::SeqCst);
                    match dice.roll(4) {
                        0 => ledger.release(space, lease, now).unwrap(),
                        1 => {
                            net.fetch_add(2 * paid, Ordering::Relaxed);
                            ledger.settle(space, lease, &[("n", 2)], now).unwrap();
                        }
                        2 => {
                            net.fetch_add((cost[0].1 as i64 + 4) * paid, Ordering::Relaxed);
                            ledger.adjust(space, lease, &[("n", 4)], now).unwrap();
                            ledger.settle(space, lease, &[], now).unwrap();
                        }
                        _ => {
                            net.fetch_add(cost[0].1 as i64 * paid, Ordering::Relaxed);
                            ledger.settle(space, lease, &[], now).unwrap();
                        }
                    }
                }
            });
        }
    });
    let (net, grants) = (net.into_inner(), grants.into_inner());
    assert!(grants > 1000, "{grants}");
    assert_eq!(world.left("org", "r", "n"), 20_000 - net);
    let below: i64 = (0..CHILDREN).map(|child| 1_000_000 - world.left(&format!("c{child}"), "r", "n")).sum();
    assert_eq!(below, net);
    let everybody =
        (0..CHILDREN).map(|child| format!("c{child}")).chain((0..4).map(|team| format!("team{team}")));
    assert!(everybody.into_iter().all(|id| world.left(&id, "r", "inflight") == 40));
    assert_eq!((world.left("org", "r", "inflight"), ledger.stats().leases), (16, 0));
    let filter = MinuteFilter { entity: Some(b"org"), limit: Some("n"), ..MinuteFilter::default() };
    let used = &ledger.open_minutes(space, &filter)[0];
    assert_eq!((used.amount, u64::from(used.events)), (net, grants));
}

#[test]
fn threads_that_race_for_the_last_tokens_get_each_once() {
    for round in 0..20 {
        let world = World::new();
        world.limit(resource("r"), &["n=100/hour"]);
        let got = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                let (world, got) = (&world, &got);
                scope.spawn(move || {
                    let mut dice = Dice(round * 100 + thread);
                    for _ in 0..200 {
                        let amount = 1 + dice.roll(3);
                        if let Ok(Acquired::Granted(_)) = world.acquire("a", "r", &[("n", amount)]) {
                            got.fetch_add(amount, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        assert_eq!(got.into_inner(), 100);
    }
}

#[test]
fn edits_drains_and_sweeps_beside_traffic_break_nothing() {
    let world = family();
    let (ledger, space) = (&world.ledger, world.space);
    let rounds = 300;
    std::thread::scope(|scope| {
        for thread in 0..3u64 {
            let world = &world;
            scope.spawn(move || {
                let mut dice = Dice(thread);
                for at in 0..rounds * 4 {
                    let now = world.now + at * 1_000_000;
                    let id = format!("c{}", dice.roll(CHILDREN));
                    let charges = [Charge { entity: id.as_bytes(), resource: "r", cost: &[("n", 1)] }];
                    let lease = Some(LeaseTerms { ttl_ns: Some(5_000_000), on_expiry: None });
                    let request = Acquire { lease, ..Acquire::new(space, &charges) };
                    if let Ok(Acquired::Granted(granted)) = ledger.acquire(&request, now)
                        && dice.roll(2) == 0
                    {
                        // Another thread may have expired it.
                        let settled = ledger.settle(space, granted.lease.unwrap(), &[], now);
                        assert!(matches!(settled, Ok(()) | Err(Refused::LeaseNotFound(_))));
                    }
                }
            });
        }
        let mut records = 0;
        for at in 0..rounds {
            let now = world.now + at * 4_000_000;
            match at % 4 {
                0 => world.limit(resource("r"), &["n=1000000/hour", "inflight=40"]),
                1 => world.limit(resource("r"), &["n=500000/hour"]),
                2 => world.limit(entity("org", "r"), &["n=20000/hour", "inflight=30"]),
                _ => world.set(entity("c1", "_default_"), json!({"cascade": at % 8 == 3})),
            }
            ledger.expire(now, 100);
            ledger.drain(now, &mut |_| records += 1);
            ledger.drain_minutes(now, &mut Vec::new());
            ledger.sweep(now, 50);
        }
        assert!(records > 0);
    });
    world.limit(resource("r"), &["n=1000000/hour", "inflight=40"]);
    let end = world.now + MINUTE;
    while ledger.next_expiry().is_some() {
        ledger.expire(end, 1000);
    }
    assert_eq!((world.left("org", "r", "inflight"), ledger.stats().leases), (30, 0));
    for child in 0..CHILDREN {
        assert_eq!(world.left(&format!("c{child}"), "r", "inflight"), 40);
    }
}

/// Calls as (milliseconds since the last one, child, amount, what becomes of the lease).
fn calls() -> impl Strategy<Value = Vec<(u64, u64, u64, u8)>> {
    let gap = prop_oneof![Just(0u64), 0u64..300, 0u64..20_000];
    prop::collection::vec((gap, 0u64..4, 0u64..60, 0u8..6), 1..120)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Whatever the calls, what the parent admits on any window is within burst and rate x time, what is used is what was
    /// admitted, and no slot is lost.
    #[test]
    fn admitted_is_bounded_on_every_window(calls in calls()) {
        let mut world = World::new();
        world.create("org", json!({}));
        for child in 0..4 {
            world.create(&format!("c{child}"), json!({"parent": "org", "cascade": true}));
        }
        world.limit(resource("r"), &["n=90/minute,burst=70", "inflight=3"]);
        world.limit(entity("org", "r"), &["n=60/minute,burst=50", "inflight=5"]);
        let (mut admitted, mut held, mut net) = (Vec::new(), Vec::new(), 0i64);
        for (gap, child, amount, end) in calls {
            world.now += gap * 1_000_000;
            let Ok(Acquired::Granted(granted)) = world.acquire(&format!("c{child}"), "r", &[("n", amount)]) else {
                if held.len() > 2 {
                    let (lease, _) = held.remove(0);
                    world.ledger.settle(world.space, lease, &[], world.now).unwrap();
                }
                continue;
            };
            let lease = granted.lease.unwrap();
            match end {
                // Released at once, in the same instant: as if it had not been.
                0 => world.ledger.release(world.space, lease, world.now).unwrap(),
                1 => {
                    world.ledger.settle(world.space, lease, &[("n", amount / 2)], world.now).unwrap();
                    admitted.push((world.now, amount / 2));
                    net += (amount / 2) as i64;
                }
                _ => {
                    held.push((lease, amount));
                    admitted.push((world.now, amount));
                    net += amount as i64;
                }
            }
        }
        for (at, (from, _)) in admitted.iter().enumerate() {
            let mut sum = 0u64;
            for (to, amount) in &admitted[at..] {
                sum += amount;
                // A token a second.
                let allowed = 50_000_000_000 + (to - from);
                prop_assert!(sum * 1_000_000_000 <= allowed, "{sum} in {} ns", to - from);
            }
        }
        for (lease, _) in held {
            world.ledger.settle(world.space, lease, &[], world.now).unwrap();
        }
        prop_assert_eq!(world.left("org", "r", "inflight"), 5);
        let mut rows = Vec::new();
        world.ledger.drain_minutes(world.now + MINUTE, &mut rows);
        let used = |id: &[u8]| rows.iter().filter(|row| *row.entity == *id && &*row.limit == "n").map(|row| row.amount).sum::<i64>();
        prop_assert_eq!(used(b"org"), net);
        prop_assert_eq!((0..4).map(|child| used(format!("c{child}").as_bytes())).sum::<i64>(), net);
    }
}
