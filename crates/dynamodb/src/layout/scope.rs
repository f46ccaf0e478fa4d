//! What is set somewhere, as an item.

use aws_sdk_dynamodb::types::AttributeValue;
use tidegate_ledger::{Mode, OnExpiry, OnUnavailable, Scope, ScopeSettings};

use super::attribute::{self, Item, flag_of, number, number_of, text, text_of};
use super::escape::{escaped, unescaped};
use super::key::{self, Key, Nsid, index};
use super::terms;

/// What says who is admitted at all: a flag, or `bypass`.
pub const DISABLED: &str = "disabled";
/// What says whether parents are charged.
pub const CASCADE: &str = "cascade";
/// How often an item was written. Others always write 1.
pub const VERSION: &str = "config_version";

const BYPASS: &str = "bypass";

/// What we set beside limits.
const FIELDS: [&str; 5] = [DISABLED, CASCADE, "on_unavailable", "on_expiry", "lease_ttl_ms"];

/// What is set, as it was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Read {
    /// What we know of it.
    pub settings: ScopeSettings,
    /// Limits are said to act here, whatever is said further up.
    pub is_enforced: bool,
}

/// The key of what is set somewhere.
pub fn key(ns: &Nsid, scope: &Scope) -> Key {
    match scope {
        Scope::System => Key::system_config(ns),
        Scope::Resource(resource) => Key::resource_config(ns, resource),
        Scope::Entity(entity, resource) => Key::entity_config(ns, entity, resource),
    }
}

/// The scope that an item is about, by its key.
pub fn of_key(ns: &Nsid, key: &Key) -> Option<Scope> {
    let place = key.pk.strip_prefix(ns.as_str())?.strip_prefix('/')?;
    if let Some(entity) = place.strip_prefix("ENTITY#") {
        let resource = key.sk.strip_prefix(key::CONFIG)?.strip_prefix('#')?;
        return Some(Scope::Entity(unescaped(entity), resource.into()));
    }
    match place.strip_prefix("RESOURCE#") {
        _ if key.sk != key::CONFIG => None,
        Some(resource) => Some(Scope::Resource(resource.into())),
        None => (place == "SYSTEM#").then_some(Scope::System),
    }
}

/// The item of what is set somewhere, keys of indexes included.
pub fn item(ns: &Nsid, scope: &Scope, settings: &ScopeSettings) -> Item {
    let key = key(ns, scope);
    let mut item = attribute::item(&key, ns, &key.pk);
    match scope {
        Scope::System => {}
        Scope::Resource(resource) => {
            item.insert("resource".into(), text(resource));
        }
        Scope::Entity(entity, resource) => {
            item.insert("entity_id".into(), text(escaped(entity)));
            item.insert("resource".into(), text(resource));
            item.insert("GSI3PK".into(), text(index::entity_config(ns, resource)));
            item.insert("GSI3SK".into(), text(escaped(entity)));
        }
    }
    item.insert(VERSION.into(), number(1));
    put(settings, &mut item);
    item
}

fn put(settings: &ScopeSettings, item: &mut Item) {
    terms::put(&settings.limits, item);
    let mut set = |name: &str, value: Option<AttributeValue>| {
        item.extend(value.map(|value| (name.to_owned(), value)));
    };
    set(DISABLED, settings.mode.map(disabled));
    set(CASCADE, settings.cascade.map(AttributeValue::Bool));
    set("on_unavailable", settings.on_unavailable.map(|action| text(on_unavailable(action))));
    set("on_expiry", settings.on_expiry.map(|action| text(on_expiry(action))));
    set("lease_ttl_ms", settings.lease_ttl_ms.map(number));
}

/// Whether an attribute of an item is written by whoever sets something.
pub fn is_set(name: &str) -> bool {
    FIELDS.contains(&name) || terms::is_about_limits(name)
}

/// Reads what is set. What is not understood is told.
pub fn read(item: &Item) -> Result<Read, String> {
    let (mode, is_enforced) = match item.get(DISABLED) {
        None => (None, false),
        Some(AttributeValue::Bool(true)) => (Some(Mode::Disabled), false),
        Some(AttributeValue::Bool(false)) => (None, true),
        Some(AttributeValue::S(word)) if word == BYPASS => (Some(Mode::Bypass), false),
        Some(_) => return Err("`disabled` is of a later release".into()),
    };
    let word = |name: &'static str| text_of(item, name).ok_or_else(|| format!("`{name}` is no text"));
    let settings = ScopeSettings {
        limits: terms::read(item)?,
        cascade: flag_of(item, CASCADE),
        mode,
        on_unavailable: match item.contains_key("on_unavailable") {
            true => Some(read_on_unavailable(word("on_unavailable")?)?),
            false => None,
        },
        on_expiry: match item.contains_key("on_expiry") {
            true => Some(read_on_expiry(word("on_expiry")?)?),
            false => None,
        },
        lease_ttl_ms: number_of(item, "lease_ttl_ms"),
    };
    Ok(Read { settings, is_enforced })
}

