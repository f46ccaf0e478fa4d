//! Namespaces of all servers: the table says which are deleted, and every server keeps up with it.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::RwLock;
use tidegate_dynamodb::audit::log::Named;
use tidegate_dynamodb::{Fault, Namespace, Nsid, State};
use tidegate_engine::{NamespaceReport, Task};
use tidegate_ledger::Event;

use super::desk::Desk;
use super::fault::refusal;
use super::store::Asked;
use crate::api::ledger::document::NANOS_PER_MS;
use crate::api::queue::document;
use crate::api::queue::{AdminCall, Outcome, Queues, Told};
use crate::api::{Code, NamespaceName, Refusal, Transport};

/// The namespace of those who name none.
const DEFAULT: &str = "default";

/// Who is named in the audit where a server follows another.
const FOLLOWER: &str = "table";

impl Desk {
    /// Has the ledger load again what it knows of a namespace that was recovered.
    fn load_again(&self, namespace: &str) {
        self.table.forget_space(namespace);
        if let Some(space) = self.ledger.find_space(namespace) {
            // Loads that are under way may have seen it deleted.
            self.node.edit(|| self.ledger.load_again(space));
        }
    }

    /// Forgets what the ledger knows of a namespace that was purged.
    fn forget(&self, namespace: &str) {
        if let Some(space) = self.ledger.find_space(namespace) {
            self.ledger.clear_space(space);
        }
    }
}

/// Namespaces that are deleted, and since when.
#[derive(Default)]
pub struct Deleted {
    all: RwLock<BTreeMap<String, u64>>,
    /// How many those are: mostly none, and every request asks.
    count: AtomicUsize,
}

impl Deleted {
    /// When one was deleted, if it was.
    #[inline]
    pub fn at_ms(&self, namespace: &str) -> Option<u64> {
        match self.count.load(Ordering::Relaxed) {
            0 => None,
            _ => self.all.read().get(namespace).copied(),
        }
    }

    fn set(&self, deleted: BTreeMap<String, u64>) -> BTreeMap<String, u64> {
        self.count.store(deleted.len(), Ordering::Relaxed);
        std::mem::replace(&mut *self.all.write(), deleted)
    }

    fn note(&self, namespace: &str, at_ms: Option<u64>) {
        let mut all = self.all.write();
        match at_ms {
            Some(at_ms) => drop(all.insert(namespace.to_owned(), at_ms)),
            None => drop(all.remove(namespace)),
        }
        self.count.store(all.len(), Ordering::Relaxed);
    }
}

/// Those that are deleted: whoever was made anew under the same name is not.
fn deleted(namespaces: &[Namespace]) -> BTreeMap<String, u64> {
    let gone = namespaces.iter().filter(|found| found.state != State::Active);
    let mut gone: BTreeMap<String, u64> =
        gone.map(|found| (found.name.clone(), found.deleted_at_ms.unwrap_or(0))).collect();
    for found in namespaces.iter().filter(|found| found.state == State::Active) {
        gone.remove(&found.name);
    }
    gone
}

/// Keeps up with what other servers delete and recover.
pub async fn follow(desk: Arc<Desk>, queues: Weak<Queues>, every: Duration) {
    loop {
        let Some(queues) = queues.upgrade() else { return };
        // What cannot be asked is asked again; the node says that the table does not answer.
        if let Ok(namespaces) = desk.table.namespaces().await {
            let now = deleted(&namespaces);
            let before = desk.deleted.set(now.clone());
            for name in now.keys().filter(|name| !before.contains_key(*name)) {
                tell_engine(&queues, name, Task::DeleteNamespace { actor: FOLLOWER.into() }).await;
            }
            for name in before.keys().filter(|name| !now.contains_key(*name)) {
                let is_back = namespaces.iter().any(|found| found.name == *name);
                if is_back {
                    desk.load_again(name);
                    tell_engine(&queues, name, Task::RecoverNamespace { actor: FOLLOWER.into() }).await;
                } else {
                    let purge = async {
                        tell_engine(&queues, name, Task::PurgeNamespace).await;
                        desk.forget(name);
                        Ok::<_, Infallible>(())
                    };
                    let Ok(()) = desk.node.purge(name, purge).await;
                }
            }
        }
        drop(queues);
        tokio::time::sleep(every).await;
    }
}

/// Has this server's own queues follow. One that has none in the namespace has nothing to do.
async fn tell_engine(queues: &Arc<Queues>, name: &str, task: Task) {
    let Ok(name) = NamespaceName::new(name.as_bytes()) else { return };
    if queues.directory().queues(name.as_str()).is_empty() {
        return;
    }
    let call = AdminCall { task, told: Told::AsIs };
    if let Err(refusal) = queues.admin(Transport::Http, &name, call).await {
        tracing::debug!(namespace = name.as_str(), %refusal, "the queues of a namespace do not follow");
    }
}

