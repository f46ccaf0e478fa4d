//! Changes of entities and of what is set at a level: out of names and JSON, into what the engine is asked.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tidegate_core::ledger::Term;
use tidegate_core::ledger::name::DEFAULT_RESOURCE;
use tidegate_ledger::json::term_from_value;
use tidegate_ledger::{Edit, EntityPatch, Scope, ScopePatch};

use super::call::text;
use super::request::{Changed, Request};
use crate::api::Refusal;

const ENTITY_HINT: &str =
    r#"send {"name":"Acme","parent":"org","cascade":true,"weight":3,"metadata":{"plan":"pro"}}"#;
const SCOPE_HINT: &str = r#"send {"limits":["rpm=60/minute"],"cascade":true,"mode":"bypass"}"#;

/// A resource by its name; the default one if it is empty.
pub(super) fn resource(name: &[u8]) -> Result<String, Refusal> {
    match name {
        b"" => Ok(DEFAULT_RESOURCE.to_owned()),
        name => text("resource", name).map(str::to_owned),
    }
}

fn entity(id: &[u8]) -> Result<String, Refusal> {
    text("entity", id).map(str::to_owned)
}

/// Reads a JSON document; an empty one is an empty object.
pub(super) fn read<T: DeserializeOwned>(json: &[u8], hint: &'static str) -> Result<T, Refusal> {
    let json = match json.trim_ascii() {
        b"" => b"{}",
        json => json,
    };
    if !json.starts_with(b"{") {
        return Err(Refusal::invalid_request("this is no JSON object", hint));
    }
    serde_json::from_slice(json).map_err(|error| Refusal::invalid_request(error.to_string(), hint))
}

/// A limit as text, or as an object.
pub fn limit_of(value: &Value) -> Result<Term, Refusal> {
    term_from_value(value.clone()).map_err(|error| {
        let told = value.as_str().or_else(|| value.get("name").and_then(Value::as_str));
        Refusal::invalid_limit_of(told.unwrap_or_default(), error)
    })
}

/// An entity with its id.
#[derive(Deserialize)]
struct Identified {
    id: String,
    #[serde(flatten)]
    rest: serde_json::Map<String, Value>,
}

impl Identified {
    fn patch(self) -> Result<(String, EntityPatch), Refusal> {
        let patch = serde_json::from_value(Value::Object(self.rest));
        let patch = patch.map_err(|error| Refusal::invalid_request(error.to_string(), ENTITY_HINT))?;
        Ok((self.id, patch))
    }
}

impl Request {
    /// Makes an entity.
    pub fn create_entity(id: &[u8], json: &[u8]) -> Result<Request, Refusal> {
        let patch = read(json, ENTITY_HINT)?;
        Ok(Request::Edit(Edit::CreateEntity { id: entity(id)?, patch }, Changed::Document))
    }

    /// Makes an entity whose id is among what is said of it.
    pub fn create_identified(json: &[u8]) -> Result<Request, Refusal> {
        let hint = r#"send {"id":"acme","name":"Acme","parent":"org"}"#;
        let (id, patch) = read::<Identified>(json, hint)?.patch()?;
        Ok(Request::Edit(Edit::CreateEntity { id, patch }, Changed::Document))
    }

    /// Changes what is said of an entity, if it is still of the version that is said.
    pub fn update_entity(id: &[u8], json: &[u8], version: Option<u64>) -> Result<Request, Refusal> {
        let mut said: serde_json::Map<String, Value> = read(json, ENTITY_HINT)?;
        let among = said.remove("version").map(serde_json::from_value::<u64>).transpose();
        let among = among.map_err(|error| Refusal::invalid_request(error.to_string(), ENTITY_HINT))?;
        let patch = serde_json::from_value(Value::Object(said));
        let patch = patch.map_err(|error| Refusal::invalid_request(error.to_string(), ENTITY_HINT))?;
        let version = version.or(among);
        Ok(Request::Edit(Edit::UpdateEntity { id: entity(id)?, patch, version }, Changed::Document))
    }

    /// Makes entities, or changes those that are there.
    pub fn put_entities(json: &[u8]) -> Result<Request, Refusal> {
        let hint = r#"send [{"id":"acme","name":"Acme"},{"id":"acme-eu","parent":"acme"}]"#;
        let all: Vec<Identified> = serde_json::from_slice(json)
            .map_err(|error| Refusal::invalid_request(error.to_string(), hint))?;
        let count = all.len() as u64;
        let all = all.into_iter().map(Identified::patch).collect::<Result<_, _>>()?;
        Ok(Request::Edit(Edit::PutEntities(all), Changed::Count(count)))
    }

