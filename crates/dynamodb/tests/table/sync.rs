//! What buckets are told, and what becomes of them.

use crate::rows::{change, entity, kept, on, set};
use crate::setup::{NOW_MS, Setup, with_space};
use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::json;
use tidegate_dynamodb::layout::attribute::{self, Item, number, text};
use tidegate_dynamodb::layout::key::{self, Key, index};
use tidegate_dynamodb::{Freshness, Nsid};
use tidegate_ledger::{Entity, Kept, Scope};

/// A bucket as others make it.
async fn bucket(setup: &Setup, ns: &Nsid, id: &str, resource: &str) -> Key {
    let id = id.as_bytes();
    let key = Key::bucket(ns, id, resource, 0);
    let mut item = attribute::item(&key, ns, &index::space_bucket(id, resource, 0));
    let texts = [
        ("GSI2PK", key::resource_pk(ns, resource)),
        ("GSI2SK", index::resource_bucket(id, 0)),
        ("GSI3PK", key::entity_pk(ns, id)),
        ("GSI3SK", index::entity_bucket(resource, 0)),
    ];
    item.extend(texts.map(|(name, value)| (name.to_owned(), text(value))));
    let numbers = [
        ("b_rpm_tk", 500),
        ("b_rpm_cp", 1_000),
        ("b_rpm_ra", 1_000),
        ("b_rpm_rp", 1_000),
        ("b_rpm_tc", 500),
        ("rf", NOW_MS),
        ("ttl", 9_999_999_999),
    ];
    item.extend(numbers.map(|(name, value)| (name.to_owned(), number(value))));
    assert!(setup.table.put_new(item).await.unwrap());
    key
}

async fn read(setup: &Setup, key: &Key) -> Item {
    setup.table.get(key, Freshness::Consistent).await.unwrap().unwrap()
}

#[tokio::test]
async fn an_entitys_limits_reach_its_buckets() {
    let (setup, ns) = with_space().await;
    let (own, other) = (bucket(&setup, &ns, "a", "gpt-4").await, bucket(&setup, &ns, "a", "other").await);
    let defaults = set(&Scope::System, Some(json!({"limits": ["rpm=1/second"]})));
    change(&setup, &ns, &[defaults]).await.unwrap();
    change(&setup, &ns, &[set(&on("a", "gpt-4"), Some(json!({"limits": ["rpm=9/second"]})))]).await.unwrap();
    let item = read(&setup, &own).await;
    assert_eq!((&item["b_rpm_cp"], &item["vu"]), (&number(9_000), &number(0)));
    assert_eq!((&item["b_rpm_tk"], item.contains_key("ttl")), (&number(500), false));
    assert_eq!(read(&setup, &other).await["b_rpm_cp"], number(1_000));

    change(&setup, &ns, &[set(&on("a", "_default_"), Some(json!({"limits": ["rpm=7/second"]})))])
        .await
        .unwrap();
    assert_eq!(read(&setup, &own).await["b_rpm_cp"], number(9_000));
    assert_eq!(read(&setup, &other).await["b_rpm_cp"], number(7_000));

    change(&setup, &ns, &[set(&on("a", "gpt-4"), None), set(&on("a", "_default_"), None)]).await.unwrap();
    let item = read(&setup, &own).await;
    assert_eq!((&item["b_rpm_cp"], item.contains_key("ttl")), (&number(1_000), true));
}

#[tokio::test]
async fn a_resource_that_is_disabled_is_so_for_everybody() {
    let (setup, ns) = with_space().await;
    let keys = [bucket(&setup, &ns, "a", "gpt-4").await, bucket(&setup, &ns, "b", "gpt-4").await];
    let gpt4 = Scope::Resource("gpt-4".into());
    change(&setup, &ns, &[set(&gpt4, Some(json!({"mode": "disabled"})))]).await.unwrap();
    for key in &keys {
        assert_eq!(read(&setup, key).await["disabled"], AttributeValue::Bool(true));
    }
    change(&setup, &ns, &[set(&gpt4, None)]).await.unwrap();
    for key in &keys {
        assert!(!read(&setup, key).await.contains_key("disabled"));
    }
}

#[tokio::test]
async fn a_move_reaches_buckets_and_a_deletion_takes_them() {
    let (setup, ns) = with_space().await;
    let child = Entity { cascade: true, ..entity("a", None, 1) };
    change(&setup, &ns, &[kept(&entity("p", None, 1)), kept(&child)]).await.unwrap();
    let key = bucket(&setup, &ns, "a", "gpt-4").await;
    let moved = Entity { parent: Some("p".into()), version: 2, ..child };
    change(&setup, &ns, &[kept(&moved)]).await.unwrap();
    let item = read(&setup, &key).await;
    assert_eq!((&item["parent_id"], &item["cascade"]), (&text("p"), &AttributeValue::Bool(true)));
    let record = read(&setup, &Key::entity(&ns, b"a")).await;
    assert_eq!((&item["pgen"], &item["pinc"]), (&record["pgen"], &record["pinc"]));
    assert_eq!(record["pgen"], number(NOW_MS + 1));

    let call = Key::call(&ns, b"a", "gpt-4", "rpm=5/second");
    setup.table.put_new(attribute::item(&call, &ns, "CALL")).await.unwrap();
    let gone = Kept::Entity { space: "default".into(), id: b"a".to_vec(), json: None };
    change(&setup, &ns, &[set(&on("a", "gpt-4"), None), gone]).await.unwrap();
    for key in [key, call, Key::entity(&ns, b"a")] {
        assert_eq!(setup.table.get(&key, Freshness::Consistent).await.unwrap(), None, "{key:?}");
    }
}
