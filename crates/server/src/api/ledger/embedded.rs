//! The store on this machine's disk: what is set is in memory as a whole, the engine writes it down, and the history is read
//! off the loop.

use std::sync::Arc;

use serde_json::json;
use tidegate_core::Nanos;
use tidegate_engine::Task;
use tidegate_engine::op::Why as WhyTask;
use tidegate_ledger::{Acquire, Charge, Checked, Entity, Ledger, SpaceId};

use super::answer::{Answer, Asker};
use super::document::{self, NANOS_PER_MS, lossy};
use super::edit::scope_text;
use super::history::{OnDisk, Past};
use super::listing;
use super::manifest::{Manifest, Present, Work};
use super::request::{CustomPage, Page, Request, Target, Why};
use super::store::Store;
use crate::api::queue::document::write;
use crate::api::queue::{AdminCall, Queues, Told};
use crate::api::{NamespaceName, Refusal};

/// The store on this machine's disk.
#[derive(Clone, Copy, Debug)]
pub struct Embedded;

impl Store for Embedded {
    fn answer(&self, queues: &Arc<Queues>, asker: &Asker<'_>, request: Request) -> Result<Answer, Refusal> {
        let space = queues.space(asker.namespace)?;
        Run { queues, ledger: queues.ledger(), asker, space }.answer(request)
    }

    fn past(&self, queues: &Queues, namespace: &NamespaceName) -> Result<Past, Refusal> {
        let space = queues.space(namespace)?;
        let kept = OnDisk { ledger: queues.ledger().clone(), history: queues.history().clone(), space };
        Ok(Past::new(namespace.clone(), Arc::new(kept)))
    }
}

struct Run<'a> {
    queues: &'a Arc<Queues>,
    ledger: &'a Ledger,
    asker: &'a Asker<'a>,
    space: SpaceId,
}

