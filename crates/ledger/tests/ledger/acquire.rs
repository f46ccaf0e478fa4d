//! Acquire and check: all or none, and clear refusals.

use serde_json::json;
use tidegate_core::bucket::Ready;
use tidegate_core::ledger::Level;
use tidegate_ledger::{Acquire, Acquired, Charge, OnUnavailable, Refused, Scope};

use crate::world::{SECOND, World, entity, resource};

#[test]
fn all_limits_are_taken_or_none() {
    let world = World::new();
    world.limit(resource("gpt-4"), &["rpm=2/minute", "tpm=1000/minute"]);
    let granted = world.granted("acme", "gpt-4", &[("rpm", 1), ("tpm", 900)]);
    let told: Vec<_> = granted.statuses.iter().map(|status| (&*status.limit, status.available)).collect();
    assert_eq!(told, [("rpm", 1), ("tpm", 100)]);
    assert!(granted.lease.is_some() && granted.expires_at == world.now + 60 * SECOND);

    let denied = world.denied("acme", "gpt-4", &[("rpm", 1), ("tpm", 101)]);
    assert_eq!(world.left("acme", "gpt-4", "rpm"), 1);
    let short: Vec<_> = denied.statuses.iter().map(|status| (status.exceeded, status.requested)).collect();
    assert_eq!(short, [(false, 1), (true, 101)]);
    // One token of 1000 a minute.
    assert_eq!(denied.ready, Ready::At(world.now + 60_000_000));
    assert_eq!(&*world.ledger.word(denied.bucket.limit), "tpm");
}

#[test]
fn two_entities_pay_together_or_not_at_all() {
    let world = World::new();
    world.limit(resource("gpt-4"), &["tpm=10/minute"]);
    world.limit(resource("mail"), &["n=3/minute"]);
    let charges = |tpm: &'static [(&'static str, u64)], n: &'static [(&'static str, u64)]| {
        [
            Charge { entity: b"acme", resource: "gpt-4", cost: tpm },
            Charge { entity: b"beta", resource: "mail", cost: n },
        ]
    };
    let both = charges(&[("tpm", 4)], &[("n", 2)]);
    let ask = || world.ledger.acquire(&Acquire::new(world.space, &both), world.now).unwrap();
    assert!(matches!(ask(), Acquired::Granted(_)));
    assert!(matches!(ask(), Acquired::Denied(_)));
    assert_eq!((world.left("acme", "gpt-4", "tpm"), world.left("beta", "mail", "n")), (6, 1));
}

#[test]
fn the_same_bucket_twice_pays_twice() {
    let world = World::new();
    world.limit(resource("gpt-4"), &["tpm=10/minute"]);
    let charge = Charge { entity: b"acme", resource: "gpt-4", cost: &[("tpm", 6)] };
    let twice = [charge, charge];
    let refused = world.ledger.acquire(&Acquire::new(world.space, &twice), world.now).unwrap_err();
    assert!(matches!(refused, Refused::NeverPasses { amount: 12, capacity: 10, .. }));
    let charge = Charge { cost: &[("tpm", 4)], ..charge };
    world.ledger.acquire(&Acquire::new(world.space, &[charge, charge]), world.now).unwrap();
    assert_eq!(world.left("acme", "gpt-4", "tpm"), 2);
}

#[test]
fn refusals_say_what_is_wrong() {
    let world = World::new();
    assert!(matches!(world.refused("acme", "gpt-4", &[("tpm", 1)]), Refused::NoLimits { .. }));
    world.limit(resource("gpt-4"), &["rpm=2/minute", "tpm=1000/minute"]);
    let unknown = world.refused("acme", "gpt-4", &[("tpd", 1)]);
    assert_eq!(
        unknown.to_string(),
        "`tpd` is no limit of entity `acme` on resource `gpt-4`; it has `rpm`, `tpm`"
    );
    let never = world.refused("acme", "gpt-4", &[("tpm", 1001)]);
    assert!(matches!(never, Refused::NeverPasses { amount: 1001, capacity: 1000, .. }), "{never:?}");
    assert!(matches!(world.refused("a b", "gpt-4", &[("tpm", 1)]), Refused::InvalidName(_)));
    assert!(matches!(world.refused("acme", "4", &[("tpm", 1)]), Refused::InvalidName(_)));
    world.limit(resource("_default_"), &["tpm=1000/minute"]);
    assert!(matches!(world.refused("a b", "_default_", &[("tpm", 1)]), Refused::InvalidName(_)));
    let charge = Charge { entity: b"acme", resource: "gpt-4", cost: &[("tpm", 1)] };
    let many = [charge; 17];
    let refused = world.ledger.acquire(&Acquire::new(world.space, &many), world.now).unwrap_err();
    assert_eq!(refused, Refused::TooManyCharges { max: 16 });
}