impl Asked {
    pub(super) async fn namespaces(&self) -> Result<Vec<u8>, Refusal> {
        let mut ops = self.queues.ops(Transport::Http);
        ops.admin(&self.namespace, AdminCall { task: Task::Namespaces, told: Told::AsIs })?;
        let Outcome::Namespaces(mut reports) = self.queues.ask(ops).await? else {
            return Err(Refusal::shutting_down());
        };
        let found = self.desk.table.namespaces().await.map_err(|fault| refusal(&fault))?;
        let gone = deleted(&found);
        for namespace in &found {
            if !reports.iter().any(|report| report.name == namespace.name) {
                let name = namespace.name.clone();
                reports.push(NamespaceReport { name, deleted_at_ms: None, queues: 0 });
            }
        }
        for report in &mut reports {
            report.deleted_at_ms = gone.get(&report.name).copied().or(report.deleted_at_ms);
        }
        reports.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(document::outcome(&Outcome::Namespaces(reports)))
    }

    pub(super) async fn delete_namespace(&self, name: NamespaceName) -> Result<Vec<u8>, Refusal> {
        if name.as_str() == DEFAULT {
            return Err(tidegate_engine::Refused::DefaultNamespace.into());
        }
        let (table, at_ms) = (&self.desk.table, self.desk.now() / NANOS_PER_MS);
        let nsid = table.find_space(name.as_str()).await.map_err(|fault| refusal(&fault))?;
        let in_table = match table.delete_namespace(name.as_str(), at_ms).await {
            Ok(()) => true,
            Err(Fault::NoNamespace(_)) => false,
            Err(fault) => return Err(refusal(&fault)),
        };
        if in_table {
            self.desk.deleted.note(name.as_str(), Some(at_ms));
        }
        let task = Task::DeleteNamespace { actor: self.actor.clone() };
        let noted = self.follow_here(&name, task, in_table).await?;
        if let (Some(nsid), false) = (nsid, noted) {
            self.note(&nsid, &name, "namespace_deleted").await;
        }
        Ok(document::namespace(name.as_str(), Some(at_ms), false))
    }

    pub(super) async fn recover_namespace(&self, name: NamespaceName) -> Result<Vec<u8>, Refusal> {
        let in_table = match self.desk.table.recover_namespace(name.as_str()).await {
            Ok(()) => true,
            Err(Fault::NoNamespace(_)) => false,
            Err(fault) => return Err(refusal(&fault)),
        };
        self.desk.load_again(name.as_str());
        self.desk.deleted.note(name.as_str(), None);
        let task = Task::RecoverNamespace { actor: self.actor.clone() };
        let noted = self.follow_here(&name, task, in_table).await?;
        if let (Ok(Some(nsid)), false) = (self.desk.table.find_space(name.as_str()).await, noted) {
            self.note(&nsid, &name, "namespace_recovered").await;
        }
        Ok(document::namespace(name.as_str(), None, false))
    }

    pub(super) async fn purge_namespace(&self, name: NamespaceName) -> Result<Vec<u8>, Refusal> {
        let purge = async {
            let in_table = match self.desk.table.purge_namespace(name.as_str()).await {
                Ok(()) => true,
                Err(Fault::NoNamespace(_)) => false,
                Err(fault) => return Err(refusal(&fault)),
            };
            self.follow_here(&name, Task::PurgeNamespace, in_table).await?;
            self.desk.forget(name.as_str());
            Ok(())
        };
        self.desk.node.purge(name.as_str(), purge).await?;
        self.desk.deleted.note(name.as_str(), None);
        Ok(document::namespace(name.as_str(), None, true))
    }

    /// Has this server's own queues follow; if the table knows the namespace, they need not. True if they have: then it is
    /// in the audit.
    async fn follow_here(&self, name: &NamespaceName, task: Task, in_table: bool) -> Result<bool, Refusal> {
        let call = AdminCall { task, told: Told::AsIs };
        match self.queues.admin(Transport::Http, name, call).await {
            Ok(_) => Ok(true),
            Err(refusal)
                if in_table && matches!(refusal.code(), Code::NamespaceNotFound | Code::NamespaceDeleted) =>
            {
                Ok(false)
            }
            Err(refusal) => Err(refusal),
        }
    }

    async fn note(&self, nsid: &Nsid, name: &NamespaceName, action: &'static str) {
        let (space, at_ms, actor) = (name.shared(), self.desk.now() / NANOS_PER_MS, self.actor.clone());
        let subject = "$NAMESPACE".to_owned();
        let event = Named::new(Event { space, at_ms, actor, action, subject, before: None, after: None });
        if let Err(fault) = self.desk.table.put_audit(nsid, &[event]).await {
            tracing::warn!("the audit misses that a namespace was changed: {fault}");
        }
    }
}
