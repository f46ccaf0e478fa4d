//! What an edit would do: checked, and told as rows to keep. Nothing changes before they are applied.

use std::collections::BTreeMap;

use serde_json::Value;
use tidegate_core::Nanos;
use tidegate_core::ledger::name::{self, Named};

use crate::edit::{Changed, Edit, Kept, Plan};
use crate::entity::{Entity, EntityPatch, MAX_LEVELS};
use crate::ledger::Ledger;
use crate::refused::{Refused, shown};
use crate::settings::{Scope, ScopePatch, ScopeSettings};
use crate::space::{Space, SpaceId};

/// Entities as they would be.
type Planned = BTreeMap<String, Entity>;

impl Ledger {
    /// What an edit would do. One writer plans, keeps and applies, one edit after another.
    pub fn plan(&self, space: SpaceId, edit: &Edit, now: Nanos) -> Result<Plan, Refused> {
        let (space, now_ms) = (self.at(space), now / 1_000_000);
        match edit {
            Edit::CreateEntity { id, patch } => {
                if self.entity(space.id, id.as_bytes()).is_some() {
                    return Err(Refused::EntityExists(id.clone()));
                }
                self.plan_entities(space, [(id, patch)], "entity_created", now_ms)
            }
            Edit::UpdateEntity { id, patch, version } => {
                let found = self.found(space, id)?.version;
                match version {
                    Some(expected) if *expected != found => {
                        Err(Refused::VersionMismatch { entity: id.clone(), expected: *expected, found })
                    }
                    _ => self.plan_entities(space, [(id, patch)], "entity_updated", now_ms),
                }
            }
            Edit::MoveEntity { id, parent } => {
                self.found(space, id)?;
                let patch = EntityPatch { parent: Some(parent.clone()), ..EntityPatch::default() };
                self.plan_entities(space, [(id, &patch)], "entity_moved", now_ms)
            }
            Edit::PutEntities(entities) => {
                let entities = entities.iter().map(|(id, patch)| (id, patch));
                self.plan_entities(space, entities, "entity_put", now_ms)
            }
            Edit::DeleteEntity { id } => self.plan_deletion(space, id, &[]),
            Edit::DeleteEntities { ids, moved } => {
                let leaving: Vec<&str> = ids.iter().chain(moved).map(String::as_str).collect();
                let mut all = Plan { kept: Vec::new(), changes: Vec::new() };
                for id in ids {
                    let Plan { kept, changes } = self.plan_deletion(space, id, &leaving)?;
                    all.kept.extend(kept);
                    all.changes.extend(changes);
                }
                Ok(all)
            }
            Edit::SetScope { scope, patch } => self.plan_scope(space, scope, patch),
            Edit::RemoveScope { scope } => self.plan_removal(space, scope),
        }
    }

    fn found(&self, space: &Space, id: &str) -> Result<Entity, Refused> {
        let found = self.entity(space.id, id.as_bytes()).ok_or_else(|| Refused::EntityNotFound(id.into()))?;
        Ok((*found).clone())
    }

