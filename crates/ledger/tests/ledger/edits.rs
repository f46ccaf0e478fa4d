//! Entities and settings: planned, checked, applied.

use serde_json::json;
use tidegate_ledger::{Edit, EntityPatch, Refused, Scope};

use crate::world::{World, entity, resource};

fn patch(json: serde_json::Value) -> EntityPatch {
    serde_json::from_value(json).unwrap()
}

#[test]
fn an_entity_is_made_changed_by_version_and_deleted() {
    let world = World::new();
    world.create("acme", json!({"name": "Acme", "weight": 3, "metadata": {"plan": "pro"}}));
    let found = world.ledger.entity(world.space, b"acme").unwrap();
    assert_eq!((found.version, found.name.as_deref(), found.weight), (1, Some("Acme"), Some(3)));
    let create = Edit::CreateEntity { id: "acme".into(), patch: EntityPatch::default() };
    assert_eq!(world.edit(create), Err(Refused::EntityExists("acme".into())));
    let update =
        |version| Edit::UpdateEntity { id: "acme".into(), patch: patch(json!({"weight": null})), version };
    assert!(matches!(
        world.edit(update(Some(7))),
        Err(Refused::VersionMismatch { expected: 7, found: 1, .. })
    ));
    world.edit(update(Some(1))).unwrap();
    let found = world.ledger.entity(world.space, b"acme").unwrap();
    assert_eq!((found.version, found.name.as_deref(), found.weight), (2, Some("Acme"), None));
    assert_eq!(found.metadata["plan"], "pro");

    world.limit(entity("acme", "gpt-4"), &["tpm=10/minute"]);
    world.granted("acme", "gpt-4", &[("tpm", 10)]);
    let plan = world.ledger.plan(world.space, &Edit::DeleteEntity { id: "acme".into() }, world.now).unwrap();
    assert_eq!(plan.changes[0].before.as_ref().unwrap()["limits"]["gpt-4"]["limits"][0]["name"], "tpm");
    world.ledger.apply(&plan.kept, world.now).unwrap();
    assert!(world.ledger.entity(world.space, b"acme").is_none());
    assert!(matches!(world.refused("acme", "gpt-4", &[("tpm", 1)]), Refused::NoLimits { .. }));
    assert_eq!(world.ledger.custom(world.space, None, None, 9), []);
    let delete = Edit::DeleteEntity { id: "acme".into() };
    assert_eq!(world.edit(delete), Err(Refused::EntityNotFound("acme".into())));
}

#[test]
fn the_tree_has_rules() {
    let world = World::new();
    let below = |id: &str, parent: &str| {
        world.edit(Edit::CreateEntity { id: id.into(), patch: patch(json!({"parent": parent})) })
    };
    assert_eq!(below("a", "nobody"), Err(Refused::ParentNotFound("nobody".into())));
    world.create("l1", json!({}));
    for level in 2..=8 {
        below(&format!("l{level}"), &format!("l{}", level - 1)).unwrap();
    }
    assert!(matches!(below("l9", "l8"), Err(Refused::TooDeep { max: 8, .. })));
    let shift =
        |id: &str, parent: &str| world.edit(Edit::MoveEntity { id: id.into(), parent: Some(parent.into()) });
    assert!(matches!(shift("l2", "l5"), Err(Refused::Cycle { .. })));
    assert!(matches!(shift("l2", "l2"), Err(Refused::Cycle { .. })));
    world.create("top", json!({}));
    assert!(matches!(shift("l1", "top"), Err(Refused::TooDeep { .. })));
    shift("l2", "top").unwrap();
    let delete = |id: &str| world.edit(Edit::DeleteEntity { id: id.into() });
    assert_eq!(delete("top"), Err(Refused::HasChildren("top".into())));
    delete("l1").unwrap();
    let children = world.ledger.children(world.space, b"top", None, 9);
    assert_eq!(children.iter().map(|child| &*child.id).collect::<Vec<_>>(), ["l2"]);
}

#[test]
fn many_are_put_at_once_or_none() {
    let world = World::new();
    let put = |list: &[(&str, serde_json::Value)]| {
        let list = list.iter().map(|(id, json)| (id.to_string(), patch(json.clone())));
        world.edit(Edit::PutEntities(list.collect()))
    };
    // A parent may come after its child.
    put(&[("b", json!({"parent": "a"})), ("a", json!({})), ("c", json!({"parent": "b"}))]).unwrap();
    assert!(matches!(put(&[("a", json!({"parent": "c"}))]), Err(Refused::Cycle { .. })));
    assert!(put(&[("d", json!({})), ("e", json!({"parent": "nobody"}))]).is_err());
    assert!(world.ledger.entity(world.space, b"d").is_none());
    let ids = |after: Option<&[u8]>, max| {
        let page = world.ledger.entities(world.space, after, max);
        page.iter().map(|entity| entity.id.clone()).collect::<Vec<_>>()
    };
    assert_eq!((ids(None, 2), ids(Some(b"b"), 9)), (vec!["a".into(), "b".into()], vec!["c".into()]));
}

