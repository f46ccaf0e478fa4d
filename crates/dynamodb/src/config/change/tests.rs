//! Tests of rows as writes.

use super::*;
use crate::layout::attribute::text;
use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::json;

fn ns() -> Nsid {
    Nsid::new("a7")
}

fn entity(value: serde_json::Value) -> Kept {
    let id = value["id"].as_str().unwrap().as_bytes().to_vec();
    Kept::Entity { space: "default".into(), id, json: Some(value.to_string().into_bytes()) }
}

fn scope_row(scope: &Scope, value: Option<serde_json::Value>) -> Kept {
    let json = value.map(|value| value.to_string().into_bytes());
    Kept::Scope { space: "default".into(), key: scope.to_bytes(), json }
}

fn acme(parent: Option<&str>, version: u64) -> Kept {
    entity(
        json!({"id": "acme", "parent": parent, "version": version, "created_at_ms": 5, "updated_at_ms": 6}),
    )
}

fn one(kept: &Kept, item: Option<Item>) -> Result<Option<Change>, Fault> {
    let seen = Seen::new(Row::of(kept).unwrap(), item);
    Ok(changes(&ns(), std::slice::from_ref(kept), &[seen], 1_000)?.pop())
}

fn put(change: &Change) -> &Item {
    match &change.write {
        Write::Put(item, expression) => {
            assert_eq!(expression.condition().unwrap(), "attribute_not_exists(#0)");
            item
        }
        other => panic!("{other:?}"),
    }
}

/// What an update sets and removes, by attribute.
fn update(change: &Change) -> (Item, Vec<String>) {
    let Write::Update(_, expression) = &change.write else { panic!("{:?}", change.write) };
    let told = expression.update().unwrap();
    let (names, values) = (expression.names().unwrap(), expression.values().unwrap());
    let (sets, removes) = told.split_once("REMOVE ").unwrap_or((&told, ""));
    let mut set = Item::new();
    for part in sets.trim_start_matches("SET ").trim().split(", ").filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once(" = ").unwrap();
        set.insert(names[name].clone(), values[value.trim()].clone());
    }
    let removed = removes.split(", ").filter(|part| !part.is_empty()).map(|name| names[name].clone());
    (set, removed.collect())
}

/// What is asked of an item, by attribute; none is that it is not there.
fn asked(write: &Write) -> Vec<(String, Option<AttributeValue>)> {
    let (Write::Update(_, expression) | Write::Delete(_, expression)) = write else { panic!("{write:?}") };
    let (names, values) = (expression.names().unwrap(), expression.values().unwrap_or_default());
    let told = expression.condition().unwrap();
    let mut asked = Vec::new();
    for part in
        told.split(" AND ").map(|part| part.strip_prefix('(').and_then(|p| p.strip_suffix(')')).unwrap())
    {
        if let Some((name, value)) = part.split_once(" = ") {
            asked.push((names[name].clone(), Some(values[value].clone())));
        } else if let Some(name) = part.strip_prefix("attribute_not_exists(") {
            asked.push((names[name.trim_end_matches(')')].clone(), None));
        }
    }
    asked
}

#[test]
fn a_new_entity_is_put_where_none_is() {
    let change = one(&acme(Some("top"), 1), None).unwrap().unwrap();
    let item = put(&change);
    assert_eq!(item["pgen"], number(1_000));
    assert_eq!(item["pinc"].as_s().unwrap().len(), 16);
    assert_eq!(item["GSI1SK"], text("CHILD#acme"));
    assert_eq!(change.appears, Some(true));
}

#[test]
fn a_move_is_counted_and_everything_else_stays() {
    let Write::Put(mut item, _) = one(&acme(Some("top"), 1), None).unwrap().unwrap().write else { panic!() };
    item.insert("somebody_elses".into(), text("x"));
    let change = one(&acme(None, 2), Some(item.clone())).unwrap().unwrap();
    let (set, removed) = update(&change);
    assert_eq!(set["pgen"], number(1_001));
    assert_eq!((set["parent_id"].clone(), set["version"].clone()), (AttributeValue::Null(true), number(2)));
    assert!(!set.contains_key("pinc") && !set.contains_key("PK"));
    assert_eq!(removed, ["GSI1PK", "GSI1SK"]);
    let asked = asked(&change.write);
    assert!(asked.contains(&("version".into(), Some(number(1)))));
    assert!(asked.contains(&("pgen".into(), Some(number(1_000)))));
    let change = one(&acme(Some("top"), 2), Some(item)).unwrap().unwrap();
    assert!(!update(&change).0.contains_key("pgen"));
}

