//! Where limits are set, and what is set there.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::acquire::{OnExpiry, OnUnavailable};
use super::term::Term;
use crate::queue::millis;

/// A place where limits are set. The first that has limits wins whole: the entity on the resource, the entity on any
/// resource, the resource, the system.
///
/// ```
/// use tidegate_client::Scope;
///
/// let scopes = [Scope::System, Scope::resource("gpt-4"), Scope::entity("acme"), Scope::entity_on("acme", "gpt-4")];
/// let words = scopes.map(|scope| scope.to_string());
/// assert_eq!(words, ["the system", "resource gpt-4", "entity acme", "entity acme on gpt-4"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// All of the namespace.
    System,
    /// A resource, whoever uses it.
    Resource(String),
    /// An entity, on one resource or on any.
    Entity {
        /// The entity.
        entity: String,
        /// The resource; nothing for any.
        resource: Option<String>,
    },
}

impl Scope {
    /// A resource, whoever uses it.
    pub fn resource(resource: impl Into<String>) -> Scope {
        Scope::Resource(resource.into())
    }

    /// An entity, on any resource.
    pub fn entity(entity: impl Into<String>) -> Scope {
        Scope::Entity { entity: entity.into(), resource: None }
    }

    /// An entity on one resource.
    pub fn entity_on(entity: impl Into<String>, resource: impl Into<String>) -> Scope {
        Scope::Entity { entity: entity.into(), resource: Some(resource.into()) }
    }

    /// As the command has it.
    pub(super) fn words(&self) -> Vec<&[u8]> {
        match self {
            Scope::System => vec![b"SYSTEM"],
            Scope::Resource(resource) => vec![b"RESOURCE", resource.as_bytes()],
            Scope::Entity { entity, resource: None } => vec![b"ENTITY", entity.as_bytes()],
            Scope::Entity { entity, resource: Some(resource) } => {
                vec![b"ENTITY", entity.as_bytes(), resource.as_bytes()]
            }
        }
    }
}

impl std::fmt::Display for Scope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Scope::System => f.write_str("the system"),
            Scope::Resource(resource) => write!(f, "resource {resource}"),
            Scope::Entity { entity, resource: None } => write!(f, "entity {entity}"),
            Scope::Entity { entity, resource: Some(resource) } => write!(f, "entity {entity} on {resource}"),
        }
    }
}

/// Whether limits are kept at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Everything is refused.
    Disabled,
    /// Everything is granted; nothing is taken, usage is counted.
    Bypass,
}

/// What is set at a scope.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScopeSettings {
    /// Its limits.
    pub limits: Vec<Term>,
    /// Whether the parent is charged too, if this says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cascade: Option<bool>,
    /// Whether limits are kept at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// What is answered while the server cannot write; of the system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_unavailable: Option<OnUnavailable>,
    /// What becomes of a lease's tokens when it expires; of the system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_expiry: Option<OnExpiry>,
    /// How long a lease lasts unless it says; of the system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_ttl_ms: Option<u64>,
}

/// Some settings of a scope: what is not said stays as it is.
///
/// ```
/// use tidegate_client::{ScopePatch, Term};
///
/// let patch = ScopePatch::new().limits([Term::per_minute("rpm", 60), Term::concurrency("inflight", 8)]);
/// assert_eq!(patch.as_json()["limits"][1]["concurrency"], 8);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScopePatch(Map<String, Value>);

impl ScopePatch {
    /// Nothing.
    pub fn new() -> ScopePatch {
        ScopePatch::default()
    }

    /// Settings by their names, as the server has them.
    pub fn from_json(settings: Map<String, Value>) -> ScopePatch {
        ScopePatch(settings)
    }

    /// The settings by their names.
    pub fn as_json(&self) -> &Map<String, Value> {
        &self.0
    }

    /// Sets any setting by its name. The server refuses what it does not know.
    pub fn set(mut self, name: &str, value: impl Into<Value>) -> ScopePatch {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    /// Unsays a setting.
    pub fn reset(self, name: &str) -> ScopePatch {
        self.set(name, Value::Null)
    }

    /// These limits, and no others.
    pub fn limits(self, terms: impl IntoIterator<Item = Term>) -> ScopePatch {
        self.set("limits", terms.into_iter().map(|term| json(&term)).collect::<Vec<Value>>())
    }

    /// Whether the parent is charged too.
    pub fn cascade(self, cascade: bool) -> ScopePatch {
        self.set("cascade", cascade)
    }

    /// Disables or bypasses; `None` for neither.
    pub fn mode(self, mode: Option<Mode>) -> ScopePatch {
        self.set("mode", json(&mode))
    }

    /// What is answered while the server cannot write; of the system.
    pub fn on_unavailable(self, on_unavailable: OnUnavailable) -> ScopePatch {
        self.set("on_unavailable", on_unavailable.as_str())
    }

    /// What becomes of a lease's tokens when it expires; of the system.
    pub fn on_expiry(self, on_expiry: OnExpiry) -> ScopePatch {
        self.set("on_expiry", on_expiry.as_str())
    }

    /// How long a lease lasts unless it says; of the system.
    pub fn lease_ttl(self, ttl: Duration) -> ScopePatch {
        self.set("lease_ttl_ms", millis(ttl))
    }

    pub(super) fn to_vec(&self) -> Vec<u8> {
        Value::Object(self.0.clone()).to_string().into_bytes()
    }
}

fn json(value: &impl Serialize) -> Value {
    serde_json::to_value(value).expect("numbers and words become JSON")
}
