//! What is asked, and the way to its answer.

use std::sync::Arc;
use std::time::Duration;

use tidegate_dynamodb::Nsid;
use tidegate_dynamodb::node::Handle;
use tidegate_ledger::{LeaseId, Ledger, Options, Refused};
use tidegate_limiter::Clock;
use tokio::sync::Mutex;

use super::desk::Desk;
use super::edit::Change;
use super::fault::refusal;
use super::forward::Others;
use super::namespaces::Deleted;
use super::past::InTable;
use super::scratch::Scratch;
use crate::api::ledger::answer::{Answer, Asker};
use crate::api::ledger::document::{self, NANOS_PER_MS};
use crate::api::ledger::embedded::Embedded;
use crate::api::ledger::history::Past;
use crate::api::ledger::lease::{LeaseCall, PASSED_ON, Passed};
use crate::api::ledger::request::{Request, Why};
use crate::api::ledger::store::{Figure, Shared, Store};
use crate::api::queue::Queues;
use crate::api::queue::document::{changed, removed, write};
use crate::api::{Code, NamespaceName, Refusal};

/// What such a store is made of.
pub struct Parts {
    /// The node that draws from the table.
    pub node: Handle,
    /// The ledger that decides.
    pub ledger: Arc<Ledger>,
    /// How a ledger of nobody is made, with the same limits by default.
    pub scratch: Options,
    /// The clock of all that.
    pub clock: Clock,
    /// What other servers ask for.
    pub token: Option<String>,
    /// How long they may take.
    pub patience: Duration,
}

/// The store in a table of DynamoDB.
pub struct TableStore {
    desk: Arc<Desk>,
}

impl TableStore {
    /// Over a table and the node that draws from it.
    pub fn new(parts: Parts) -> TableStore {
        let Parts { node, ledger, scratch, clock, token, patience } = parts;
        let (table, edits, deleted) = (node.table().clone(), Mutex::new(()), Deleted::default());
        let others = Others::new(token, patience);
        let desk = Desk { table, node, ledger, scratch, clock, edits, deleted, others };
        TableStore { desk: Arc::new(desk) }
    }
}

impl TableStore {
    /// One lease: of this server, or of the one that has granted it.
    fn lease(&self, queues: &Queues, asker: &Asker<'_>, id: LeaseId) -> Result<Answer, Refusal> {
        let space = queues.space(asker.namespace)?;
        let found = queues.ledger().lease(space, id).ok_or(Refused::LeaseNotFound(id));
        match queues.whose(space, id, found) {
            Ok(lease) => Ok(Answer::Ready(document::lease(&lease))),
            Err(refusal) if refusal.code() == Code::LeaseElsewhere && asker.actor != PASSED_ON => {
                let (desk, namespace) = (self.desk.clone(), asker.namespace.clone());
                Ok(self.desk.later(async move { desk.fetch_lease(&namespace, id).await }))
            }
            Err(refusal) => Err(refusal),
        }
    }
}

impl Store for TableStore {
    fn answer(&self, queues: &Arc<Queues>, asker: &Asker<'_>, request: Request) -> Result<Answer, Refusal> {
        // What this server alone knows.
        if let Request::Lease(id) = request {
            return self.lease(queues, asker, id);
        }
        if let Request::Close(..) | Request::Why(Why::Message { .. } | Why::Flow { .. }) = request {
            return Embedded.answer(queues, asker, request);
        }
        let (desk, queues) = (self.desk.clone(), queues.clone());
        let asked = Asked { desk, queues, namespace: asker.namespace.clone(), actor: asker.actor.into() };
        Ok(self.desk.later(async move { asked.answer(request).await }))
    }

    /// Keeps up with namespaces that others delete and recover.
    fn begin(&self, queues: &Arc<Queues>) {
        let every = Duration::from_millis(self.desk.table.settings().config_refresh_ms);
        let work = super::namespaces::follow(self.desk.clone(), Arc::downgrade(queues), every);
        drop(self.desk.node.runtime().spawn(work));
    }

    fn past(&self, queues: &Queues, namespace: &NamespaceName) -> Result<Past, Refusal> {
        let space = queues.space(namespace)?;
        Ok(Past::new(namespace.clone(), Arc::new(InTable { desk: self.desk.clone(), space })))
    }

    fn deleted_at_ms(&self, namespace: &str) -> Option<u64> {
        self.desk.deleted.at_ms(namespace)
    }

    fn shared(&self) -> Option<&dyn Shared> {
        Some(self)
    }
}

