//! Changes of the catalog that failed, and may be on disk all the same.
//!
//! Whoever asked was refused, and the engine goes on as before. A restart must not find otherwise, so what the engine
//! has is written over whatever is there, as soon as the disk lets it. Until then a queue that may be deleted on disk
//! takes no messages: they would go with it.

use tidegate_core::Nanos;
use tidegate_core::queue::QueueId;
use tidegate_store::catalog::{Change, Table};

use super::admin::put;
use super::port::Port;
use super::state::Engine;
use super::{edit, namespaces};
use crate::outcome::Refused;
use crate::settings::NANOS_PER_MS;

/// How long it waits before it tries again.
const RETRY_NS: u64 = 200 * NANOS_PER_MS;

impl<P: Port> Engine<P> {
    /// Changes the catalog.
    pub(super) fn commit(&mut self, changes: &[Change]) -> Result<(), Refused> {
        self.catalog.commit(changes).map_err(|error| {
            tracing::error!("the catalog cannot be written: {error}");
            if error.is_fatal() {
                self.doomed = Some(format!("the disk did not confirm a change of the catalog: {error}"));
            }
            self.unsure.extend_from_slice(changes);
            Refused::Storage(error.to_string())
        })
    }

    /// Writes what the engine has, if it is not sure that the catalog has it.
    pub(super) fn make_sure(&mut self, now: Nanos) {
        if self.unsure.is_empty() || now < self.unsure_at {
            return;
        }
        let failed = std::mem::take(&mut self.unsure);
        let changes: Vec<Change> = failed.iter().flat_map(|change| self.as_it_is(change)).collect();
        if self.commit(&changes).is_err() {
            self.unsure = failed;
            self.unsure_at = now.saturating_add(RETRY_NS);
        }
    }

    /// When to try that.
    pub(super) fn unsure_due(&self) -> Option<Nanos> {
        (!self.unsure.is_empty()).then_some(self.unsure_at)
    }

    /// Whether a queue may be deleted on disk.
    pub(super) fn may_be_deleted(&self, queue: QueueId) -> bool {
        self.unsure.iter().any(|change| matches!(change, Change::RemoveQueue { id } if *id == queue))
    }

    /// What the engine has of that which a change was about.
    fn as_it_is(&self, change: &Change) -> Vec<Change> {
        match change {
            Change::PutQueue { id, .. } | Change::RemoveQueue { id } => vec![match self.queue(*id) {
                Some(definition) => put(definition),
                None => Change::RemoveQueue { id: *id },
            }],
            Change::SetConfig { namespace, key, .. } | Change::RemoveConfig { namespace, key } => {
                let (namespace, key) = (namespace.clone(), key.clone());
                vec![match self.directory.setting(&namespace, &key) {
                    Some(value) => Change::SetConfig { namespace, key, value: value.as_bytes().to_vec() },
                    None => Change::RemoveConfig { namespace, key },
                }]
            }
            Change::PutRow { table, namespace, key, .. } | Change::RemoveRow { table, namespace, key } => {
                let (table, namespace, key) = (*table, namespace.clone(), key.clone());
                vec![match self.row_as_it_is(table, &namespace, &key) {
                    Some(value) => Change::PutRow { table, namespace, key, value },
                    None => Change::RemoveRow { table, namespace, key },
                }]
            }
            // Refused, so all that was there is there: its rows, and the word that it is deleted.
            Change::ClearNamespace { namespace } => self.namespace_as_it_is(namespace),
        }
    }

    fn row_as_it_is(&self, table: Table, namespace: &str, key: &[u8]) -> Option<Vec<u8>> {
        let ledger = self.limits.ledger();
        match table {
            Table::Entities => edit::kept_entity(ledger, ledger.find_space(namespace)?, key),
            Table::Scopes => edit::kept_scope(ledger, ledger.find_space(namespace)?, key),
            Table::Namespaces => self.directory.deleted_at_ms(namespace).map(namespaces::deleted),
            Table::Manifests => self.directory.manifest(namespace).map(|manifest| manifest.to_vec()),
        }
    }

    fn namespace_as_it_is(&self, namespace: &str) -> Vec<Change> {
        let ledger = self.limits.ledger();
        let kept =
            ledger.find_space(namespace).map(|space| edit::kept_all(ledger, space)).unwrap_or_default();
        let mut rows: Vec<Change> = kept.iter().map(edit::row).collect();
        for table in [Table::Namespaces, Table::Manifests] {
            let (namespace, key) = (namespace.to_owned(), Vec::new());
            let value = self.row_as_it_is(table, &namespace, &key);
            rows.extend(value.map(|value| Change::PutRow { table, namespace, key, value }));
        }
        let settings = self.directory.settings(namespace, "");
        rows.extend(settings.into_iter().map(|(key, value)| {
            let (namespace, value) = (namespace.to_owned(), value.as_bytes().to_vec());
            Change::SetConfig { namespace, key, value }
        }));
        rows
    }
}
