//! An entity's record, as an item.
//!
//! Beside what others write it has `version`, `weight`, `created_at_ms`, `updated_at_ms`, and `metadata_json` for metadata
//! that a map of attributes does not give back as it was.

use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::Map;
use tidegate_ledger::Entity;

use super::attribute::{self, Item, flag_of, number, number_of, text, text_of, text_or_null};
use super::escape::unescaped;
use super::json;
use super::key::{Key, Nsid, index};
use super::time;

/// Counts moves of an entity, from the time of its creation on.
pub const GENERATION: &str = "pgen";
/// Tells an entity from one of the same name before it.
pub const INCARNATION: &str = "pinc";

/// What only some records have.
pub const OPTIONAL: [&str; 4] = ["GSI1PK", "GSI1SK", "weight", "metadata_json"];

/// What tells an entity's state to whoever makes a bucket for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// How often it was moved.
    pub generation: Option<u64>,
    /// Which of all entities with this name it is.
    pub incarnation: Option<String>,
}

impl Stamp {
    /// Of a record that was read.
    pub fn of(item: &Item) -> Stamp {
        Stamp {
            generation: number_of(item, GENERATION),
            incarnation: text_of(item, INCARNATION).map(str::to_owned),
        }
    }

    /// Of an entity that is made now.
    pub fn new(now_ms: u64, incarnation: String) -> Stamp {
        Stamp { generation: Some(now_ms), incarnation: Some(incarnation) }
    }

    /// After a move.
    pub fn moved(self) -> Stamp {
        Stamp { generation: Some(self.generation.unwrap_or(0) + 1), ..self }
    }
}

/// The item of an entity.
pub fn item(ns: &Nsid, entity: &Entity, stamp: &Stamp) -> Item {
    let id = entity.id.as_bytes();
    let key = Key::entity(ns, id);
    let mut item = attribute::item(&key, ns, &key.pk);
    let mut set = |name: &str, value: AttributeValue| drop(item.insert(name.into(), value));
    set("entity_id", text(super::escape::escaped(id)));
    set("name", text(entity.name.as_deref().unwrap_or(&entity.id)));
    set("parent_id", text_or_null(entity.parent.as_deref()));
    set("cascade", AttributeValue::Bool(entity.cascade));
    set("metadata", AttributeValue::M(json::map(&entity.metadata)));
    set("created_at", text(time::text(entity.created_at_ms)));
    set("version", number(entity.version));
    set("created_at_ms", number(entity.created_at_ms));
    set("updated_at_ms", number(entity.updated_at_ms));
    if let Some(generation) = stamp.generation {
        set(GENERATION, number(generation));
    }
    if let Some(incarnation) = &stamp.incarnation {
        set(INCARNATION, text(incarnation));
    }
    if let Some(parent) = &entity.parent {
        set("GSI1PK", text(index::parent(ns, parent.as_bytes())));
        set("GSI1SK", text(index::child(id)));
    }
    if let Some(weight) = entity.weight {
        set("weight", number(weight));
    }
    if !json::is_kept(&entity.metadata) {
        set("metadata_json", text(serde_json::Value::Object(entity.metadata.clone()).to_string()));
    }
    item
}

