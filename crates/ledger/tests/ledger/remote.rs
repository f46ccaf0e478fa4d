//! Several ledgers over one table: limits are kept, used, and changed.

mod look;
mod weights;
mod world;

use std::sync::Arc;

use tidegate_core::NANOS_PER_S;
use tidegate_ledger::{Acquire, Acquired, Charge, Refused};

use self::world::{MS, Node, START, World};

/// What is admitted in each millisecond, over so many, when each node is asked for 1 so often a second.
fn admitted(world: &mut World, per_s: &[u64], millis: u64) -> Vec<u64> {
    let mut all = Vec::new();
    let mut due = vec![0; per_s.len()];
    let mut undecided: Vec<Vec<u64>> = vec![Vec::new(); per_s.len()];
    for millisecond in 0..millis {
        world.tick();
        let mut granted = 0;
        for (at, rate) in per_s.iter().enumerate() {
            due[at] += rate;
            let mut asks: Vec<u64> = std::mem::take(&mut undecided[at]);
            asks.extend((0..due[at] / 1000).map(|_| millisecond));
            due[at] %= 1000;
            for since in asks {
                match world.nodes[at].acquire("acme", &[("rpm", 1)], false, world.now).unwrap() {
                    Acquired::Granted(_) => granted += 1,
                    Acquired::Denied(_) => {}
                    Acquired::Undecided(_) if millisecond - since < 1000 => undecided[at].push(since),
                    Acquired::Undecided(_) => panic!("undecided for a second"),
                }
            }
        }
        all.push(granted);
    }
    all
}

/// The most that any window has over what it may have.
fn excess(admitted: &[u64], burst: u64, per_s: u64) -> i64 {
    let (mut level, mut worst) = (burst as i64 * 1000, i64::MIN);
    for granted in admitted {
        // The bucket that admits exactly burst + rate x time over any window: in thousandths.
        level = (level + per_s as i64).min(burst as i64 * 1000) - *granted as i64 * 1000;
        worst = worst.max(-level);
    }
    worst / 1000
}

#[test]
fn nodes_share_a_limit_and_use_it_up() {
    // A rate, a burst, what each node is asked for, and what one write is to pay for at least.
    let cases = [
        (1000, 1000, [400, 400, 400], 120.0),
        (1000, 1000, [1500, 100, 20], 150.0),
        (1000, 1000, [900, 0, 0], 500.0),
        (1000, 1000, [330, 330, 330], 180.0),
        (1500, 1500, [333, 333, 333], 230.0),
        (1500, 1500, [1000, 0, 0], 650.0),
        (1000, 200, [400, 400, 400], 20.0),
        (1000, 200, [1500, 100, 20], 30.0),
        (600, 3000, [400, 400, 400], 190.0),
        (600, 3000, [900, 0, 0], 500.0),
        (1500, 90_000, [333, 333, 333], 480.0),
        (100, 100, [50, 50, 50], 10.0),
        (10, 10, [5, 5, 5], 0.9),
        (10, 10, [10, 4, 1], 0.9),
    ];
    for (rate, burst, load, least_per_write) in cases {
        let mut world = World::new(3, &format!("rpm={rate}/second,burst={burst}"));
        let admitted = admitted(&mut world, &load, 20_000);
        let told = format!("{rate}/s, burst {burst}, asked {load:?}");
        assert!(excess(&admitted, burst, rate) <= 0, "{told}: {} too many", excess(&admitted, burst, rate));
        let (asked, all) = (load.iter().sum::<u64>(), admitted.iter().sum::<u64>());
        let late: u64 = admitted[5_000..].iter().sum();
        let share = late as f64 / (15.0 * asked.min(rate) as f64);
        let whole = all as f64 / (20 * asked).min(20 * rate + burst) as f64;
        let per_write = all as f64 / world.table.writes as f64;
        println!("{told}: {share:.3} of what could be, {whole:.3} with the start, {per_write:.1} a write");
        assert!(share >= 0.95, "{told}: {share:.3} of what could be");
        assert!(per_write >= least_per_write, "{told}: {per_write:.1} a write");
    }
}

