//! Which limits apply, and how a change reaches buckets that are in use.

use serde_json::json;
use tidegate_core::ledger::Level;
use tidegate_ledger::{Edit, Ledger, Options, Scope};

use crate::world::{MINUTE, SECOND, World, entity, resource};

#[test]
fn the_first_level_with_limits_wins_whole() {
    let mut world = World::new();
    let options = Options { defaults: vec!["c=1/second".parse().unwrap()], ..Options::default() };
    world.ledger = Ledger::new(options);
    world.space = world.ledger.space("default").unwrap();
    let resolved = || {
        let resolved = world.ledger.resolve(world.space, b"acme", "gpt-4").unwrap();
        (resolved.level, resolved.terms.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
    };
    assert_eq!(resolved(), (Some(Level::Config), "c=1/second".into()));
    let levels = [
        (Scope::System, "s=1/second", Level::System),
        (resource("gpt-4"), "r=1/second", Level::Resource),
        (entity("acme", "_default_"), "d=1/second", Level::EntityDefault),
        (entity("acme", "gpt-4"), "e=1/second", Level::Entity),
    ];
    for (scope, limit, level) in &levels {
        world.limit(scope.clone(), &[limit]);
        assert_eq!(resolved(), (Some(*level), (*limit).into()));
        assert_eq!(world.granted("acme", "gpt-4", &[(&limit[..1], 1)]).statuses[0].level, *level);
    }
    // A level that is set and has no limits leaves them to the next.
    world.set(entity("acme", "gpt-4"), json!({"limits": [], "cascade": true}));
    assert_eq!(resolved().0, Some(Level::EntityDefault));
    for (scope, _, _) in levels.into_iter().rev().skip(1) {
        world.edit(Edit::RemoveScope { scope }).unwrap();
    }
    assert_eq!(resolved().0, Some(Level::Config));
}

#[test]
fn a_lowered_default_acts_on_a_bucket_in_use() {
    let mut world = World::new();
    world.limit(Scope::System, &["rpm=600/minute"]);
    let mut admitted = 0;
    for at in 0..3000u64 {
        if at == 600 {
            world.limit(Scope::System, &["rpm=60/minute,burst=5"]);
        }
        let granted = matches!(
            world.acquire("acme", "gpt-4", &[("rpm", 1)]),
            Ok(tidegate_ledger::Acquired::Granted(_))
        );
        admitted += u64::from(granted && at >= 600);
        world.now += SECOND / 10;
    }
    // 240 s at 1/s, and what was there, cut to the new burst.
    assert!((240..=245).contains(&admitted), "{admitted}");
}

#[test]
fn time_before_a_change_counts_at_the_old_rate_whatever_the_level() {
    for scope in [Scope::System, resource("gpt-4"), entity("acme", "_default_"), entity("acme", "gpt-4")] {
        let mut world = World::new();
        world.limit(scope.clone(), &["tpm=60/minute,burst=1000"]);
        world.granted("acme", "gpt-4", &[("tpm", 1000)]);
        world.now += 30 * SECOND;
        world.limit(scope, &["tpm=600/minute,burst=1000"]);
        world.now += 10 * SECOND;
        // 30 s at 1/s, then 10 s at 10/s.
        assert_eq!(world.left("acme", "gpt-4", "tpm"), 130);
    }
}

#[test]
fn a_debt_outlives_a_limit_that_goes_and_comes() {
    let mut world = World::new();
    world.limit(resource("gpt-4"), &["tpm=60/minute", "rpm=1/minute"]);
    let lease = world.granted("acme", "gpt-4", &[("tpm", 60)]).lease.unwrap();
    world.ledger.settle(world.space, lease, &[("tpm", 120)], world.now).unwrap();
    world.limit(resource("gpt-4"), &["rpm=1/minute"]);
    world.granted("acme", "gpt-4", &[("rpm", 1)]);
    world.now += 10 * SECOND;
    world.limit(resource("gpt-4"), &["tpm=60/minute"]);
    assert_eq!(world.left("acme", "gpt-4", "tpm"), -50);
}

#[test]
fn an_added_limit_begins_full() {
    let world = World::new();
    world.limit(resource("gpt-4"), &["rpm=5/minute"]);
    world.granted("acme", "gpt-4", &[("rpm", 5)]);
    world.limit(resource("gpt-4"), &["tpm=60/minute", "rpm=5/minute"]);
    assert_eq!((world.left("acme", "gpt-4", "tpm"), world.left("acme", "gpt-4", "rpm")), (60, 0));
}

#[test]
fn idle_accounts_are_forgotten_and_debts_are_not() {
    let mut world = World::new();
    world.limit(resource("gpt-4"), &["tpm=60/minute"]);
    world.create("known", json!({}));
    let lease = world.granted("debtor", "gpt-4", &[("tpm", 60)]).lease.unwrap();
    world.ledger.settle(world.space, lease, &[("tpm", 240)], world.now).unwrap();
    for id in ["known", "stranger"] {
        let lease = world.granted(id, "gpt-4", &[("tpm", 60)]).lease.unwrap();
        world.ledger.settle(world.space, lease, &[], world.now).unwrap();
    }
    world.now += 2 * MINUTE;
    world.ledger.sweep(world.now, 10_000);
    // Their minutes are not handed over yet.
    assert_eq!(world.ledger.stats().accounts, 3);
    world.ledger.drain_minutes(world.now, &mut Vec::new());
    world.ledger.sweep(world.now, 10_000);
    assert_eq!((world.ledger.stats().accounts, world.ledger.stats().entities), (1, 1));
    assert_eq!(world.left("debtor", "gpt-4", "tpm"), -60);
    world.now += 2 * MINUTE;
    world.ledger.sweep(world.now, 10_000);
    assert_eq!(world.ledger.stats().accounts, 0);
}

#[test]
fn capacity_sums_up_all_entities() {
    let world = World::new();
    world.limit(resource("gpt-4"), &["tpm=100/minute", "inflight=3"]);
    for id in ["a", "b", "c"] {
        world.create(id, json!({}));
    }
    world.limit(entity("c", "gpt-4"), &["tpm=1000/minute"]);
    world.granted("a", "gpt-4", &[("tpm", 30)]);
    world.granted("stranger", "gpt-4", &[("tpm", 1)]);
    let sums = world.ledger.capacity(world.space, "gpt-4", world.now);
    let told: Vec<_> =
        sums.iter().map(|sum| (&*sum.limit, sum.capacity, sum.available, sum.entities)).collect();
    assert_eq!(told, [("inflight", 9, 7, 3), ("tpm", 1300, 1269, 4)]);
}

#[test]
fn a_rate_of_ones_own_is_over_when_it_is_changed_whatever_changes_next() {
    let mut world = World::new();
    world.limit(entity("a", "r"), &["tpm=10/s"]);
    world.granted("a", "r", &[("tpm", 10)]);
    world.limit(entity("a", "r"), &["tpm=10/hour"]);
    world.now += SECOND;
    world.limit(Scope::System, &["rpm=5/minute"]);
    assert_eq!(world.left("a", "r", "tpm"), 0);
}
