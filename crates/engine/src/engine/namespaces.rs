//! Namespaces that are deleted, brought back, and purged.
//!
//! A deleted namespace keeps all it has and shows none of it: its queues deliver nothing, and the doors refuse it. What
//! is purged is gone from memory and the catalog at once, and from the history and the journal as they are tidied up.

use std::sync::Arc;

use serde_json::{Value, json};
use tidegate_core::Nanos;
use tidegate_ledger::{Changed, SpaceId};
use tidegate_store::catalog::{Change, Table};

use super::port::Port;
use super::state::Engine;
use crate::definition::Definition;
use crate::outcome::{NamespaceReport, Outcome, Refused};
use crate::settings::NANOS_PER_MS;

/// The namespace of those who name none.
const DEFAULT: &str = "default";

impl<P: Port> Engine<P> {
    /// Refuses a namespace that is deleted.
    pub(super) fn present(&self, namespace: &str) -> Result<(), Refused> {
        match self.directory.deleted_at_ms(namespace) {
            None => Ok(()),
            Some(_) => Err(Refused::NamespaceDeleted(namespace.to_owned())),
        }
    }

    pub(super) fn delete_namespace(
        &mut self,
        namespace: &str,
        actor: &str,
        now: Nanos,
    ) -> Result<Outcome<P::Disk>, Refused> {
        if namespace == DEFAULT {
            return Err(Refused::DefaultNamespace);
        }
        self.present(namespace)?;
        if !self.is_used(namespace) {
            return Err(Refused::NamespaceNotFound(namespace.to_owned()));
        }
        let at_ms = now / NANOS_PER_MS;
        self.commit(&[Change::PutRow {
            table: Table::Namespaces,
            namespace: namespace.to_owned(),
            key: Vec::new(),
            value: deleted(at_ms),
        }])?;
        self.directory.set_deleted(namespace, Some(at_ms));
        for queue in self.directory.queues(namespace) {
            self.scheduler.pause(queue.id);
            self.drop_consumers_of(queue.id);
        }
        self.end_waiting_in(namespace);
        self.note_namespace(namespace, actor, "namespace_deleted", now);
        Ok(Outcome::Done)
    }

    pub(super) fn recover_namespace(
        &mut self,
        namespace: &str,
        actor: &str,
        now: Nanos,
    ) -> Result<Outcome<P::Disk>, Refused> {
        self.absent(namespace)?;
        self.commit(&[Change::RemoveRow {
            table: Table::Namespaces,
            namespace: namespace.to_owned(),
            key: Vec::new(),
        }])?;
        self.directory.set_deleted(namespace, None);
        for queue in self.directory.queues(namespace) {
            if !queue.kept.paused {
                self.scheduler.resume(queue.id);
            }
        }
        self.note_namespace(namespace, actor, "namespace_recovered", now);
        Ok(Outcome::Done)
    }

    pub(super) fn purge_namespace(
        &mut self,
        namespace: &str,
        now: Nanos,
    ) -> Result<Outcome<P::Disk>, Refused> {
        self.absent(namespace)?;
        let queues: Vec<Arc<Definition>> = self.directory.queues(namespace);
        let mut changes: Vec<Change> =
            queues.iter().map(|queue| Change::RemoveQueue { id: queue.id }).collect();
        changes.push(Change::ClearNamespace { namespace: namespace.to_owned() });
        self.commit(&changes)?;
        self.drop_queues(&queues, now);
        let ledger = self.limits.ledger();
        if let Some(space) = ledger.find_space(namespace) {
            ledger.clear_space(space);
        }
        self.directory.forget(namespace);
        self.purged.lock().push(namespace.to_owned());
        Ok(Outcome::Done)
    }

    pub(super) fn namespaces(&self) -> Outcome<P::Disk> {
        let ledger = self.limits.ledger();
        let mut names = self.directory.namespaces();
        let used = ledger.spaces().into_iter().filter(|space| self.holds_entities(*space));
        names.extend(used.map(|space| ledger.space_name(space).to_string()));
        names.push(DEFAULT.to_owned());
        names.sort_unstable();
        names.dedup();
        let report = |name: String| NamespaceReport {
            deleted_at_ms: self.directory.deleted_at_ms(&name),
            queues: self.directory.queues(&name).len() as u64,
            name,
        };
        Outcome::Namespaces(names.into_iter().map(report).collect())
    }

    fn holds_entities(&self, space: SpaceId) -> bool {
        let ledger = self.limits.ledger();
        !ledger.entities(space, None, 1).is_empty() || !ledger.scopes(space).is_empty()
    }

    /// Whether it holds queues, settings, entities or limits. Keys that are asked about inline need no namespace to be
    /// kept: they pass by themselves.
    fn is_used(&self, namespace: &str) -> bool {
        !self.directory.queues(namespace).is_empty()
            || !self.directory.settings(namespace, "").is_empty()
            || self.limits.ledger().find_space(namespace).is_some_and(|space| self.holds_entities(space))
    }

    fn absent(&self, namespace: &str) -> Result<(), Refused> {
        match self.present(namespace) {
            Ok(()) => Err(Refused::NamespaceNotDeleted(namespace.to_owned())),
            Err(_) => Ok(()),
        }
    }

    fn note_namespace(&self, namespace: &str, actor: &str, action: &'static str, now: Nanos) {
        let Some(space) = self.limits.ledger().find_space(namespace) else { return };
        let subject = "$NAMESPACE".into();
        self.note(space, actor, Changed { subject, action, before: None, after: None }, now);
    }
}

/// How the catalog keeps that a namespace is deleted.
pub(super) fn deleted(at_ms: u64) -> Vec<u8> {
    json!({ "deleted_at_ms": at_ms }).to_string().into_bytes()
}

/// When it was, as the catalog says.
pub(super) fn deleted_at_ms(value: &[u8]) -> u64 {
    let value: Value = serde_json::from_slice(value).unwrap_or_default();
    value["deleted_at_ms"].as_u64().unwrap_or_default()
}