impl Run<'_> {
    fn answer(&self, request: Request) -> Result<Answer, Refusal> {
        Ok(Answer::Ready(match request {
            Request::Lease(id) => {
                let lease = self.ledger.lease(self.space, id);
                document::lease(&lease.ok_or(tidegate_ledger::Refused::LeaseNotFound(id))?)
            }
            Request::Leases(entity, page) => self.leases(entity.as_deref(), &page)?,
            Request::Entity(id) => write(&*self.entity(&id)?),
            Request::Entities(Page { after, max }) => {
                listing::entities(&self.ledger.entities(self.space, after.as_deref(), max), max)
            }
            Request::Children(id, Page { after, max }) => {
                self.entity(&id)?;
                listing::entities(&self.ledger.children(self.space, &id, after.as_deref(), max), max)
            }
            Request::Scope(scope) => {
                let missing = || tidegate_ledger::Refused::NoSuchLevel(scope_text(&scope));
                write(&*self.ledger.scope(self.space, &scope).ok_or_else(missing)?)
            }
            Request::Resolve(target) => {
                let resolved = self.ledger.resolve(self.space, &target.entity, &target.resource)?;
                listing::resolution(&target, &resolved)
            }
            Request::Custom(resource, page) => self.custom(resource.as_deref(), &page),
            Request::Available(target, cost) => {
                let now = self.queues.now();
                document::available(&self.check(&target, &cost, now)?, now)
            }
            Request::Capacity(resource) => {
                let limits = self.ledger.capacity(self.space, &resource, self.queues.now());
                listing::capacity(&resource, &limits)
            }
            Request::Reset(target, limits, key) => self.reset(&target, &limits, key.as_deref())?,
            Request::TopUp(target, amounts, key) => self.top_up(&target, &amounts, key.as_deref())?,
            Request::Close(target, retry_after_ms) => self.close(&target, retry_after_ms)?,
            Request::Export => write(&self.ledger.export(self.space)),
            Request::Plan(manifest) => write(&self.work(&manifest)?.document()),
            Request::Apply(manifest) => return self.apply(&manifest),
            Request::Why(Why::Acquire(target, cost)) => {
                let now = self.queues.now();
                document::why_acquire(&self.check(&target, &cost, now)?, self.ledger, now)
            }
            Request::Usage(request) => {
                let past = self.queues.past(self.asker.namespace)?;
                return Ok(Answer::on_disk(move || past.usage_document(&request)));
            }
            Request::Audit(request) => {
                let past = self.queues.past(self.asker.namespace)?;
                return Ok(Answer::on_disk(move || past.audit_document(&request)));
            }
            Request::Key(key) => self.queues.limits().document(self.asker.namespace, &key)?,
            Request::Keys => self.queues.limits().list_document(self.asker.namespace),
            Request::SetKey(key, limit) => return Ok(self.admin(AdminCall::set_key(key, limit))),
            Request::RemoveKey(key) => return Ok(self.admin(AdminCall::remove_key(key))),
            Request::Edit(edit, changed) => {
                let task = Task::Edit { edits: vec![edit], actor: self.actor(), manifest: None };
                return Ok(self.engine(task, Told::Changed(changed)));
            }
            Request::Why(Why::Message { queue, id }) => {
                return Ok(self.engine(Task::Why(WhyTask::Message { queue, id }), Told::AsIs));
            }
            Request::Why(Why::Flow { queue, key }) => {
                let task = Task::Why(WhyTask::Flow { queue, key: key.into() });
                return Ok(self.engine(task, Told::AsIs));
            }
            Request::Namespaces => return Ok(self.engine(Task::Namespaces, Told::AsIs)),
            Request::DeleteNamespace(name) => {
                return Ok(about(name, Task::DeleteNamespace { actor: self.actor() }, false));
            }
            Request::RecoverNamespace(name) => {
                return Ok(about(name, Task::RecoverNamespace { actor: self.actor() }, false));
            }
            Request::PurgeNamespace(name) => return Ok(about(name, Task::PurgeNamespace, true)),
        }))
    }

    fn actor(&self) -> Arc<str> {
        self.asker.actor.into()
    }

    fn engine(&self, task: Task, told: Told) -> Answer {
        self.admin(AdminCall { task, told })
    }

    fn admin(&self, call: AdminCall) -> Answer {
        Answer::Engine(self.asker.namespace.clone(), call)
    }

    fn entity(&self, id: &[u8]) -> Result<Arc<Entity>, Refusal> {
        let missing = || tidegate_ledger::Refused::EntityNotFound(lossy(id).into_owned());
        Ok(self.ledger.entity(self.space, id).ok_or_else(missing)?)
    }

    fn leases(&self, entity: Option<&[u8]>, page: &Page) -> Result<Vec<u8>, Refusal> {
        let after = page.after.as_deref().map(super::acquire::id).transpose()?;
        let leases = self.ledger.leases(self.space, entity, after, page.max);
        Ok(document::leases(&leases, Vec::new(), page.max))
    }

    fn custom(&self, resource: Option<&str>, page: &CustomPage) -> Vec<u8> {
        let after = page.after.as_ref().map(|after| (&after.entity[..], after.resource.as_str()));
        listing::custom(&self.ledger.custom(self.space, resource, after, page.max), page.max)
    }

    fn check(&self, target: &Target, cost: &[(String, u64)], now: Nanos) -> Result<Checked, Refusal> {
        // Without amounts it is about every limit that applies.
        let every: Vec<(String, u64)> = match cost.is_empty() {
            true => {
                let resolved = self.ledger.resolve(self.space, &target.entity, &target.resource)?;
                resolved.terms.into_iter().map(|term| (String::from(term.name), 0)).collect()
            }
            false => cost.to_vec(),
        };
        let cost = borrowed(&every);
        let charges = [Charge { entity: &target.entity, resource: &target.resource, cost: &cost }];
        Ok(self.ledger.check(&Acquire::new(self.space, &charges), now)?)
    }

    fn reset(&self, target: &Target, limits: &[String], key: Option<&str>) -> Result<Vec<u8>, Refusal> {
        let (limits, now) = (limits.iter().map(String::as_str).collect::<Vec<_>>(), self.queues.now());
        let Target { entity, resource } = target;
        let reset = self.ledger.reset(self.space, entity, resource, &limits, key, self.asker.actor, now)?;
        Ok(document::buckets(&reset, now))
    }

    fn top_up(
        &self,
        target: &Target,
        added: &[(String, u64)],
        key: Option<&str>,
    ) -> Result<Vec<u8>, Refusal> {
        let (added, now) = (borrowed(added), self.queues.now());
        let Target { entity, resource } = target;
        let topped = self.ledger.top_up(self.space, entity, resource, &added, key, self.asker.actor, now)?;
        Ok(document::buckets(&topped, now))
    }

    fn close(&self, target: &Target, retry_after_ms: u64) -> Result<Vec<u8>, Refusal> {
        let now = self.queues.now();
        let until = now.saturating_add(retry_after_ms.saturating_mul(NANOS_PER_MS));
        let until = self.ledger.close_until(self.space, &target.entity, &target.resource, until, now)?;
        Ok(write(&json!({"closed_until_ms": until / NANOS_PER_MS})))
    }

    fn work(&self, manifest: &Manifest) -> Result<Work, Refusal> {
        let applied = self.queues.directory().manifest(self.asker.namespace.as_str());
        let before = applied.map_or_else(|| Ok(Manifest::default()), |json| Manifest::parse(&json))?;
        let now = Present { ledger: self.ledger, space: self.space, now: self.queues.now() };
        manifest.work(&before, &now)
    }

    fn apply(&self, manifest: &Manifest) -> Result<Answer, Refusal> {
        let work = self.work(manifest)?;
        let told = Told::Prepared(write(&work.document()));
        let manifest = Some(work.applied.to_bytes());
        Ok(self.engine(Task::Edit { edits: work.edits, actor: self.actor(), manifest }, told))
    }
}

pub(super) fn about(namespace: NamespaceName, task: Task, purged: bool) -> Answer {
    Answer::Engine(namespace, AdminCall { task, told: Told::Namespace { purged } })
}

pub(super) fn borrowed(amounts: &[(String, u64)]) -> Vec<(&str, u64)> {
    amounts.iter().map(|(limit, amount)| (limit.as_str(), *amount)).collect()
}