    /// Gives an entity another parent, or none.
    pub fn move_entity(id: &[u8], parent: Option<&[u8]>) -> Result<Request, Refusal> {
        let edit = Edit::MoveEntity { id: entity(id)?, parent: parent.map(entity).transpose()? };
        Ok(Request::Edit(edit, Changed::Document))
    }

    /// Deletes an entity.
    pub fn delete_entity(id: &[u8]) -> Result<Request, Refusal> {
        let id = entity(id)?;
        Ok(Request::Edit(Edit::DeleteEntity { id: id.clone() }, Changed::Deleted(id)))
    }

    /// Sets what holds at a level. What is left out stays, `null` unsets.
    pub fn set_scope(scope: Scope, json: &[u8]) -> Result<Request, Refusal> {
        let said: serde_json::Map<String, Value> = read(json, SCOPE_HINT)?;
        for limit in said.get("limits").and_then(Value::as_array).into_iter().flatten() {
            limit_of(limit)?;
        }
        let patch: Result<ScopePatch, _> = serde_json::from_value(Value::Object(said));
        let patch = patch.map_err(|error| Refusal::invalid_request(error.to_string(), SCOPE_HINT))?;
        Ok(Request::Edit(Edit::SetScope { scope, patch }, Changed::Settings))
    }

    /// Removes all that is set at a level.
    pub fn remove_scope(scope: Scope) -> Request {
        let told = Changed::Removed(scope_text(&scope));
        Request::Edit(Edit::RemoveScope { scope }, told)
    }
}

/// A level as it is told: `$SYSTEM`, `$RESOURCE:gpt-4`, `acme`, `acme/gpt-4`.
pub fn scope_text(scope: &Scope) -> String {
    match scope {
        Scope::Entity(_, resource) if resource != DEFAULT_RESOURCE => {
            format!("{}/{resource}", scope.subject())
        }
        scope => scope.subject(),
    }
}

/// The level of a resource.
pub fn resource_scope(name: &[u8]) -> Result<Scope, Refusal> {
    text("resource", name).map(|name| Scope::Resource(name.to_owned()))
}

/// The level of an entity on a resource. An empty resource is the default one.
pub fn entity_scope(entity: &[u8], name: &[u8]) -> Result<Scope, Refusal> {
    Ok(Scope::Entity(entity.to_vec(), resource(name)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_beside_the_change_or_in_it() {
        let version = |json: &[u8], beside| match Request::update_entity(b"a", json, beside).unwrap() {
            Request::Edit(Edit::UpdateEntity { version, .. }, _) => version,
            other => panic!("{other:?}"),
        };
        assert_eq!(version(br#"{"name":"A"}"#, None), None);
        assert_eq!(version(br#"{"name":"A","version":3}"#, None), Some(3));
        assert_eq!(version(b"{}", Some(4)), Some(4));
    }

    #[test]
    fn what_is_no_entity_is_refused() {
        for wrong in [&b"[]"[..], b"null", b"{", br#"{"colour":1}"#, br#"{"cascade":7}"#] {
            let refusal = Request::create_entity(b"a", wrong).unwrap_err();
            assert_eq!(refusal.code().as_str(), "invalid_request");
        }
        assert!(Request::create_identified(br#"{"name":"A"}"#).is_err());
        assert!(Request::put_entities(br#"{"id":"a"}"#).is_err());
        assert!(Request::put_entities(br#"[{"id":"a","cascade":true},{"id":"b"}]"#).is_ok());
    }

    #[test]
    fn levels_are_told_by_name() {
        assert_eq!(scope_text(&Scope::System), "$SYSTEM");
        assert_eq!(scope_text(&resource_scope(b"gpt-4").unwrap()), "$RESOURCE:gpt-4");
        assert_eq!(scope_text(&entity_scope(b"acme", b"").unwrap()), "acme");
        assert_eq!(scope_text(&entity_scope(b"acme", b"gpt-4").unwrap()), "acme/gpt-4");
        assert!(Request::set_scope(Scope::System, br#"{"limits":["rpm=x"]}"#).is_err());
    }
}
