//! An entity as callers see it, and how it is changed.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::refused::Refused;
use crate::settings::said;

/// The most levels of entities, the topmost included.
pub const MAX_LEVELS: usize = 8;

/// The most bytes of an entity's metadata as JSON.
const MAX_METADATA_BYTES: usize = 16 * 1024;

/// The most bytes of an entity's name for people.
const MAX_NAME_BYTES: usize = 512;

/// Who is limited.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entity {
    /// What it is called everywhere.
    pub id: String,
    /// What people call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Who is above it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Whether its parent is charged, too, unless a setting says otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cascade: bool,
    /// Its share of a queue, unless a message or a hook says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<u32>,
    /// Whatever its owner wants to know about it.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// Changes with every change.
    pub version: u64,
    /// When it was made.
    pub created_at_ms: u64,
    /// When it was last changed.
    pub updated_at_ms: u64,
}

impl Entity {
    /// As JSON.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or(Value::Null)
    }
}

/// A change of an entity: what is unsaid stays, `null` unsets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EntityPatch {
    /// See [`Entity`].
    #[serde(deserialize_with = "said", skip_serializing_if = "Option::is_none")]
    pub name: Option<Option<String>>,
    /// See [`Entity`]. It must exist.
    #[serde(deserialize_with = "said", skip_serializing_if = "Option::is_none")]
    pub parent: Option<Option<String>>,
    /// See [`Entity`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cascade: Option<bool>,
    /// See [`Entity`].
    #[serde(deserialize_with = "said", skip_serializing_if = "Option::is_none")]
    pub weight: Option<Option<u32>>,
    /// All metadata, in place of what it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
}

impl EntityPatch {
    pub(crate) fn check(&self) -> Result<(), Refused> {
        let refuse = |what: String| Err(Refused::InvalidSetting(what));
        if self.weight == Some(Some(0)) {
            return refuse("a weight is at least 1".into());
        }
        if self.name.iter().flatten().any(|name| name.len() > MAX_NAME_BYTES) {
            return refuse(format!("a name has at most {MAX_NAME_BYTES} bytes"));
        }
        let metadata = self.metadata.as_ref().and_then(|metadata| serde_json::to_string(metadata).ok());
        if metadata.is_some_and(|text| text.len() > MAX_METADATA_BYTES) {
            return refuse(format!("metadata has at most {MAX_METADATA_BYTES} bytes as JSON"));
        }
        Ok(())
    }

    /// What becomes of an entity, or of none.
    pub(crate) fn applied_to(&self, old: Option<&Entity>, id: &str, now_ms: u64) -> Entity {
        let old = old.cloned().unwrap_or_else(|| Entity {
            id: id.into(),
            name: None,
            parent: None,
            cascade: false,
            weight: None,
            metadata: Map::new(),
            version: 0,
            created_at_ms: now_ms,
            updated_at_ms: now_ms,
        });
        Entity {
            name: self.name.clone().unwrap_or(old.name),
            parent: self.parent.clone().unwrap_or(old.parent),
            cascade: self.cascade.unwrap_or(old.cascade),
            weight: self.weight.unwrap_or(old.weight),
            metadata: self.metadata.clone().unwrap_or(old.metadata),
            version: old.version + 1,
            updated_at_ms: now_ms.max(old.updated_at_ms),
            ..old
        }
    }
}