#[test]
fn a_look_passes_in_debt_and_takes_nothing() {
    let mut world = World::new();
    world.limit(resource("gpt-4"), &["tpm=10/minute"]);
    let lease = world.granted("acme", "gpt-4", &[("tpm", 5)]).lease.unwrap();
    world.ledger.settle(world.space, lease, &[("tpm", 30)], world.now).unwrap();
    assert_eq!(world.left("acme", "gpt-4", "tpm"), -20);
    assert!(world.granted("acme", "gpt-4", &[("tpm", 0)]).lease.is_some());
    let denied = world.denied("acme", "gpt-4", &[("tpm", 1)]);
    assert_eq!(denied.ready, Ready::At(world.now + 21 * 6 * SECOND));
    world.now += 21 * 6 * SECOND;
    world.granted("acme", "gpt-4", &[("tpm", 1)]);
}

#[test]
fn limits_in_the_call_replace_all_and_have_buckets_of_their_own() {
    let world = World::new();
    world.limit(resource("gpt-4"), &["tpm=10/minute"]);
    let terms = ["tpm=3/minute".parse().unwrap()];
    let charges = [Charge { entity: b"acme", resource: "gpt-4", cost: &[("tpm", 1)] }];
    let request = Acquire { terms: Some(&terms), ..Acquire::new(world.space, &charges) };
    let admitted = (0..20).filter(|_| {
        matches!(world.ledger.acquire(&request, world.now), Ok(Acquired::Granted(granted)) if granted.statuses[0].level == Level::Call)
    });
    assert_eq!(admitted.count(), 3);
    assert_eq!(world.left("acme", "gpt-4", "tpm"), 10);
    // Another limit of the same name is another bucket, and an unknown name is refused.
    let other = ["tpm=4/minute".parse().unwrap()];
    let request = Acquire { terms: Some(&other), ..request };
    assert!(matches!(world.ledger.acquire(&request, world.now), Ok(Acquired::Granted(_))));
    let other = ["rpm=4/minute".parse().unwrap()];
    let request = Acquire { terms: Some(&other), ..request };
    assert!(matches!(world.ledger.acquire(&request, world.now), Err(Refused::UnknownLimit { .. })));
    // They need no stored ones.
    let charges = [Charge { entity: b"x", resource: "nothing", cost: &[("tpm", 1)] }];
    let request = Acquire { terms: Some(&terms), ..Acquire::new(world.space, &charges) };
    assert!(matches!(world.ledger.acquire(&request, world.now), Ok(Acquired::Granted(_))));
}

#[test]
fn a_soft_limit_charges_and_reports_and_never_refuses() {
    let world = World::new();
    world.limit(resource("gpt-4"), &["tpm=10/minute,soft"]);
    let first = world.granted("acme", "gpt-4", &[("tpm", 8)]);
    let second = world.granted("acme", "gpt-4", &[("tpm", 800)]);
    assert_eq!((first.statuses[0].exceeded, second.statuses[0].exceeded), (false, true));
    assert_eq!(world.left("acme", "gpt-4", "tpm"), -798);
}

#[test]
fn disabled_refuses_and_bypass_only_counts() {
    let world = World::new();
    world.limit(resource("gpt-4"), &["tpm=10/minute"]);
    world.set(entity("acme", "_default_"), json!({"mode": "bypass"}));
    for _ in 0..5 {
        assert!(world.granted("acme", "gpt-4", &[("tpm", 10)]).bypassed);
    }
    assert_eq!(world.left("acme", "gpt-4", "tpm"), 10);
    world.set(resource("gpt-4"), json!({"mode": "disabled"}));
    assert!(matches!(world.refused("acme", "gpt-4", &[("tpm", 1)]), Refused::Disabled { .. }));
    world.set(resource("gpt-4"), json!({"mode": null}));
    world.set(entity("acme", "_default_"), json!({"mode": null}));
    assert!(!world.granted("acme", "gpt-4", &[("tpm", 10)]).bypassed);
    assert_eq!(world.left("acme", "gpt-4", "tpm"), 0);
}

#[test]
fn disabled_is_told_whether_or_not_there_are_limits() {
    let world = World::new();
    world.set(entity("acme", "_default_"), json!({"mode": "disabled"}));
    assert!(matches!(world.refused("acme", "gpt-4", &[("tpm", 1)]), Refused::Disabled { .. }));
    assert!(matches!(world.refused("beta", "gpt-4", &[("tpm", 1)]), Refused::NoLimits { .. }));
}

