//! What is set at a level: limits, cascade, mode, and the system's defaults.

use serde::{Deserialize, Serialize};
use tidegate_core::ledger::name::{self, DEFAULT_RESOURCE, Named};
use tidegate_core::ledger::term::MAX_TERMS;
use tidegate_core::ledger::{Bound, Term};

use crate::json;
use crate::refused::{Refused, shown};

/// Whether limits act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Everything is admitted and counted, and nothing is debited.
    Bypass,
    /// Nothing is admitted.
    Disabled,
}

/// What becomes of a lease's tokens when it expires. Its slots come back either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnExpiry {
    /// They stay spent.
    #[default]
    Keep,
    /// They are given back.
    GiveBack,
}

/// What an acquire does while the store is unavailable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnUnavailable {
    /// It is refused.
    #[default]
    Block,
    /// It is decided in memory, and told to be so.
    Allow,
}

/// Where something is set.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The namespace.
    System,
    /// A resource, for all entities.
    Resource(String),
    /// An entity, for one resource or (`_default_`) for all.
    Entity(Vec<u8>, String),
}

impl Scope {
    /// The scope as the key of a kept row.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Scope::System => vec![b's'],
            Scope::Resource(resource) => [b"r", resource.as_bytes()].concat(),
            Scope::Entity(entity, resource) => [b"e", resource.as_bytes(), b"\0", entity].concat(),
        }
    }

    /// The scope that a row is about.
    pub fn from_bytes(bytes: &[u8]) -> Option<Scope> {
        match bytes.split_first()? {
            (b's', []) => Some(Scope::System),
            (b'r', resource) => Some(Scope::Resource(String::from_utf8(resource.to_vec()).ok()?)),
            (b'e', rest) => {
                let end = rest.iter().position(|byte| *byte == 0)?;
                let resource = String::from_utf8(rest[..end].to_vec()).ok()?;
                Some(Scope::Entity(rest[end + 1..].to_vec(), resource))
            }
            _ => None,
        }
    }

    /// As the audit names it: `$SYSTEM`, `$RESOURCE:name`, or the entity.
    pub fn subject(&self) -> String {
        match self {
            Scope::System => "$SYSTEM".into(),
            Scope::Resource(resource) => format!("$RESOURCE:{resource}"),
            Scope::Entity(entity, _) => shown(entity),
        }
    }

    pub(crate) fn check(&self) -> Result<(), Refused> {
        match self {
            Scope::System => Ok(()),
            Scope::Resource(resource) => Ok(name::check(Named::Resource, resource.as_bytes())?),
            Scope::Entity(entity, resource) => {
                name::check(Named::Resource, resource.as_bytes())?;
                // A throttle key is any bytes that begin with no zero byte.
                let key = resource == DEFAULT_RESOURCE && entity.first().is_some_and(|byte| *byte != 0);
                if key { Ok(()) } else { Ok(name::check(Named::Entity, entity)?) }
            }
        }
    }
}

/// All that is set at a scope. What is unsaid is left to the next level.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScopeSettings {
    /// Its limits; none leaves them to the next level.
    #[serde(with = "json::terms", skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<Term>,
    /// Whether parents are charged, too. Not on the system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cascade: Option<bool>,
    /// Whether limits act. Not on the system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// While the store is unavailable. On the system only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_unavailable: Option<OnUnavailable>,
    /// When a lease expires. On the system only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_expiry: Option<OnExpiry>,
    /// How long a lease is that says nothing. On the system only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_ttl_ms: Option<u64>,
}

impl ScopeSettings {
    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        *self == ScopeSettings::default()
    }

    pub(crate) fn check(&self, scope: &Scope, max_ttl_ms: u64) -> Result<(), Refused> {
        check_terms(&self.limits)?;
        let refuse = |what: &str| Err(Refused::InvalidSetting(what.into()));
        let system = *scope == Scope::System;
        if system && (self.cascade.is_some() || self.mode.is_some()) {
            return refuse("cascade and mode are set on an entity or a resource, not on the system");
        }
        if !system
            && (self.on_unavailable.is_some() || self.on_expiry.is_some() || self.lease_ttl_ms.is_some())
        {
            return refuse("on_unavailable, on_expiry and lease_ttl_ms are set on the system only");
        }
        match self.lease_ttl_ms {
            Some(ttl) if ttl == 0 || ttl > max_ttl_ms => Err(Refused::InvalidTtl { max_ms: max_ttl_ms }),
            _ => Ok(()),
        }
    }
}

