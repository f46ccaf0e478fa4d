//! An event as an item, as others write theirs: what there was and what there is are its details.

use serde_json::{Map, Value, json};
use tidegate_ledger::Event;
use tidegate_store::history::AuditEvent;

use super::ulid;
use crate::layout::attribute::{self, Item, number, text, text_of, text_or_null};
use crate::layout::json as layout_json;
use crate::layout::key::{AUDIT, Key, Nsid};
use crate::layout::time;
use aws_sdk_dynamodb::types::AttributeValue;

/// An event as an item. `kept_ms` is how long; none is for ever.
pub fn item(ns: &Nsid, event: &Event, name: &str, kept_ms: Option<u64>) -> Item {
    let key = Key::audit(ns, &event.subject, name);
    let mut item = attribute::item(&key, ns, &key.pk);
    let details = Map::from_iter([
        ("before".to_owned(), event.before.clone().unwrap_or_default()),
        ("after".to_owned(), event.after.clone().unwrap_or_default()),
    ]);
    item.insert("entity_id".into(), text(&*event.subject));
    item.insert("event_id".into(), text(name));
    item.insert("timestamp".into(), text(time::text(event.at_ms)));
    item.insert("action".into(), text(event.action));
    item.insert("principal".into(), text_or_null(Some(&*event.actor).filter(|actor| !actor.is_empty())));
    item.insert("resource".into(), text_or_null(resource(event)));
    item.insert("details".into(), AttributeValue::M(layout_json::map(&details)));
    if !layout_json::is_kept(&details) {
        item.insert("details_json".into(), text(Value::Object(details).to_string()));
    }
    if let Some(kept_ms) = kept_ms {
        item.insert("ttl".into(), number(event.at_ms.saturating_add(kept_ms) / 1000));
    }
    item
}

/// The resource that an event is about.
fn resource(event: &Event) -> Option<&str> {
    let told = event.after.as_ref().or(event.before.as_ref());
    let said = told.and_then(|told| told.get("resource")?.as_str());
    event.subject.strip_prefix("$RESOURCE:").or(said)
}

/// Reads an event, ours or one of others.
pub fn read(item: &Item) -> Option<AuditEvent> {
    let name = text_of(item, "SK")?.strip_prefix(AUDIT)?;
    let seq = ulid::number(name)?;
    let details = match (text_of(item, "details_json"), item.get("details")) {
        (Some(said), _) => serde_json::from_str(said).ok()?,
        (None, Some(AttributeValue::M(fields))) => layout_json::object(fields),
        (None, _) => Map::new(),
    };
    // Others have no before and after: whatever they tell is what there is.
    let ours = details.contains_key("before") || details.contains_key("after");
    let (before, after) = match ours {
        true => (
            details.get("before").cloned().unwrap_or_default(),
            details.get("after").cloned().unwrap_or_default(),
        ),
        false => (Value::Null, Value::Object(details)),
    };
    let said = json!({
        "actor": text_of(item, "principal").unwrap_or_default(),
        "action": text_of(item, "action")?,
        "before": before,
        "after": after,
    });
    Some(AuditEvent {
        seq,
        at_ms: ulid::at_ms(seq),
        subject: text_of(item, "entity_id")?.to_owned(),
        json: said.to_string().into_bytes(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(before: Option<Value>, after: Option<Value>) -> Event {
        Event {
            space: "default".into(),
            at_ms: 1_709_212_029_123,
            actor: "cli".into(),
            action: "limits_set",
            subject: "acme".into(),
            before,
            after,
        }
    }

    fn named(event: &Event) -> Item {
        item(
            &Nsid::new("a7"),
            event,
            &super::ulid::first_of(super::ulid::number_at(event.at_ms)),
            Some(86_400_000),
        )
    }

    #[test]
    fn an_item_has_what_others_write() {
        let item = named(&event(None, Some(json!({"resource": "gpt-4", "limits": []}))));
        let mut names: Vec<&str> = item.keys().map(String::as_str).collect();
        names.sort_unstable();
        assert_eq!(
            names,
            [
                "GSI4PK",
                "GSI4SK",
                "PK",
                "SK",
                "action",
                "details",
                "entity_id",
                "event_id",
                "principal",
                "resource",
                "timestamp",
                "ttl"
            ]
        );
        assert_eq!(item["PK"], text("a7/AUDIT#acme"));
        assert_eq!(item["timestamp"], text("2024-02-29T13:07:09Z"));
        assert_eq!(item["resource"], text("gpt-4"));
        assert_eq!(item["ttl"], number(1_709_212_029u64 + 86_400));
    }

    #[test]
    fn an_event_is_read_as_it_was_written() {
        let told = event(Some(json!({"a": 1})), Some(json!({"a": 2, "ratio": 0.25})));
        let read = read(&named(&told)).unwrap();
        assert_eq!((read.at_ms, &*read.subject), (told.at_ms, "acme"));
        let said: Value = serde_json::from_slice(&read.json).unwrap();
        assert_eq!(
            said,
            json!({"actor": "cli", "action": "limits_set", "before": {"a": 1}, "after": {"a": 2, "ratio": 0.25}})
        );
    }

    #[test]
    fn an_event_of_others_is_read() {
        let mut item = named(&event(None, None));
        let limits = AttributeValue::M([("limits".to_owned(), AttributeValue::L(vec![]))].into());
        item.insert("details".into(), limits);
        item.insert("principal".into(), AttributeValue::Null(true));
        let said: Value = serde_json::from_slice(&read(&item).unwrap().json).unwrap();
        assert_eq!(
            said,
            json!({"actor": "", "action": "limits_set", "before": null, "after": {"limits": []}})
        );
    }
}
