//! Entities and stored limits, as users change them: planned by the ledger, on disk, then seen.

use tidegate_core::Nanos;
use tidegate_ledger::{Changed, Edit, Event, Kept, Ledger, Scope, SpaceId};
use tidegate_store::catalog::{Change, Table};

use super::port::Port;
use super::state::Engine;
use crate::outcome::{Outcome, Refused};
use crate::settings::NANOS_PER_MS;

impl<P: Port> Engine<P> {
    /// Makes all of the changes, or none.
    pub(super) fn edit(
        &mut self,
        namespace: &str,
        edits: &[Edit],
        actor: &str,
        manifest: Option<Vec<u8>>,
        now: Nanos,
    ) -> Result<Outcome<P::Disk>, Refused> {
        let ledger = self.limits.ledger().clone();
        let space = ledger.space(namespace)?;
        let plans = edits.iter().map(|edit| ledger.plan(space, edit, now)).collect::<Result<Vec<_>, _>>()?;
        let kept: Vec<Kept> = plans.iter().flat_map(|plan| plan.kept.iter().cloned()).collect();
        let mut changes: Vec<Change> = kept.iter().map(row).collect();
        changes.extend(manifest.as_ref().map(|value| Change::PutRow {
            table: Table::Manifests,
            namespace: namespace.to_owned(),
            key: Vec::new(),
            value: value.clone(),
        }));
        self.commit(&changes)?;
        ledger.apply(&kept, now)?;
        if let Some(manifest) = manifest {
            self.directory.set_manifest(namespace, Some(manifest));
        }
        let mut made = Vec::new();
        for changed in plans.into_iter().flat_map(|plan| plan.changes) {
            made.push(changed.after.clone());
            self.note(space, actor, changed, now);
        }
        Ok(Outcome::Edited(made))
    }

    /// Writes a change into the audit.
    pub(super) fn note(&self, space: SpaceId, actor: &str, changed: Changed, now: Nanos) {
        let Changed { subject, action, before, after } = changed;
        let ledger = self.limits.ledger();
        let (space, at_ms, actor) = (ledger.space_name(space), now / NANOS_PER_MS, actor.into());
        ledger.audit(Event { space, at_ms, actor, action, subject, before, after });
    }
}

/// What the catalog ought to hold of an entity.
pub(super) fn kept_entity(ledger: &Ledger, space: SpaceId, id: &[u8]) -> Option<Vec<u8>> {
    serde_json::to_vec(&*ledger.entity(space, id)?).ok()
}

/// What the catalog ought to hold of a scope.
pub(super) fn kept_scope(ledger: &Ledger, space: SpaceId, key: &[u8]) -> Option<Vec<u8>> {
    serde_json::to_vec(&*ledger.scope(space, &Scope::from_bytes(key)?)?).ok()
}

/// What the catalog ought to hold of a namespace.
pub(super) fn kept_all(ledger: &Ledger, space: SpaceId) -> Vec<Kept> {
    let name = ledger.space_name(space).to_string();
    let entities = ledger.entities(space, None, usize::MAX);
    let entities = entities.iter().map(|entity| {
        let (space, id) = (name.clone(), entity.id.clone().into_bytes());
        Kept::Entity { space, id, json: serde_json::to_vec(&**entity).ok() }
    });
    let scopes = ledger.scopes(space);
    let scopes = scopes.iter().map(|(scope, settings)| {
        let (space, key) = (name.clone(), scope.to_bytes());
        Kept::Scope { space, key, json: serde_json::to_vec(&**settings).ok() }
    });
    entities.chain(scopes).collect()
}

/// How the catalog keeps it.
pub(super) fn row(kept: &Kept) -> Change {
    let (table, namespace, key, json) = match kept {
        Kept::Entity { space, id, json } => (Table::Entities, space, id, json),
        Kept::Scope { space, key, json } => (Table::Scopes, space, key, json),
    };
    let (namespace, key) = (namespace.clone(), key.clone());
    match json {
        Some(value) => Change::PutRow { table, namespace, key, value: value.clone() },
        None => Change::RemoveRow { table, namespace, key },
    }
}
