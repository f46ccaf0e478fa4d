//! Throttle keys: `rate` on `_default_`, on the entity itself.

use serde_json::json;
use tidegate_core::Wait;

use crate::world::{SECOND, World, entity, resource};

#[test]
fn a_key_is_limited_by_what_is_set_on_itself_alone() {
    let mut world = World::new();
    let decide = |world: &World, n| world.ledger.decide_key(world.space, b"provider", n, world.now);
    assert_eq!(decide(&world, 1), None);
    world.limit(resource("_default_"), &["rate=1/second"]);
    assert_eq!(decide(&world, 1), None);
    world.limit(entity("provider", "_default_"), &["rate=2/second"]);
    assert!(decide(&world, 2).unwrap().allowed);
    let denied = decide(&world, 1).unwrap();
    assert_eq!((denied.allowed, denied.limit, denied.retry_after), (false, 2, Wait::Ns(SECOND / 2)));
    assert_eq!(decide(&world, 3).unwrap().retry_after, Wait::Never);
    world.ledger.refund_key(world.space, b"provider", 5, world.now);
    assert_eq!(world.ledger.key(world.space, b"provider", world.now).unwrap().tokens, 2);
    // It is the bucket that an acquire draws on.
    world.granted("provider", "_default_", &[("rate", 2)]);
    assert!(!decide(&world, 1).unwrap().allowed);
    world.now += SECOND;
    assert!(decide(&world, 1).unwrap().allowed);
}

#[test]
fn keys_are_any_bytes_and_are_listed_with_those_that_are_closed() {
    let mut world = World::new();
    let key = b"any \xff bytes";
    let scope = tidegate_ledger::Scope::Entity(key.to_vec(), "_default_".into());
    world.limit(scope, &["rate=5/second"]);
    world.ledger.close_until(world.space, b"zz", "_default_", world.now + SECOND, world.now).unwrap();
    world.create("entity", json!({}));
    let keys = world.ledger.keys(world.space, world.now);
    let told: Vec<_> = keys.iter().map(|key| (&*key.key, key.limit.is_some(), key.closed_until)).collect();
    assert_eq!(told, [(&key[..], true, None), (&b"zz"[..], false, Some(world.now + SECOND))]);
    let denied = world.ledger.decide_key(world.space, b"zz", 1, world.now).unwrap();
    assert_eq!(denied.retry_after, Wait::Ns(SECOND));
    world.now += SECOND;
    assert_eq!(world.ledger.decide_key(world.space, b"zz", 1, world.now), None);
    assert_eq!(world.ledger.keys(world.space, world.now).len(), 1);
}