/// Reads an entity.
pub fn read(item: &Item) -> Result<Entity, String> {
    let id = text_of(item, "entity_id").ok_or("an entity's record has no `entity_id`")?;
    let id = String::from_utf8(unescaped(id)).map_err(|_| "an entity's id is no text")?;
    let metadata = match (text_of(item, "metadata_json"), item.get("metadata")) {
        (Some(said), _) => {
            serde_json::from_str(said).map_err(|_| format!("`metadata_json` of `{id}` is no JSON object"))?
        }
        (None, Some(AttributeValue::M(fields))) => json::object(fields),
        (None, _) => Map::new(),
    };
    let created = text_of(item, "created_at").and_then(time::parse_ms);
    let created_at_ms = number_of(item, "created_at_ms").or(created).unwrap_or(0);
    Ok(Entity {
        name: text_of(item, "name").filter(|name| *name != id).map(str::to_owned),
        parent: text_of(item, "parent_id").map(str::to_owned),
        cascade: flag_of(item, "cascade").unwrap_or(false),
        weight: number_of(item, "weight"),
        metadata,
        version: number_of(item, "version").unwrap_or(1),
        created_at_ms,
        updated_at_ms: number_of(item, "updated_at_ms").unwrap_or(created_at_ms),
        id,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entity(value: serde_json::Value) -> Entity {
        serde_json::from_value(value).unwrap()
    }

    fn stamp() -> Stamp {
        Stamp::new(1_709_212_029_123, "0123456789abcdef".into())
    }

    #[test]
    fn an_item_is_as_others_write_it_and_a_little_more() {
        let told = entity(json!({
            "id": "k1", "parent": "acme", "cascade": true, "metadata": {"tier": "gold"},
            "version": 1, "created_at_ms": 1_709_212_029_123u64, "updated_at_ms": 1_709_212_029_123u64
        }));
        let mut item = item(&Nsid::new("a7"), &told, &stamp());
        for own in ["version", "created_at_ms", "updated_at_ms"] {
            assert!(item.remove(own).is_some());
        }
        let tier = AttributeValue::M([("tier".to_owned(), text("gold"))].into());
        let expected = [
            ("PK", text("a7/ENTITY#k1")),
            ("SK", text("#META")),
            ("entity_id", text("k1")),
            ("name", text("k1")),
            ("parent_id", text("acme")),
            ("cascade", AttributeValue::Bool(true)),
            ("pgen", number(1_709_212_029_123u64)),
            ("pinc", text("0123456789abcdef")),
            ("metadata", tier),
            ("created_at", text("2024-02-29T13:07:09Z")),
            ("GSI4PK", text("a7")),
            ("GSI4SK", text("a7/ENTITY#k1")),
            ("GSI1PK", text("a7/PARENT#acme")),
            ("GSI1SK", text("CHILD#k1")),
        ];
        assert_eq!(item, expected.map(|(name, value)| (name.into(), value)).into());
    }

    #[test]
    fn an_entity_is_read_as_it_was_written() {
        let cases = [
            json!({"id": "a/b", "version": 7, "created_at_ms": 1, "updated_at_ms": 2}),
            json!({
                "id": "a", "name": "A", "parent": "p", "cascade": true, "weight": 9,
                "metadata": {"n": 1, "l": [1, null], "m": {"x": "y"}},
                "version": 1, "created_at_ms": 1_709_212_029_123u64, "updated_at_ms": 1_709_212_029_124u64
            }),
            json!({"id": "a", "metadata": {"ratio": 0.5, "": 1}, "version": 1, "created_at_ms": 1, "updated_at_ms": 2}),
        ];
        for value in cases {
            let told = entity(value);
            assert_eq!(read(&item(&Nsid::new("a7"), &told, &stamp())).unwrap(), told);
        }
    }

    #[test]
    fn a_record_of_others_is_read() {
        let item = Item::from([
            ("entity_id".to_owned(), text("k1")),
            ("name".to_owned(), text("k1")),
            ("parent_id".to_owned(), AttributeValue::Null(true)),
            ("created_at".to_owned(), text("2024-02-29T13:07:09Z")),
        ]);
        let told = entity(json!({
            "id": "k1", "version": 1, "created_at_ms": 1_709_212_029_000u64, "updated_at_ms": 1_709_212_029_000u64
        }));
        assert_eq!(read(&item).unwrap(), told);
        assert_eq!(Stamp::of(&item), Stamp::default());
        assert!(read(&Item::new()).is_err());
    }

    #[test]
    fn a_move_is_counted() {
        assert_eq!(stamp().moved().generation, Some(1_709_212_029_124));
        assert_eq!(Stamp::default().moved().generation, Some(1));
    }
}