/// Several ask at once, again and again, until each was denied: alone at the table, the node has given all there is.
#[test]
fn a_limit_is_used_up_to_the_last_token() {
    for (limit, total, callers, amount) in [
        ("rpm=600/day", 600, 1, 1),
        ("rpm=600/day", 600, 8, 1),
        ("rpm=1000/day", 1000, 3, 7),
        ("rpm=7/day", 7, 2, 1),
    ] {
        let mut world = World::new(1, limit);
        let (mut granted, mut asking) = (0, vec![true; callers]);
        while asking.contains(&true) {
            for asks in asking.iter_mut().filter(|asks| **asks) {
                match world.nodes[0].acquire("acme", &[("rpm", amount)], true, world.now).unwrap() {
                    Acquired::Granted(_) => granted += amount,
                    Acquired::Denied(_) => *asks = false,
                    Acquired::Undecided(_) => {}
                }
            }
            world.tick();
        }
        assert_eq!(granted, total / amount * amount, "{limit}, {callers} callers");
    }
}

/// Leases settle below and above what they took: what the table has in the end is what nobody used. With two nodes, what
/// one gives back while the other holds some of a bucket that is nearly full may find no room.
#[test]
fn every_token_is_accounted_for() {
    for (nodes, lost) in [(1, 2.0), (2, 10.0)] {
        let mut world = World::new(nodes, "tpm=100000/day");
        let mut state = 7_u64;
        let mut chance = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let net: u64 = (0..1500).map(|_| lease_at_random(&mut world, &mut chance)).sum();
        world.return_all();
        let refilled = (world.now - START) as f64 / NANOS_PER_S as f64 * 100_000.0 / 86_400.0;
        let (left, seen) = (100_000.0 + refilled - net as f64, world.left("acme", "tpm") as f64);
        assert!((left - lost..=left).contains(&seen), "{nodes} nodes: {seen} of {left:.1}");
        assert_eq!(world.consumed("acme", "tpm"), net as i64);
    }
}

/// One is taken, and released, settled or left alone; tells what it has used.
fn lease_at_random(world: &mut World, chance: &mut impl FnMut(u64) -> u64) -> u64 {
    let (node, amount) = (chance(world.nodes.len() as u64) as usize, 1 + chance(50));
    let Acquired::Granted(granted) = world.decide(node, "acme", &[("tpm", amount)]) else { panic!("denied") };
    let (ledger, lease, now) = (world.nodes[node].ledger.clone(), granted.lease.unwrap(), world.now);
    let space = ledger.space("default").unwrap();
    world.tick();
    match chance(3) {
        0 => {
            ledger.release(space, lease, now).unwrap();
            0
        }
        1 => {
            let cost = chance(100);
            ledger.settle(space, lease, &[("tpm", cost)], now).unwrap();
            cost
        }
        _ => amount,
    }
}

#[test]
fn what_is_not_known_is_loaded_then_drawn_and_then_decided_here() {
    let mut world = World::new(1, "rpm=5/minute");
    let Acquired::Undecided(undecided) = world.nodes[0].acquire("acme", &[("rpm", 1)], true, START).unwrap()
    else {
        panic!("decided without the table");
    };
    assert_eq!(&*undecided.missing[0].entity, b"acme");
    let granted = (0..7).filter(|_| matches!(world.decide(0, "acme", &[("rpm", 1)]), Acquired::Granted(_)));
    assert_eq!(granted.count(), 5);
    // A denial is remembered: nothing is written for the next ones.
    let writes = world.table.writes;
    let Acquired::Denied(denied) = world.decide(0, "acme", &[("rpm", 1)]) else { panic!("granted") };
    assert_eq!(world.table.writes, writes);
    let tidegate_core::bucket::Ready::At(at) = denied.ready else { panic!("{:?}", denied.ready) };
    assert!(at > START + 11 * NANOS_PER_S && at <= START + 13 * NANOS_PER_S, "{}", (at - START) / MS);
    world.now = at;
    assert!(matches!(world.decide(0, "acme", &[("rpm", 1)]), Acquired::Granted(_)));
    assert!(matches!(
        world.nodes[0].acquire("acme", &[("tpm", 1)], true, world.now),
        Err(Refused::UnknownLimit { .. })
    ));
}