#[test]
fn a_record_of_others_has_no_version_and_that_is_asked_for() {
    let item = Item::from([("entity_id".to_owned(), text("acme"))]);
    let change = one(&acme(None, 2), Some(item)).unwrap().unwrap();
    let asked = asked(&change.write);
    assert!(asked.contains(&("version".into(), None)) && asked.contains(&("pinc".into(), None)));
}

#[test]
fn settings_are_changed_in_place_and_counted() {
    let gpt4 = Scope::Entity(b"acme".to_vec(), "gpt-4".into());
    let before = scope_row(&gpt4, Some(json!({"limits": ["a=1/second", "b=2/second"], "cascade": true})));
    let Write::Put(item, _) = one(&before, None).unwrap().unwrap().write else { panic!() };
    let after = scope_row(&gpt4, Some(json!({"limits": ["a=1/second", "c=8"], "mode": "disabled"})));
    let change = one(&after, Some(item)).unwrap().unwrap();
    let (set, removed) = update(&change);
    assert_eq!(
        set,
        Item::from([
            ("config_version".to_owned(), number(2)),
            ("c_c".to_owned(), number(8)),
            ("disabled".to_owned(), AttributeValue::Bool(true)),
        ])
    );
    assert_eq!(removed, ["cascade", "l_b_cp", "l_b_ra", "l_b_rp"]);
    let asked = asked(&change.write);
    assert!(
        asked.contains(&("l_b_ra".into(), Some(number(2)))) && asked.contains(&("disabled".into(), None))
    );
    assert_eq!(change.appears, None);
}

#[test]
fn an_exemption_of_others_outlives_our_changes() {
    let gpt4 = Scope::Resource("gpt-4".into());
    let item = Item::from([("disabled".to_owned(), AttributeValue::Bool(false))]);
    let change =
        one(&scope_row(&gpt4, Some(json!({"cascade": false}))), Some(item.clone())).unwrap().unwrap();
    assert!(update(&change).1.is_empty());
    let change = one(&scope_row(&gpt4, Some(json!({"mode": "bypass"}))), Some(item)).unwrap().unwrap();
    assert_eq!(update(&change).0["disabled"], text("bypass"));
}

#[test]
fn removing_leaves_what_others_keep_there() {
    let item = Item::from([("on_unavailable".to_owned(), text("allow"))]);
    let change = one(&scope_row(&Scope::System, None), Some(item.clone())).unwrap().unwrap();
    assert!(matches!(change.write, Write::Delete(..)));
    assert_eq!(change.appears, Some(false));
    let mut kept = item;
    kept.insert("audit_retention_days".into(), number(30));
    let change = one(&scope_row(&Scope::System, None), Some(kept)).unwrap().unwrap();
    assert_eq!(update(&change), (Item::new(), vec!["on_unavailable".to_owned()]));
    assert!(one(&scope_row(&Scope::System, None), None).unwrap().is_none());
}

#[test]
fn what_was_not_read_or_not_understood_is_not_changed() {
    let row = scope_row(&Scope::System, Some(json!({"limits": ["a=1/second"]})));
    assert!(matches!(changes(&ns(), std::slice::from_ref(&row), &[], 1), Err(Fault::Bug(_))));
    let strange = Item::from([("w_x_cp".to_owned(), number(1))]);
    assert!(matches!(one(&row, Some(strange)), Err(Fault::Layout(_))));
    let long = Scope::Entity(vec![0xff; 257], "_default_".into());
    let refused = one(&scope_row(&long, Some(json!({"limits": ["a=1/second"]}))), None).unwrap_err();
    assert!(refused.to_string().contains("at most 768 bytes"), "{refused}");
}

#[test]
fn registries_learn_of_what_appears() {
    let mut registered = Registered::default();
    let gpt4 = Scope::Entity(b"acme".to_vec(), "gpt-4".into());
    let change = one(&scope_row(&gpt4, Some(json!({"cascade": true}))), None).unwrap().unwrap();
    assert_eq!(change.group(), b"acme");
    change.register(&mut registered);
    assert_eq!(registered.writes(&ns()).len(), 1);
}
