//! Who holds limits.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// An entity: a project, an API key, a tenant. One needs no record to be limited, only to have a parent, a weight or
/// something to say about it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Entity {
    /// Its id.
    pub id: String,
    /// Its name, for people.
    pub name: Option<String>,
    /// The entity that it belongs to.
    pub parent: Option<String>,
    /// Whether its parent is charged too.
    pub cascade: bool,
    /// The weight of its messages where they bring none.
    pub weight: Option<u32>,
    /// What else is known about it.
    pub metadata: Map<String, Value>,
    /// Goes up by one with every change: for [`update_version`](super::Entities::update_version).
    pub version: u64,
    /// When it was made, in milliseconds since the epoch.
    pub created_at_ms: u64,
    /// When it was last changed.
    pub updated_at_ms: u64,
}

/// Some parts of an entity: for a new one, where the others have their defaults, or for a change, where the others stay
/// as they are.
///
/// ```
/// use tidegate_client::EntityPatch;
///
/// let patch = EntityPatch::new().parent("acme").cascade(true).weight(3).metadata("plan", "pro");
/// assert_eq!(patch.as_json()["parent"], "acme");
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EntityPatch(Map<String, Value>);

impl EntityPatch {
    /// Nothing.
    pub fn new() -> EntityPatch {
        EntityPatch::default()
    }

    /// Parts by their names, as the server has them.
    pub fn from_json(parts: Map<String, Value>) -> EntityPatch {
        EntityPatch(parts)
    }

    /// The parts by their names.
    pub fn as_json(&self) -> &Map<String, Value> {
        &self.0
    }

    /// Sets any part by its name. The server refuses what it does not know.
    pub fn set(mut self, part: &str, value: impl Into<Value>) -> EntityPatch {
        self.0.insert(part.to_owned(), value.into());
        self
    }

    /// Its name, for people.
    pub fn name(self, name: &str) -> EntityPatch {
        self.set("name", name)
    }

    /// The entity that a new one belongs to. See [`move_to`](super::Entities::move_to) for one that is there.
    pub fn parent(self, parent: &str) -> EntityPatch {
        self.set("parent", parent)
    }

    /// Whether its parent is charged too.
    pub fn cascade(self, cascade: bool) -> EntityPatch {
        self.set("cascade", cascade)
    }

    /// The weight of its messages where they bring none.
    pub fn weight(self, weight: u32) -> EntityPatch {
        self.set("weight", weight)
    }

    /// One thing that is known about it. What is known already and not said again is gone, if any is said.
    pub fn metadata(mut self, key: &str, value: impl Into<Value>) -> EntityPatch {
        let all = self.0.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(all) = all {
            all.insert(key.to_owned(), value.into());
        }
        self
    }

    pub(super) fn to_vec(&self) -> Vec<u8> {
        Value::Object(self.0.clone()).to_string().into_bytes()
    }
}