impl Shared for TableStore {
    fn figures(&self) -> Vec<Figure> {
        super::figures::figures(&self.desk)
    }

    fn node(&self) -> u16 {
        self.desk.node.holder().node
    }

    fn pass_on(&self, namespace: &NamespaceName, lease: LeaseId, call: LeaseCall) -> Passed {
        self.desk.pass_on(namespace, lease, call)
    }
}

/// A question on its way: who asks, and where.
pub(super) struct Asked {
    pub desk: Arc<Desk>,
    pub queues: Arc<Queues>,
    pub namespace: NamespaceName,
    pub actor: Arc<str>,
}

impl Asked {
    async fn answer(&self, request: Request) -> Result<Vec<u8>, Refusal> {
        match request {
            Request::Entity(id) => self.entity(id).await,
            Request::Entities(page) => self.entities(page).await,
            Request::Children(id, page) => self.children(id, page).await,
            Request::Scope(scope) => self.scope(scope).await,
            Request::Resolve(target) => self.resolve(target).await,
            Request::Custom(resource, page) => self.custom(resource, page).await,
            Request::Capacity(resource) => self.capacity(resource).await,
            Request::Export => self.export().await,
            Request::Available(target, cost) => self.available(target, cost).await,
            Request::Why(Why::Acquire(target, cost)) => self.why_acquire(target, cost).await,
            Request::Reset(target, limits, key) => self.reset(target, limits, key).await,
            Request::TopUp(target, amounts, key) => self.top_up(target, amounts, key).await,
            Request::Edit(edit, told) => {
                let made = self.change(Change::Edits(vec![edit])).await?;
                Ok(changed(&told, made.after))
            }
            Request::Plan(manifest) => {
                let nsid = self.nsid().await?;
                let mut scratch = self.scratch(nsid.as_ref())?;
                let work = self.work(&mut scratch, &manifest, self.desk.now()).await?;
                Ok(write(&work.document()))
            }
            Request::Apply(manifest) => Ok(self.change(Change::Manifest(manifest)).await?.document),
            Request::Usage(request) => {
                let past = self.queues.past(&self.namespace)?;
                self.blocking(move || past.usage_document(&request)).await
            }
            Request::Audit(request) => {
                let past = self.queues.past(&self.namespace)?;
                self.blocking(move || past.audit_document(&request)).await
            }
            Request::Key(key) => self.key(&key).await,
            Request::Keys => self.keys().await,
            Request::SetKey(key, limit) => {
                self.change(Change::Key(key.clone(), Some(limit))).await?;
                self.key(&key).await
            }
            Request::RemoveKey(key) => {
                self.change(Change::Key(key.clone(), None)).await?;
                Ok(removed(&String::from_utf8_lossy(&key)))
            }
            Request::Leases(entity, page) => self.leases(entity, page).await,
            Request::Namespaces => self.namespaces().await,
            Request::DeleteNamespace(name) => self.delete_namespace(name).await,
            Request::RecoverNamespace(name) => self.recover_namespace(name).await,
            Request::PurgeNamespace(name) => self.purge_namespace(name).await,
            Request::Lease(_) | Request::Close(..) | Request::Why(_) => {
                unreachable!("`TableStore::answer` has another way for these")
            }
        }
    }

    /// The namespace, if anybody has ever written into it.
    pub async fn nsid(&self) -> Result<Option<Nsid>, Refusal> {
        self.desk.table.find_space(self.namespace.as_str()).await.map_err(|fault| refusal(&fault))
    }

    /// The namespace, which is made if need be.
    pub async fn registered(&self) -> Result<Nsid, Refusal> {
        let now_ms = self.desk.now() / NANOS_PER_MS;
        self.desk.table.space(self.namespace.as_str(), now_ms).await.map_err(|fault| refusal(&fault))
    }

    /// A ledger for this question.
    pub fn scratch<'a>(&'a self, nsid: Option<&'a Nsid>) -> Result<Scratch<'a>, Refusal> {
        Scratch::new(&self.desk.scratch, self.namespace.as_str(), &self.desk.table, nsid)
    }

    async fn blocking(
        &self,
        question: impl FnOnce() -> Result<Vec<u8>, Refusal> + Send + 'static,
    ) -> Result<Vec<u8>, Refusal> {
        let answered = tokio::task::spawn_blocking(question).await;
        answered.unwrap_or_else(|_| Err(Refusal::shutting_down()))
    }
}
