//! Declarative limits: a manifest says what is to be set, and what has to change for that is worked out here.
//!
//! What was applied last is remembered, so that what has left the manifest since is removed, and what others have set
//! stays. A level in the manifest is set as a whole. An entity's fields are merged: what the manifest says is set, what
//! it said before and says no more is unset. An entity with nothing but limits needs no record, and gets none, unless
//! another one names it as its parent; one that has got one keeps it for as long as it is named.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tidegate_core::Nanos;
use tidegate_ledger::{Edit, Entity, EntityPatch, Ledger, Scope, ScopePatch, ScopeSettings, SpaceId};

use super::edit::scope_text;
use crate::api::Refusal;

/// What is to be set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Manifest {
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<ScopeSettings>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    resources: BTreeMap<String, ScopeSettings>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    entities: BTreeMap<String, Entry>,
}

/// What is to be set for an entity.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Entry {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cascade: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    weight: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    limits: BTreeMap<String, ScopeSettings>,
}

impl Entry {
    /// Whether it says more than limits, or nothing at all: then there is to be an entity.
    fn is_entity(&self) -> bool {
        let only_limits = Entry { limits: self.limits.clone(), ..Entry::default() };
        self.limits.is_empty() || *self != only_limits
    }

    /// What makes an entity into this, where `before` is what was applied last.
    fn patch(&self, before: Option<&Entry>) -> EntityPatch {
        fn said<T: Clone>(now: &Option<T>, before: Option<&Option<T>>) -> Option<Option<T>> {
            let unsaid = before.is_some_and(Option::is_some) && now.is_none();
            (now.is_some() || unsaid).then(|| now.clone())
        }
        EntityPatch {
            name: said(&self.name, before.map(|entry| &entry.name)),
            parent: said(&self.parent, before.map(|entry| &entry.parent)),
            weight: said(&self.weight, before.map(|entry| &entry.weight)),
            cascade: said(&self.cascade, before.map(|entry| &entry.cascade)).map(Option::unwrap_or_default),
            metadata: said(&self.metadata, before.map(|entry| &entry.metadata))
                .map(Option::unwrap_or_default),
        }
    }
}

/// What has to be done, and what is told of it.
#[derive(Clone, Debug, Default)]
pub struct Work {
    /// In this order.
    pub edits: Vec<Edit>,
    /// The manifest as it is remembered once this is done.
    pub applied: Manifest,
    changes: Vec<Value>,
}

impl Work {
    /// `{"changes":[...]}`
    pub fn document(&self) -> Value {
        json!({ "changes": self.changes })
    }

    fn note(&mut self, subject: &str, before: Option<Value>, after: Option<Value>) {
        let action = match (&before, &after) {
            (None, _) => "create",
            (_, None) => "delete",
            _ => "update",
        };
        self.changes.push(json!({"action": action, "subject": subject, "before": before, "after": after}));
    }
}

/// What is wrong, but not where, if it is what the JSON says: the JSON was made out of YAML, and whoever wrote that
/// has never seen its lines. JSON that is none was written by hand, and keeps its place.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    match text.strip_suffix(&place) {
        Some(what) if error.is_data() => what.to_owned(),
        _ => text,
    }
}

impl Manifest {
    /// Out of JSON.
    pub fn parse(json: &[u8]) -> Result<Manifest, Refusal> {
        // serde would take a list for an object, field by field.
        if !json.trim_ascii_start().starts_with(b"{") {
            return Err(Refusal::invalid_manifest("a manifest is a JSON object"));
        }
        serde_json::from_slice(json).map_err(|error| Refusal::invalid_manifest(without_place(&error)))
    }

    /// As it is remembered.
    pub fn to_bytes(&self) -> Vec<u8> {
        crate::api::queue::document::write(self)
    }

    /// The levels that it sets.
    fn scopes(&self) -> BTreeMap<String, (Scope, &ScopeSettings)> {
        let system = self.system.iter().map(|settings| (Scope::System, settings));
        let resources =
            self.resources.iter().map(|(name, settings)| (Scope::Resource(name.clone()), settings));
        let entities = self.entities.iter().flat_map(|(id, entry)| {
            let scope = |name: &String| Scope::Entity(id.clone().into_bytes(), name.clone());
            entry.limits.iter().map(move |(name, settings)| (scope(name), settings))
        });
        let all = system.chain(resources).chain(entities).filter(|(_, settings)| !settings.is_empty());
        all.map(|(scope, settings)| (scope_text(&scope), (scope, settings))).collect()
    }