#[test]
fn settings_are_checked_where_they_are_set() {
    let world = World::new();
    let set = |scope, json: serde_json::Value| {
        world.edit(Edit::SetScope { scope, patch: serde_json::from_value(json).unwrap() })
    };
    assert!(matches!(set(Scope::System, json!({"mode": "disabled"})), Err(Refused::InvalidSetting(_))));
    assert!(matches!(set(resource("a"), json!({"on_expiry": "keep"})), Err(Refused::InvalidSetting(_))));
    assert!(matches!(
        set(resource("a"), json!({"limits": ["x=1/s", "x=2/s"]})),
        Err(Refused::InvalidTerms(_))
    ));
    assert!(matches!(set(resource("4"), json!({})), Err(Refused::InvalidName(_))));
    assert!(matches!(set(Scope::System, json!({"lease_ttl_ms": 0})), Err(Refused::InvalidTtl { .. })));
    let remove = Edit::RemoveScope { scope: resource("a") };
    assert_eq!(world.edit(remove).unwrap_err().to_string(), "nothing is set for resource `a`");
}

#[test]
fn all_that_is_set_is_exported_and_can_be_applied_elsewhere() {
    let world = World::new();
    world.limit(Scope::System, &["rpm=5/minute"]);
    world.limit(resource("gpt-4"), &["tpm=5/minute"]);
    world.create("acme", json!({"name": "Acme"}));
    world.create("key", json!({"parent": "acme", "cascade": true}));
    world.set(entity("key", "_default_"), json!({"mode": "bypass"}));
    let expected = json!({
        "system": {"limits": [{"name": "rpm", "amount": 5, "period": "minute"}]},
        "resources": {"gpt-4": {"limits": [{"name": "tpm", "amount": 5, "period": "minute"}]}},
        "entities": {
            "acme": {"name": "Acme"},
            "key": {"parent": "acme", "cascade": true, "limits": {"_default_": {"mode": "bypass"}}},
        },
    });
    assert_eq!(world.ledger.export(world.space), expected);
    assert_eq!(world.ledger.scopes(world.space).len(), 3);
}

#[test]
fn rows_may_come_in_any_order() {
    let world = World::new();
    let mut rows = Vec::new();
    for edit in [
        Edit::CreateEntity { id: "a".into(), patch: EntityPatch::default() },
        Edit::CreateEntity { id: "b".into(), patch: patch(json!({"parent": "a", "cascade": true})) },
        Edit::SetScope {
            scope: resource("r"),
            patch: serde_json::from_value(json!({"limits": ["n=5/minute"]})).unwrap(),
        },
        Edit::SetScope {
            scope: entity("b", "r"),
            patch: serde_json::from_value(json!({"limits": ["n=3/minute"]})).unwrap(),
        },
    ] {
        let plan = world.ledger.plan(world.space, &edit, world.now).unwrap();
        world.ledger.apply(&plan.kept, world.now).unwrap();
        rows.extend(plan.kept);
    }
    rows.reverse();
    let other = World::new();
    other.ledger.apply(&rows, other.now).unwrap();
    assert_eq!(other.ledger.export(other.space), world.ledger.export(world.space));
    other.granted("b", "r", &[("n", 3)]);
    assert_eq!(other.left("a", "r", "n"), 2);
    assert_eq!(other.ledger.children(other.space, b"a", None, 9).len(), 1);
}

#[test]
fn namespaces_are_worlds_of_their_own_and_can_be_cleared() {
    let mut world = World::new();
    world.limit(resource("r"), &["n=5/minute", "inflight=1"]);
    world.create("a", json!({}));
    world.granted("a", "r", &[("n", 5)]);
    let first = world.space;
    world.space = world.ledger.space("other").unwrap();
    assert!(matches!(world.refused("a", "r", &[("n", 1)]), Refused::NoLimits { .. }));
    world.limit(resource("r"), &["n=7/minute"]);
    world.granted("a", "r", &[("n", 7)]);
    world.ledger.clear_space(first);
    assert_eq!(world.left("a", "r", "n"), 0);
    assert_eq!(world.ledger.stats().leases, 1);
    world.space = first;
    assert!(matches!(world.refused("a", "r", &[("n", 1)]), Refused::NoLimits { .. }));
    assert_eq!(world.ledger.export(first), json!({"system": {}, "resources": {}, "entities": {}}));
}

#[test]
fn what_a_deleted_entity_held_is_full_again_under_the_next_level() {
    let world = World::new();
    world.limit(Scope::System, &["tpm=100/day"]);
    world.edit(Edit::CreateEntity { id: "acme".into(), patch: EntityPatch::default() }).unwrap();
    world.limit(entity("acme", "gpt-4"), &["tpm=50/day"]);
    drop(world.granted("acme", "gpt-4", &[("tpm", 40)]));
    world.edit(Edit::DeleteEntity { id: "acme".into() }).unwrap();
    assert_eq!(world.left("acme", "gpt-4", "tpm"), 100);
}
