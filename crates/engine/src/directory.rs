//! What everybody may see without asking the engine: queues by name, and the settings that hooks read.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::RwLock;
use tidegate_core::queue::QueueId;

use crate::definition::Definition;

/// Queues and settings. The engine writes, everybody reads.
#[derive(Debug, Default)]
pub struct Directory {
    queues: RwLock<BTreeMap<String, BTreeMap<String, Arc<Definition>>>>,
    settings: RwLock<BTreeMap<String, BTreeMap<String, Arc<str>>>>,
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

    /// The namespaces that have queues, by name.
    pub fn namespaces(&self) -> Vec<String> {
        let queues = self.queues.read();
        queues.iter().filter(|(_, queues)| !queues.is_empty()).map(|(name, _)| name.clone()).collect()
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