    /// Whom it names.
    #[cfg(feature = "dynamodb")]
    pub(super) fn ids(&self) -> impl Iterator<Item = &String> {
        self.entities.iter().flat_map(|(id, entry)| std::iter::once(id).chain(&entry.parent))
    }

    /// The levels that it names.
    #[cfg(feature = "dynamodb")]
    pub(super) fn all_scopes(&self) -> Vec<Scope> {
        self.scopes().into_values().map(|(scope, _)| scope).collect()
    }

    /// The entries that are entities: what they say, and what is said of them here or was before, makes them so.
    fn records(&self, before: &Manifest) -> BTreeMap<&String, &Entry> {
        let parents: BTreeSet<&String> =
            self.entities.values().filter_map(|entry| entry.parent.as_ref()).collect();
        let made = |id: &String| before.entities.get(id).is_some_and(Entry::is_entity);
        let all = self.entities.iter();
        all.filter(|(id, entry)| entry.is_entity() || parents.contains(id) || made(id)).collect()
    }

    /// The same manifest, in which whatever is an entity says so by itself.
    fn telling(&self, before: &Manifest) -> Manifest {
        let mut told = self.clone();
        for (id, entry) in self.records(before) {
            let cascade = entry.cascade.or((!entry.is_entity()).then_some(false));
            told.entities.insert(id.clone(), Entry { cascade, ..entry.clone() });
        }
        told
    }

    /// What has to change, given what was applied last.
    pub fn work(&self, before: &Manifest, now: &Present<'_>) -> Result<Work, Refusal> {
        let mut work = Work { applied: self.telling(before), ..Work::default() };
        self.entities_to_put(before, now, &mut work)?;
        self.scopes_to_set(now, &mut work)?;
        let gone = self.entities_to_delete(before, now);
        for (subject, (scope, _)) in before.scopes() {
            let with_entity =
                matches!(&scope, Scope::Entity(id, _) if gone.iter().any(|(gone, _)| gone.as_bytes() == id));
            let Some(settings) = now.scope(&scope) else { continue };
            if !with_entity && !self.scopes().contains_key(&subject) {
                work.note(&subject, Some(settings), None);
                work.edits.push(Edit::RemoveScope { scope });
            }
        }
        for (id, entity) in &gone {
            work.note(id, Some(entity.to_value()), None);
        }
        if !gone.is_empty() {
            let ids = gone.into_iter().map(|(id, _)| id).collect();
            work.edits.push(Edit::DeleteEntities { ids, moved: self.moved(before, now) });
        }
        Ok(work)
    }

    /// Entities that are not there, or other than they are to be: in one edit, so that parents may be among them.
    fn entities_to_put(&self, before: &Manifest, now: &Present<'_>, work: &mut Work) -> Result<(), Refusal> {
        let mut put = Vec::new();
        for (id, entry) in self.records(before) {
            let patch = entry.patch(before.entities.get(id));
            if now.entity(id).is_none_or(|entity| !fits(&entity, &patch)) {
                put.push((id.clone(), patch));
            }
        }
        if put.is_empty() {
            return Ok(());
        }
        let edit = Edit::PutEntities(put);
        now.note(&edit, work)?;
        work.edits.push(edit);
        Ok(())
    }

    /// Entities that get another parent, or none.
    fn moved(&self, before: &Manifest, now: &Present<'_>) -> Vec<String> {
        let moves = |(id, entry): &(&String, &Entry)| {
            let parent = entry.patch(before.entities.get(*id)).parent;
            parent.is_some_and(|parent| now.entity(id).is_some_and(|entity| entity.parent != parent))
        };
        self.records(before).into_iter().filter(moves).map(|(id, _)| id.clone()).collect()
    }

    fn scopes_to_set(&self, now: &Present<'_>, work: &mut Work) -> Result<(), Refusal> {
        for (subject, (scope, settings)) in self.scopes() {
            let found = now.ledger.scope(now.space, &scope);
            if found.as_deref() == Some(settings) {
                continue;
            }
            let edit = Edit::SetScope { scope, patch: ScopePatch::replacing(settings.clone()) };
            now.ledger.plan(now.space, &edit, now.now)?;
            work.note(&subject, found.map(|found| value(&found)), Some(value(settings)));
            work.edits.push(edit);
        }
        Ok(())
    }