#[test]
fn closed_lets_nobody_take_before() {
    let mut world = World::new();
    world.limit(resource("gpt-4"), &["tpm=10/minute"]);
    let until = world.now + 5 * SECOND;
    world.ledger.close_until(world.space, b"acme", "gpt-4", until, world.now).unwrap();
    assert_eq!(world.denied("acme", "gpt-4", &[("tpm", 1)]).ready, Ready::At(until));
    world.granted("beta", "gpt-4", &[("tpm", 1)]);
    world.now = until;
    world.granted("acme", "gpt-4", &[("tpm", 1)]);
}

#[test]
fn an_unavailable_store_blocks_or_is_told() {
    let world = World::new();
    world.limit(resource("gpt-4"), &["tpm=10/minute"]);
    world.ledger.set_available(false);
    assert_eq!(world.refused("acme", "gpt-4", &[("tpm", 1)]), Refused::Unavailable);
    let charges = [Charge { entity: b"acme", resource: "gpt-4", cost: &[("tpm", 6)] }];
    let allow = Some(OnUnavailable::Allow);
    let request = Acquire { on_unavailable: allow, ..Acquire::new(world.space, &charges) };
    let Ok(Acquired::Granted(granted)) = world.ledger.acquire(&request, world.now) else { panic!() };
    assert!(granted.degraded);
    world.set(Scope::System, json!({"on_unavailable": "allow"}));
    assert!(matches!(world.acquire("acme", "gpt-4", &[("tpm", 6)]), Ok(Acquired::Denied(_))));
    let counted = world.ledger.unavailable();
    assert_eq!((counted.blocked, counted.allowed), (1, 2));
}

#[test]
fn check_takes_nothing_and_says_when() {
    let world = World::new();
    world.limit(resource("gpt-4"), &["tpm=60/minute"]);
    world.granted("acme", "gpt-4", &[("tpm", 60)]);
    let charges = [Charge { entity: b"acme", resource: "gpt-4", cost: &[("tpm", 30)] }];
    for _ in 0..3 {
        let checked = world.ledger.check(&Acquire::new(world.space, &charges), world.now).unwrap();
        assert_eq!((checked.granted, checked.ready), (false, Ready::At(world.now + 30 * SECOND)));
    }
}

#[test]
fn top_up_repays_and_reset_fills_once_per_key() {
    let world = World::new();
    world.limit(resource("gpt-4"), &["tpm=10/minute", "rpm=5/minute"]);
    let lease = world.granted("acme", "gpt-4", &[("tpm", 5), ("rpm", 5)]).lease.unwrap();
    world.ledger.settle(world.space, lease, &[("tpm", 30)], world.now).unwrap();
    let top_up =
        |n, key| world.ledger.top_up(world.space, b"acme", "gpt-4", &[("tpm", n)], key, "me", world.now);
    assert_eq!(top_up(22, Some("k1")).unwrap()[0].available, 2);
    assert_eq!(top_up(22, Some("k1")).unwrap()[0].available, 2);
    assert_eq!(top_up(100, None).unwrap()[0].available, 10);
    assert_eq!(top_up(1, Some("no spaces")), Err(Refused::InvalidIdempotencyKey));
    let reset =
        |limits: &[&str]| world.ledger.reset(world.space, b"acme", "gpt-4", limits, None, "me", world.now);
    assert_eq!(reset(&[]).unwrap().len(), 2);
    assert_eq!(world.left("acme", "gpt-4", "rpm"), 5);
    assert!(matches!(reset(&["x"]), Err(Refused::UnknownLimit { .. })));
    // A key is one operation's, whichever that was.
    world.granted("acme", "gpt-4", &[("tpm", 7)]);
    let again = world.ledger.reset(world.space, b"acme", "gpt-4", &["tpm"], Some("k1"), "me", world.now);
    assert_eq!(again.unwrap()[0].available, 3);
    // What is left can be looked at whether anybody may take of it or not.
    world.set(resource("gpt-4"), json!({"mode": "disabled"}));
    let levels = world.ledger.levels(world.space, b"acme", "gpt-4", &["tpm"], world.now).unwrap();
    assert_eq!((levels[0].available, levels[0].requested, levels[0].exceeded), (3, 0, false));
    let actions: Vec<_> = world.ledger.drain_audit().iter().map(|event| event.action).collect();
    assert_eq!(actions, ["bucket_topped_up", "bucket_topped_up", "bucket_reset"]);
}