#[test]
fn what_a_lease_did_not_use_goes_back_and_what_it_used_on_top_is_owed() {
    let mut world = World::new(2, "tpm=1000/minute");
    let space = world.nodes[0].ledger.space("default").unwrap();
    let settle = |world: &mut World, cost: u64| {
        let Acquired::Granted(granted) = world.decide(0, "acme", &[("tpm", 400)]) else { panic!("denied") };
        world.nodes[0].ledger.settle(space, granted.lease.unwrap(), &[("tpm", cost)], world.now).unwrap();
    };
    settle(&mut world, 100);
    world.return_all();
    assert_eq!(world.left("acme", "tpm"), 900);
    settle(&mut world, 700);
    world.return_all();
    assert_eq!((world.left("acme", "tpm"), world.consumed("acme", "tpm")), (200, 800));
    settle_other(&mut world, 250);
    world.return_all();
    assert!((-50..=-49).contains(&world.left("acme", "tpm")));
    // Nobody passes until it is repaid.
    assert!(matches!(world.decide(0, "acme", &[("tpm", 1)]), Acquired::Denied(_)));
}

/// The other node takes 100, and uses so much.
fn settle_other(world: &mut World, cost: u64) {
    let Acquired::Granted(granted) = world.decide(1, "acme", &[("tpm", 100)]) else { panic!("denied") };
    let space = world.nodes[1].ledger.space("default").unwrap();
    world.nodes[1].ledger.settle(space, granted.lease.unwrap(), &[("tpm", cost)], world.now).unwrap();
}

#[test]
fn slots_are_shared_and_come_back() {
    let mut world = World::new(2, "inflight=3");
    let mut leases = Vec::new();
    for node in [0, 1, 0, 1] {
        if let Acquired::Granted(granted) = world.decide(node, "acme", &[]) {
            leases.push((node, granted.lease.unwrap()));
        }
    }
    assert_eq!(leases.len(), 3);
    let (node, lease) = leases[0];
    let ledger = &world.nodes[node].ledger;
    ledger.release(ledger.space("default").unwrap(), lease, world.now).unwrap();
    // It is idle here until it goes back.
    (0..4000).for_each(|_| world.tick());
    let again = world.decide(1, "acme", &[]);
    assert!(matches!(again, Acquired::Granted(_)), "{again:?} {:?}", world.table.items[&b"acme"[..]].slots);
}

#[test]
fn leases_that_come_back_take_their_slots_and_are_settled_before_anything_is_known() {
    let mut world = World::new(1, "tpm=1000/day inflight=3");
    let leases = [(); 2].map(|()| match world.decide(0, "acme", &[("tpm", 30)]) {
        Acquired::Granted(granted) => granted.lease.unwrap(),
        other => panic!("{other:?}"),
    });
    world.return_all();
    let mut records = Vec::new();
    world.nodes[0].ledger.drain(world.now, &mut |record| records.push(record.to_vec()));
    // It is started again, and the others have taken its slots for those of the dead.
    world.nodes[0] = Node::new(0);
    world.table.items.get_mut(&b"acme"[..]).unwrap().slots.clear();
    let ledger = Arc::clone(&world.nodes[0].ledger);
    assert!(records.iter().all(|record| ledger.restore(record, world.now)));
    ledger.settle(ledger.space("default").unwrap(), leases[0], &[("tpm", 10)], world.now).unwrap();
    (0..6000).for_each(|_| world.tick());
    assert_eq!((world.consumed("acme", "tpm"), world.left("acme", "tpm")), (40, 960));
    assert_eq!(world.table.items[&b"acme"[..]].slots["inflight"][&0], 1);
}