    /// Entities that an earlier manifest made and this one does not name, children first.
    fn entities_to_delete(
        &self,
        before: &Manifest,
        now: &Present<'_>,
    ) -> Vec<(String, std::sync::Arc<Entity>)> {
        let made = before.entities.iter().filter(|(_, entry)| entry.is_entity()).map(|(id, _)| id);
        let gone = made.filter(|id| !self.entities.contains_key(*id));
        let mut gone: Vec<_> = gone.filter_map(|id| Some((id.clone(), now.entity(id)?))).collect();
        gone.sort_by_key(|(id, _)| std::cmp::Reverse(now.depth(id)));
        gone
    }
}

/// What is set now.
pub struct Present<'a> {
    /// All of it.
    pub ledger: &'a Ledger,
    /// Where.
    pub space: SpaceId,
    /// When.
    pub now: Nanos,
}

impl Present<'_> {
    fn entity(&self, id: &str) -> Option<std::sync::Arc<Entity>> {
        self.ledger.entity(self.space, id.as_bytes())
    }

    fn scope(&self, scope: &Scope) -> Option<Value> {
        self.ledger.scope(self.space, scope).map(|settings| value(&settings))
    }

    fn depth(&self, id: &str) -> usize {
        let mut parent = self.entity(id).and_then(|entity| entity.parent.clone());
        let mut depth = 0;
        while let Some(id) = parent.filter(|_| depth < tidegate_ledger::MAX_LEVELS) {
            depth += 1;
            parent = self.entity(&id).and_then(|entity| entity.parent.clone());
        }
        depth
    }

    /// Notes what an edit would do, as the ledger sees it.
    fn note(&self, edit: &Edit, work: &mut Work) -> Result<(), Refusal> {
        let plan = self.ledger.plan(self.space, edit, self.now)?;
        plan.changes.into_iter().for_each(|change| work.note(&change.subject, change.before, change.after));
        Ok(())
    }
}

/// Whether a patch would change nothing.
fn fits(entity: &Entity, patch: &EntityPatch) -> bool {
    patch.name.as_ref().is_none_or(|name| *name == entity.name)
        && patch.parent.as_ref().is_none_or(|parent| *parent == entity.parent)
        && patch.weight.is_none_or(|weight| weight == entity.weight)
        && patch.cascade.is_none_or(|cascade| cascade == entity.cascade)
        && patch.metadata.as_ref().is_none_or(|metadata| *metadata == entity.metadata)
}

fn value(settings: &ScopeSettings) -> Value {
    serde_json::to_value(settings).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(now: &Manifest, before: &Manifest) -> Vec<String> {
        now.records(before).into_keys().cloned().collect()
    }

    #[test]
    fn who_has_nothing_but_limits_is_an_entity_if_a_child_or_the_past_says_so() {
        let limits = r#""limits":{"gpt-4":{"limits":["rpm=5/minute"]}}"#;
        let parse = |json: String| Manifest::parse(json.as_bytes()).unwrap();
        let bare = parse(format!(r#"{{"entities":{{"acme":{{{limits}}}}}}}"#));
        assert_eq!(records(&bare, &Manifest::default()), Vec::<String>::new());
        let family = parse(format!(r#"{{"entities":{{"acme":{{{limits}}},"key":{{"parent":"acme"}}}}}}"#));
        assert_eq!(records(&family, &Manifest::default()), ["acme", "key"]);
        let named = parse(format!(r#"{{"entities":{{"acme":{{"name":"Acme",{limits}}}}}}}"#));
        assert_eq!(records(&bare, &named), ["acme"]);
        // It is still known to be one two manifests later.
        let (first, second) = (family.telling(&Manifest::default()), bare.telling(&named));
        assert_eq!(records(&bare, &first), ["acme"]);
        assert_eq!(records(&bare, &bare.telling(&second)), ["acme"]);
    }

    #[test]
    fn a_place_is_told_only_in_what_was_written_as_json() {
        let refused = |json: &str| Manifest::parse(json.as_bytes()).unwrap_err().message().to_owned();
        assert_eq!(
            refused(r#"{"colour":1}"#),
            "unknown field `colour`, expected one of `system`, `resources`, `entities`"
        );
        for wrong in [
            r#"{"system":{"limits":["rpm"]}}"#,
            r#"{"entities":{"acme":{"weight":"heavy"}}}"#,
            r#"{"resources":{"gpt-4":{"limits":[{"name":"rpm"}]}}}"#,
        ] {
            let told = refused(wrong);
            assert!(!told.contains(" column "), "{told}");
        }
        assert!(refused(r#"{"system":}"#).ends_with(" at line 1 column 11"));
    }
}
