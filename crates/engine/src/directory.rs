//! What everybody may see without asking the engine: queues by name, and the settings that hooks read.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::RwLock;
use tidegate_core::queue::QueueId;

use crate::definition::Definition;

/// Queues and settings. The engine writes, everybody reads.
#[derive(Debug, Default)]
pub struct Directory {
    queues: RwLock<BTreeMap<String, BTreeMap<String, Arc<Definition>>>>,
    settings: RwLock<BTreeMap<String, BTreeMap<String, Arc<str>>>>,
    /// Namespaces that are deleted, and since when.
    deleted: RwLock<BTreeMap<String, u64>>,
    /// How many those are: mostly none, and every request asks.
    deleted_count: AtomicUsize,
    /// What was applied to each namespace.
    manifests: RwLock<BTreeMap<String, Arc<[u8]>>>,
}

impl Directory {
    /// A queue by its name.
    pub fn queue(&self, namespace: &str, name: &str) -> Option<Arc<Definition>> {
        self.queues.read().get(namespace)?.get(name).cloned()
    }

    /// The queues of a namespace, by name.
    pub fn queues(&self, namespace: &str) -> Vec<Arc<Definition>> {
        self.queues.read().get(namespace).map(|queues| queues.values().cloned().collect()).unwrap_or_default()
    }

    /// The namespaces that have queues or are deleted, by name.
    pub fn namespaces(&self) -> Vec<String> {
        let queues = self.queues.read();
        let used = queues.iter().filter(|(_, queues)| !queues.is_empty()).map(|(name, _)| name.clone());
        let mut names: Vec<String> = used.chain(self.deleted.read().keys().cloned()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// A value that was set at run time.
    pub fn setting(&self, namespace: &str, key: &str) -> Option<Arc<str>> {
        self.settings.read().get(namespace)?.get(key).cloned()
    }

    /// The values whose keys begin so, by key.
    pub fn settings(&self, namespace: &str, prefix: &str) -> Vec<(String, Arc<str>)> {
        let settings = self.settings.read();
        let Some(settings) = settings.get(namespace) else { return Vec::new() };
        let from = settings.range(prefix.to_owned()..);
        let found = from.take_while(|(key, _)| key.starts_with(prefix));
        found.map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    /// When a namespace was deleted, if it was.
    #[inline]
    pub fn deleted_at_ms(&self, namespace: &str) -> Option<u64> {
        match self.deleted_count.load(Ordering::Acquire) {
            0 => None,
            _ => self.deleted.read().get(namespace).copied(),
        }
    }

    /// The manifest that was applied to a namespace last.
    pub fn manifest(&self, namespace: &str) -> Option<Arc<[u8]>> {
        self.manifests.read().get(namespace).cloned()
    }

    pub(crate) fn set_deleted(&self, namespace: &str, at_ms: Option<u64>) {
        let mut deleted = self.deleted.write();
        match at_ms {
            Some(at_ms) => drop(deleted.insert(namespace.to_owned(), at_ms)),
            None => drop(deleted.remove(namespace)),
        }
        self.deleted_count.store(deleted.len(), Ordering::Release);
    }

    pub(crate) fn set_manifest(&self, namespace: &str, manifest: Option<Vec<u8>>) {
        let mut manifests = self.manifests.write();
        match manifest {
            Some(manifest) => drop(manifests.insert(namespace.to_owned(), manifest.into())),
            None => drop(manifests.remove(namespace)),
        }
    }

    /// Forgets a namespace with all that is in it.
    pub(crate) fn forget(&self, namespace: &str) {
        self.queues.write().remove(namespace);
        self.settings.write().remove(namespace);
        self.set_manifest(namespace, None);
        self.set_deleted(namespace, None);
    }

    pub(crate) fn put(&self, definition: Arc<Definition>) {
        let mut queues = self.queues.write();
        let queues = queues.entry(definition.kept.namespace.clone()).or_default();
        queues.insert(definition.kept.name.clone(), definition);
    }

    pub(crate) fn remove(&self, namespace: &str, name: &str) -> Option<QueueId> {
        self.queues.write().get_mut(namespace)?.remove(name).map(|definition| definition.id)
    }

    pub(crate) fn set(&self, namespace: &str, key: &str, value: Option<&str>) {
        let mut settings = self.settings.write();
        let settings = settings.entry(namespace.to_owned()).or_default();
        match value {
            Some(value) => drop(settings.insert(key.to_owned(), value.into())),
            None => drop(settings.remove(key)),
        }
    }
}