#[test]
fn a_table_that_is_down_stops_nobody_who_holds_enough() {
    let mut world = World::new(1, "rpm=1000/minute");
    for _ in 0..20 {
        assert!(matches!(world.decide(0, "acme", &[("rpm", 1)]), Acquired::Granted(_)));
        world.tick();
    }
    world.down = true;
    let mut granted = 0;
    let refused = loop {
        match world.nodes[0].acquire("acme", &[("rpm", 1)], false, world.now) {
            Ok(Acquired::Granted(_)) => granted += 1,
            Ok(Acquired::Undecided(_)) => world.tick(),
            other => break other,
        }
    };
    assert!(granted > 0 && refused == Err(Refused::Unavailable), "{granted} then {refused:?}");
    let space = world.nodes[0].ledger.space("default").unwrap();
    let charges = [Charge { entity: b"acme", resource: "gpt-4", cost: &[("rpm", 1)] }];
    let allow = Some(tidegate_ledger::OnUnavailable::Allow);
    let request = Acquire { on_unavailable: allow, ..Acquire::new(space, &charges) };
    let Ok(Acquired::Granted(allowed)) = world.nodes[0].ledger.acquire(&request, world.now) else { panic!() };
    assert!(allowed.degraded);
    world.down = false;
    (0..1100).for_each(|_| world.tick());
    assert!(matches!(world.decide(0, "acme", &[("rpm", 1)]), Acquired::Granted(_)));
}

#[test]
fn a_changed_limit_acts_on_what_is_held() {
    let mut world = World::new(1, "rpm=1000/second");
    for _ in 0..500 {
        world.decide(0, "acme", &[("rpm", 2)]);
        world.tick();
    }
    let used = world.nodes[0].ledger.used().drawing;
    assert_eq!(used.len(), 1);
    world.table.system.limits = vec!["rpm=1/hour".parse().unwrap()];
    let loaded = world.table.load(b"acme");
    world.nodes[0].ledger.loaded(&used[0], loaded, world.now).unwrap();
    let granted = (0..50).filter(|_| matches!(world.decide(0, "acme", &[("rpm", 1)]), Acquired::Granted(_)));
    assert!(granted.count() <= 1);
    // What nobody has touched since is loaded again when it is.
    (0..2).for_each(|_| drop(world.nodes[0].ledger.used()));
    assert!(matches!(
        world.nodes[0].acquire("acme", &[("rpm", 1)], true, world.now),
        Ok(Acquired::Undecided(_))
    ));
}

#[test]
fn a_message_waits_at_a_bucket_that_is_being_drawn() {
    use tidegate_core::bucket::Ready;
    use tidegate_core::ledger::ChargeName;
    use tidegate_ledger::{Shortage, Stated};
    let mut world = World::new(1, "rpm=5/minute");
    let ledger = world.nodes[0].ledger.clone();
    let space = ledger.space("default").unwrap();
    let name = ChargeName::Entity { entity: b"acme", resource: "gpt-4", limit: "rpm" };
    let charge = ledger.queue_charge(space, name).unwrap();
    let stated = [Stated { name: &charge, amount: 1 }];
    let mut freed = Vec::new();
    let mut waits = 0;
    let grant = loop {
        match ledger.take(&stated, world.now) {
            Ok(grant) => break grant,
            Err(Shortage { ready, .. }) => assert_eq!(ready, Ready::Pending),
        }
        waits += 1;
        freed.clear();
        while freed.is_empty() {
            world.tick();
            ledger.take_freed(&mut freed);
        }
        assert_eq!(freed, std::slice::from_ref(&charge.bucket));
    };
    // Once to be loaded, once to be drawn.
    assert_eq!(waits, 2);
    ledger.keep_grant(grant, world.now);
}
