//! Items as other clients write and read them.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::types::AttributeValue;
use tidegate_dynamodb::layout::attribute::{number, text, text_of};
use tidegate_ledger::Refused;

use crate::world::{World, system};

#[test]
fn a_bucket_that_is_made_has_what_others_expect() {
    let world = World::new();
    world.set(&system(), &["rpm=100/minute"]);
    let node = world.node();
    assert!(world.acquire(&node, "acme", &[("rpm", 1)]).unwrap());
    let item = world.bucket("acme").unwrap();
    let theirs = [
        "PK",
        "SK",
        "entity_id",
        "resource",
        "rf",
        "GSI2PK",
        "GSI2SK",
        "GSI3PK",
        "GSI3SK",
        "GSI4PK",
        "GSI4SK",
        "cascade",
        "shard_count",
        "ttl",
        "b_wcu_tk",
        "b_wcu_cp",
        "b_wcu_ra",
        "b_wcu_rp",
        "b_wcu_tc",
        "b_rpm_tk",
        "b_rpm_cp",
        "b_rpm_ra",
        "b_rpm_rp",
        "b_rpm_tc",
    ];
    let names: BTreeSet<&str> = item.keys().map(String::as_str).collect();
    let ours: Vec<_> = names.difference(&theirs.into()).copied().collect();
    // What a refill left over, if it was drawn from twice already.
    assert!(ours == ["w_1"] || ours == ["b_rpm_rr", "w_1"], "{ours:?}");
    assert!(theirs.iter().all(|name| names.contains(name)));
    let ns = world.ns.as_str();
    assert_eq!(text_of(&item, "GSI2PK"), Some(&*format!("{ns}/RESOURCE#gpt-4")));
    assert_eq!(text_of(&item, "GSI3SK"), Some("BUCKET#gpt-4#0"));
    assert_eq!((world.number("acme", "b_rpm_cp"), world.number("acme", "b_rpm_rp")), (100_000, 60_000));
    node.stop();
}

#[test]
fn a_bucket_with_a_schedule_is_refused_until_it_is_gone() {
    let world = World::new();
    world.set(&system(), &["rpm=100/minute"]);
    let node = world.node();
    assert!(world.acquire(&node, "acme", &[("rpm", 1)]).unwrap());
    node.stop();
    let plain = world.bucket("acme").unwrap();
    let mut scheduled = plain.clone();
    scheduled.insert("b_rpm_sched".into(), text("1|0 0 * * *|s500"));
    world.put(scheduled.clone());
    let node = world.node();
    world.until("it is refused", || {
        matches!(world.acquire(&node, "acme", &[("rpm", 1)]), Err(Refused::Unsupported { .. }))
    });
    assert_eq!(world.bucket("acme").unwrap(), scheduled);
    world.put(plain);
    world.until("it is used again", || matches!(world.acquire(&node, "acme", &[("rpm", 1)]), Ok(true)));
    node.stop();
}

#[test]
fn what_others_take_is_gone_and_what_they_disable_is_not_drawn_from() {
    let world = World::new();
    world.set(&system(), &["rpm=100/day"]);
    let node = world.node();
    assert!(world.acquire(&node, "acme", &[("rpm", 1)]).unwrap());
    node.stop();
    // As their fast path does: the level moves, the time of refill does not.
    let mut item = world.bucket("acme").unwrap();
    item.insert("b_rpm_tk".into(), number(7_000));
    world.put(item.clone());
    let node = world.node();
    let passed = (0..20).filter(|_| world.acquire(&node, "acme", &[("rpm", 1)]).unwrap()).count();
    assert_eq!(passed, 7);
    node.stop();
    item.insert("disabled".into(), AttributeValue::Bool(true));
    world.put(item);
    let node = world.node();
    assert!(!world.acquire(&node, "acme", &[("rpm", 1)]).unwrap());
    node.stop();
}

#[test]
fn a_name_that_is_too_long_is_refused_and_holds_up_nobody() {
    let world = World::new();
    world.set(&system(), &["rpm=100/minute"]);
    let node = world.node();
    // A throttle key is any bytes, and these are three times as many in a key of the table.
    let (space, long) = (node.ledger.space("default").unwrap(), [b'#'; 300]);
    let missing = || node.ledger.missing(space, &long, crate::world::RESOURCE, world.clock.now()).unwrap();
    world.runtime.block_on(node.ledger.decided(missing().unwrap()));
    assert_eq!(missing(), None);
    assert!(world.acquire(&node, "acme", &[("rpm", 1)]).unwrap());
    node.stop();
}

#[test]
fn stamps_of_an_owner_that_was_moved_are_set_right() {
    use tidegate_dynamodb::layout::key::Key;
    let world = World::new();
    world.set(&system(), &["rpm=100/minute"]);
    let node = world.node();
    assert!(world.acquire(&node, "child", &[("rpm", 1)]).unwrap());
    node.stop();
    let key = Key::entity(&world.ns, b"child");
    let record = [
        ("PK", text(key.pk)),
        ("SK", text(key.sk)),
        ("entity_id", text("child")),
        ("name", text("child")),
        ("parent_id", text("parent")),
        ("cascade", AttributeValue::Bool(true)),
        ("metadata", AttributeValue::M(Default::default())),
        ("created_at", text("2026-01-01T00:00:00Z")),
        ("pgen", number(3)),
        ("pinc", text("0123456789abcdef")),
    ];
    world.put(record.into_iter().map(|(name, value)| (name.to_owned(), value)).collect());
    let node = world.node();
    world.until("the stamps are set", || {
        world.acquire(&node, "child", &[("rpm", 1)]).unwrap();
        text_of(&world.bucket("child").unwrap(), "parent_id") == Some("parent")
    });
    let item = world.bucket("child").unwrap();
    assert_eq!(text_of(&item, "pinc"), Some("0123456789abcdef"));
    assert_eq!((world.number("child", "pgen"), &item["cascade"]), (3, &AttributeValue::Bool(true)));
    node.stop();
    // The parent pays, too.
    assert!(world.bucket("parent").is_some());
}