fn disabled(mode: Mode) -> AttributeValue {
    match mode {
        Mode::Disabled => AttributeValue::Bool(true),
        Mode::Bypass => text(BYPASS),
    }
}

fn on_unavailable(action: OnUnavailable) -> &'static str {
    match action {
        OnUnavailable::Block => "block",
        OnUnavailable::Allow => "allow",
    }
}

fn read_on_unavailable(word: &str) -> Result<OnUnavailable, String> {
    match word {
        "block" => Ok(OnUnavailable::Block),
        "allow" => Ok(OnUnavailable::Allow),
        other => Err(format!("`on_unavailable` is `{other}`, and neither block nor allow")),
    }
}

fn on_expiry(action: OnExpiry) -> &'static str {
    match action {
        OnExpiry::Keep => "keep",
        OnExpiry::GiveBack => "give_back",
    }
}

fn read_on_expiry(word: &str) -> Result<OnExpiry, String> {
    match word {
        "keep" => Ok(OnExpiry::Keep),
        "give_back" => Ok(OnExpiry::GiveBack),
        other => Err(format!("`on_expiry` is `{other}`, and neither keep nor give_back")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn settings(value: serde_json::Value) -> ScopeSettings {
        serde_json::from_value(value).unwrap()
    }

    fn ns() -> Nsid {
        Nsid::new("a7")
    }

    #[test]
    fn an_item_is_as_others_write_it() {
        let entity = Scope::Entity(b"acme".to_vec(), "gpt-4".into());
        let item = item(&ns(), &entity, &settings(json!({"limits": ["rpm=100/minute"]})));
        let expected = [
            ("PK", text("a7/ENTITY#acme")),
            ("SK", text("#CONFIG#gpt-4")),
            ("entity_id", text("acme")),
            ("resource", text("gpt-4")),
            ("config_version", number(1)),
            ("GSI3PK", text("a7/ENTITY_CONFIG#gpt-4")),
            ("GSI3SK", text("acme")),
            ("GSI4PK", text("a7")),
            ("GSI4SK", text("a7/ENTITY#acme")),
            ("l_rpm_cp", number(100)),
            ("l_rpm_ra", number(100)),
            ("l_rpm_rp", number(60)),
        ];
        assert_eq!(item, expected.map(|(name, value)| (name.into(), value)).into());
    }

    #[test]
    fn what_is_set_is_read_as_it_was_written() {
        let cases = [
            (
                Scope::System,
                json!({"limits": ["a=1/second"], "on_unavailable": "allow", "on_expiry": "give_back", "lease_ttl_ms": 5}),
            ),
            (Scope::System, json!({"on_unavailable": "block", "on_expiry": "keep"})),
            (Scope::Resource("gpt-4".into()), json!({"mode": "disabled", "cascade": false})),
            (
                Scope::Entity(b"a#b".to_vec(), "_default_".into()),
                json!({"mode": "bypass", "cascade": true, "limits": ["x=5"]}),
            ),
        ];
        for (scope, told) in cases {
            let told = settings(told);
            let item = item(&ns(), &scope, &told);
            assert_eq!(read(&item), Ok(Read { settings: told, is_enforced: false }));
            let key = attribute::key_of(&item).unwrap();
            assert_eq!(of_key(&ns(), &key), Some(scope));
        }
    }

    #[test]
    fn what_is_not_understood_is_told() {
        let mut item = Item::from([(DISABLED.into(), AttributeValue::Bool(false))]);
        assert!(read(&item).unwrap().is_enforced);
        item.insert(DISABLED.into(), text("later"));
        assert!(read(&item).unwrap_err().contains("later release"));
        item.insert(DISABLED.into(), text(BYPASS));
        item.insert("on_unavailable".into(), text("panic"));
        assert!(read(&item).unwrap_err().contains("`panic`"));
    }

    #[test]
    fn keys_of_other_items_are_no_scope() {
        for (pk, sk) in [
            ("a7/SYSTEM#", "#VERSION"),
            ("a7/ENTITY#x", "#META"),
            ("b/SYSTEM#", "#CONFIG"),
            ("a7/AUDIT#x", "#CONFIG"),
        ] {
            assert_eq!(of_key(&ns(), &Key::new(pk, sk)), None);
        }
    }
}