/// Whether these may stand together at one level.
pub(crate) fn check_terms(terms: &[Term]) -> Result<(), Refused> {
    if terms.len() > MAX_TERMS {
        return Err(Refused::TooManyLimits { max: MAX_TERMS });
    }
    for (at, term) in terms.iter().enumerate() {
        name::check(Named::Limit, term.name.as_bytes())?;
        if matches!(term.bound, Bound::Concurrency(cap) if cap == 0 || cap > u64::from(u32::MAX)) {
            return Err(Refused::InvalidTerms(format!("`{}` has no sound cap", term.name)));
        }
        if terms[..at].iter().any(|other| other.name == term.name) {
            return Err(Refused::InvalidTerms(format!("`{}` is there twice", term.name)));
        }
    }
    Ok(())
}

/// A change of what is set: what is unsaid stays, `null` unsets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScopePatch {
    /// All limits of the scope, in place of those it has.
    #[serde(with = "json::some_terms", skip_serializing_if = "Option::is_none")]
    pub limits: Option<Vec<Term>>,
    /// See [`ScopeSettings`].
    #[serde(deserialize_with = "said", skip_serializing_if = "Option::is_none")]
    pub cascade: Option<Option<bool>>,
    /// See [`ScopeSettings`].
    #[serde(deserialize_with = "said", skip_serializing_if = "Option::is_none")]
    pub mode: Option<Option<Mode>>,
    /// See [`ScopeSettings`].
    #[serde(deserialize_with = "said", skip_serializing_if = "Option::is_none")]
    pub on_unavailable: Option<Option<OnUnavailable>>,
    /// See [`ScopeSettings`].
    #[serde(deserialize_with = "said", skip_serializing_if = "Option::is_none")]
    pub on_expiry: Option<Option<OnExpiry>>,
    /// See [`ScopeSettings`].
    #[serde(deserialize_with = "said", skip_serializing_if = "Option::is_none")]
    pub lease_ttl_ms: Option<Option<u64>>,
}

/// Tells a `null` from what is left out.
pub(crate) fn said<'de, D, T>(deserializer: D) -> Result<Option<Option<T>>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::<T>::deserialize(deserializer).map(Some)
}

impl ScopePatch {
    /// The patch that makes whatever is set into these settings.
    pub fn replacing(settings: ScopeSettings) -> ScopePatch {
        ScopePatch {
            limits: Some(settings.limits),
            cascade: Some(settings.cascade),
            mode: Some(settings.mode),
            on_unavailable: Some(settings.on_unavailable),
            on_expiry: Some(settings.on_expiry),
            lease_ttl_ms: Some(settings.lease_ttl_ms),
        }
    }

    pub(crate) fn applied_to(&self, old: &ScopeSettings) -> ScopeSettings {
        ScopeSettings {
            limits: self.limits.clone().unwrap_or_else(|| old.limits.clone()),
            cascade: self.cascade.unwrap_or(old.cascade),
            mode: self.mode.unwrap_or(old.mode),
            on_unavailable: self.on_unavailable.unwrap_or(old.on_unavailable),
            on_expiry: self.on_expiry.unwrap_or(old.on_expiry),
            lease_ttl_ms: self.lease_ttl_ms.unwrap_or(old.lease_ttl_ms),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_is_read_as_it_was_written() {
        let scopes = [
            Scope::System,
            Scope::Resource("gpt-4".into()),
            Scope::Entity(b"acme".to_vec(), "gpt-4".into()),
            Scope::Entity(b"any\0bytes".to_vec(), DEFAULT_RESOURCE.into()),
        ];
        for scope in scopes {
            assert_eq!(Scope::from_bytes(&scope.to_bytes()), Some(scope));
        }
        assert_eq!(Scope::from_bytes(b"x"), None);
    }

    #[test]
    fn a_patch_tells_null_from_unsaid() {
        let old: ScopeSettings =
            serde_json::from_str(r#"{"limits":["a=1/second"],"cascade":true,"mode":"bypass"}"#).unwrap();
        let patch: ScopePatch = serde_json::from_str(r#"{"mode":null}"#).unwrap();
        let new = patch.applied_to(&old);
        assert_eq!((new.mode, new.cascade, new.limits.len()), (None, Some(true), 1));
        let patch: ScopePatch = serde_json::from_str(r#"{"limits":null}"#).unwrap();
        assert_eq!(patch.applied_to(&old).limits, []);
        assert_eq!(ScopePatch::replacing(new.clone()).applied_to(&old), new);
    }
}