    fn plan_entities<'a>(
        &self,
        space: &Space,
        entities: impl IntoIterator<Item = (&'a String, &'a EntityPatch)>,
        action: &'static str,
        now_ms: u64,
    ) -> Result<Plan, Refused> {
        let (mut planned, mut changes) = (Planned::new(), Vec::new());
        for (id, patch) in entities {
            name::check(Named::Entity, id.as_bytes())?;
            patch.check()?;
            let before = planned
                .get(id)
                .cloned()
                .or_else(|| self.entity(space.id, id.as_bytes()).map(|e| (*e).clone()));
            let after = patch.applied_to(before.as_ref(), id, now_ms);
            let told = |entity: &Entity| entity.to_value();
            changes.push(Changed {
                subject: id.clone(),
                action,
                before: before.as_ref().map(told),
                after: Some(told(&after)),
            });
            planned.insert(id.clone(), after);
        }
        for entity in planned.values() {
            self.check_place(space, entity, &planned)?;
        }
        let kept = planned.values().map(|entity| Kept::Entity {
            space: space.name.to_string(),
            id: entity.id.clone().into_bytes(),
            json: serde_json::to_vec(entity).ok(),
        });
        Ok(Plan { kept: kept.collect(), changes })
    }

    /// Its parent exists and is not below it, and the tree stays shallow.
    fn check_place(&self, space: &Space, entity: &Entity, planned: &Planned) -> Result<(), Refused> {
        let Some(parent) = &entity.parent else { return Ok(()) };
        let tree = space.tree.read();
        if !planned.contains_key(parent) && !tree.has(parent.as_bytes()) {
            return Err(Refused::ParentNotFound(parent.clone()));
        }
        let below = tree.height(entity.id.as_bytes(), MAX_LEVELS).max(1);
        drop(tree);
        let too_deep = || Refused::TooDeep { entity: entity.id.clone(), max: MAX_LEVELS };
        let mut above = Some(parent.clone());
        // Nobody is deeper than the most levels yet, so whoever comes by more than that goes in a circle.
        for levels in below..=below + MAX_LEVELS {
            let Some(id) = above else {
                return if levels > MAX_LEVELS { Err(too_deep()) } else { Ok(()) };
            };
            if id == entity.id {
                return Err(Refused::Cycle { entity: entity.id.clone(), parent: parent.clone() });
            }
            above = match planned.get(&id) {
                Some(entity) => entity.parent.clone(),
                None => self.parent(space, id.as_bytes()).map(|parent| shown(&parent)),
            };
        }
        Err(too_deep())
    }

    fn plan_deletion(&self, space: &Space, id: &str, leaving: &[&str]) -> Result<Plan, Refused> {
        let before = self.found(space, id)?;
        let stays = |child: &std::sync::Arc<Entity>| !leaving.contains(&child.id.as_str());
        let has_children = space.tree.read().has_children(id.as_bytes());
        if has_children && self.children(space.id, id.as_bytes(), None, usize::MAX).iter().any(stays) {
            return Err(Refused::HasChildren(id.into()));
        }
        let row = Kept::Entity { space: space.name.to_string(), id: id.as_bytes().to_vec(), json: None };
        let mut value = before.to_value();
        let scopes = self.scopes_of(space, id.as_bytes());
        if let (Value::Object(fields), false) = (&mut value, scopes.is_empty()) {
            let told = scopes.iter().map(|(resource, told)| (resource.to_string(), settings_value(told)));
            fields.insert("limits".into(), Value::Object(told.collect()));
        }
        let scopes = scopes.iter().map(|(resource, _)| Kept::Scope {
            space: space.name.to_string(),
            key: Scope::Entity(id.as_bytes().to_vec(), resource.to_string()).to_bytes(),
            json: None,
        });
        // The entity last: what is left of its buckets is full under what holds without its settings.
        let kept = scopes.chain([row]).collect();
        let change =
            Changed { subject: id.into(), action: "entity_deleted", before: Some(value), after: None };
        Ok(Plan { kept, changes: vec![change] })
    }

    fn plan_scope(&self, space: &Space, scope: &Scope, patch: &ScopePatch) -> Result<Plan, Refused> {
        scope.check()?;
        let before = self.scope(space.id, scope);
        let after = patch.applied_to(before.as_deref().unwrap_or(&ScopeSettings::default()));
        after.check(scope, self.options.max_lease_ttl_ms)?;
        // So that applying it cannot fail for want of room for names.
        self.share(after.clone())?;
        if let Scope::Resource(resource) | Scope::Entity(_, resource) = scope {
            self.words.intern(resource)?;
        }
        let json = if after.is_empty() { None } else { serde_json::to_vec(&after).ok() };
        let kept = Kept::Scope { space: space.name.to_string(), key: scope.to_bytes(), json };
        let change = Changed {
            subject: scope.subject(),
            action: "limits_set",
            before: before.map(|settings| scope_value(scope, &settings)),
            after: Some(scope_value(scope, &after)),
        };
        Ok(Plan { kept: vec![kept], changes: vec![change] })
    }

    fn plan_removal(&self, space: &Space, scope: &Scope) -> Result<Plan, Refused> {
        scope.check()?;
        let before = self.scope(space.id, scope).ok_or_else(|| Refused::NoSuchLevel(told_scope(scope)))?;
        let kept = Kept::Scope { space: space.name.to_string(), key: scope.to_bytes(), json: None };
        let before = Some(scope_value(scope, &before));
        let change = Changed { subject: scope.subject(), action: "limits_removed", before, after: None };
        Ok(Plan { kept: vec![kept], changes: vec![change] })
    }
}

pub(crate) fn settings_value(settings: &ScopeSettings) -> Value {
    serde_json::to_value(settings).unwrap_or(Value::Null)
}

/// What is set, and on an entity for which resource.
fn scope_value(scope: &Scope, settings: &ScopeSettings) -> Value {
    let mut value = settings_value(settings);
    if let (Scope::Entity(_, resource), Value::Object(fields)) = (scope, &mut value) {
        fields.insert("resource".into(), Value::String(resource.clone()));
    }
    value
}

fn told_scope(scope: &Scope) -> String {
    match scope {
        Scope::System => "the system".into(),
        Scope::Resource(resource) => format!("resource `{resource}`"),
        Scope::Entity(entity, resource) => format!("entity `{}` on resource `{resource}`", shown(entity)),
    }
}
