//! Which limits apply, and why.

use serde::{Deserialize, Serialize};

use super::scope::Mode;
use super::term::Term;

/// Which limits apply to an entity on a resource.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Resolved {
    /// The entity.
    pub entity: String,
    /// The resource.
    pub resource: String,
    /// The level that the limits come from: `entity`, `entity_default`, `resource`, `system` or `config`. Nothing if no
    /// level has limits.
    pub level: Option<String>,
    /// The limits.
    pub limits: Vec<Term>,
    /// Whether they are kept at all.
    pub mode: Option<Mode>,
    /// Whether the parent is charged too.
    pub cascade: bool,
    /// The parents that are charged too, nearest first.
    pub parents: Vec<ResolvedParent>,
}

/// A parent that is charged too.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ResolvedParent {
    /// Its id.
    pub entity: String,
    /// The level that its limits come from.
    pub level: Option<String>,
    /// Its limits.
    pub limits: Vec<Term>,
    /// Whether they are kept at all.
    pub mode: Option<Mode>,
}

/// An entity that has limits of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CustomLimits {
    /// The entity.
    pub entity: String,
    /// The resource, `_default_` for any.
    pub resource: String,
}

/// Some of them, and where the next ones begin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CustomPage {
    /// Who has limits of their own, by entity and resource.
    pub custom: Vec<CustomLimits>,
    /// The last of these, if there are more.
    #[serde(default)]
    pub next: Option<CustomLimits>,
}
