//! What an administrator changes, what of it is kept, and what is told about it.

use serde_json::Value;

use crate::entity::EntityPatch;
use crate::settings::{Scope, ScopePatch};

/// A change of entities or settings.
#[derive(Clone, Debug, PartialEq)]
pub enum Edit {
    /// Makes an entity that does not exist.
    CreateEntity {
        /// Its id.
        id: String,
        /// What it is.
        patch: EntityPatch,
    },
    /// Changes an entity that exists.
    UpdateEntity {
        /// Its id.
        id: String,
        /// What changes.
        patch: EntityPatch,
        /// The version that it must have.
        version: Option<u64>,
    },
    /// Makes or changes many, all or none. A parent may be among them.
    PutEntities(Vec<(String, EntityPatch)>),
    /// Puts an entity below another, or on top.
    MoveEntity {
        /// Its id.
        id: String,
        /// Its new parent.
        parent: Option<String>,
    },
    /// Deletes an entity with its settings and buckets.
    DeleteEntity {
        /// Its id.
        id: String,
    },
    /// Deletes several with their settings and buckets, all or none. A child of one is among them, or leaves it by an
    /// edit that goes before.
    DeleteEntities {
        /// Their ids, children first.
        ids: Vec<String>,
        /// Those that leave.
        moved: Vec<String>,
    },
    /// Changes what is set somewhere.
    SetScope {
        /// Where.
        scope: Scope,
        /// What changes.
        patch: ScopePatch,
    },
    /// Removes all that is set somewhere.
    RemoveScope {
        /// Where.
        scope: Scope,
    },
}

/// A row as it is kept; nothing if it is removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// An entity.
    Entity {
        /// Its namespace.
        space: String,
        /// Its id.
        id: Vec<u8>,
        /// What is kept of it.
        json: Option<Vec<u8>>,
    },
    /// What is set somewhere.
    Scope {
        /// The namespace.
        space: String,
        /// Where: [`Scope::to_bytes`].
        key: Vec<u8>,
        /// What is kept of it.
        json: Option<Vec<u8>>,
    },
}

/// What an edit would do.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Rows to keep, and then to apply.
    pub kept: Vec<Kept>,
    /// What to tell about it, one per subject.
    pub changes: Vec<Changed>,
}

/// A change as the audit tells it.
#[derive(Clone, Debug, PartialEq)]
pub struct Changed {
    /// `$SYSTEM`, `$RESOURCE:name`, or the entity's id.
    pub subject: String,
    /// What was done.
    pub action: &'static str,
    /// What there was.
    pub before: Option<Value>,
    /// What there is.
    pub after: Option<Value>,
}
