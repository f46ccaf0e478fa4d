//! Answering what is asked of the ledger: on the spot, by the engine, or off the loop where the disk is read.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};
use tidegate_core::Nanos;
use tidegate_engine::Task;
use tidegate_engine::op::Why as WhyTask;
use tidegate_ledger::json::term_to_value;
use tidegate_ledger::{Acquire, Charge, Checked, Entity, Ledger, Resolution, SpaceId};

use super::document::{self, NANOS_PER_MS, lossy};
use super::edit::scope_text;
use super::history::Past;
use super::manifest::{Manifest, Present, Work};
use super::request::{CustomPage, Page, Request, Target, Why};
use crate::api::queue::document::write;
use crate::api::queue::{AdminCall, Queues, Told};
use crate::api::{Api, NamespaceName, Refusal, Transport};

/// Who asks, and where.
#[derive(Clone, Copy, Debug)]
pub struct Asker<'a> {
    /// The namespace.
    pub namespace: &'a NamespaceName,
    /// Who is named in the audit.
    pub actor: &'a str,
}

/// An answer, or the way to it.
pub enum Answer {
    /// Here it is.
    Ready(Vec<u8>),
    /// The engine has to be asked, about this namespace.
    Engine(NamespaceName, AdminCall),
    /// The disk has to be read: not on a loop.
    Disk(Question),
}

/// What is answered off the loop.
pub type Question = Box<dyn FnOnce() -> Result<Vec<u8>, Refusal> + Send>;

impl Api {
    /// Answers, or says what is left to do for it.
    pub fn answer(&self, asker: &Asker<'_>, request: Request) -> Result<Answer, Refusal> {
        if let Request::PurgeNamespace(namespace) = &request {
            self.clear_deleted(namespace)?;
        }
        let queues = self.queues()?;
        let space = queues.space(asker.namespace)?;
        let run = Run { queues, ledger: queues.ledger(), asker, space };
        run.answer(request)
    }

    /// Forgets the inline keys of a namespace that is about to be purged: nobody can use it any more.
    fn clear_deleted(&self, namespace: &NamespaceName) -> Result<(), Refusal> {
        if self.queues()?.directory().deleted_at_ms(namespace.as_str()).is_some() {
            self.forget_keys(namespace);
        }
        Ok(())
    }
}

impl Queues {
    /// Waits for an answer.
    pub async fn answered(
        self: &Arc<Self>,
        transport: Transport,
        answer: Answer,
    ) -> Result<Vec<u8>, Refusal> {
        match answer {
            Answer::Ready(document) => Ok(document),
            Answer::Engine(namespace, call) => self.admin(transport, &namespace, call).await,
            Answer::Disk(question) => {
                let answered = tokio::task::spawn_blocking(question).await;
                answered.unwrap_or_else(|_| Err(Refusal::shutting_down()))
            }
        }
    }

    /// The past of a namespace.
    pub fn past(&self, namespace: &NamespaceName) -> Result<Past, Refusal> {
        Ok(Past {
            ledger: self.ledger().clone(),
            history: self.history().clone(),
            namespace: namespace.clone(),
            space: self.space(namespace)?,
        })
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
                entities(&self.ledger.entities(self.space, after.as_deref(), max), max)
            }
            Request::Children(id, Page { after, max }) => {
                self.entity(&id)?;
                entities(&self.ledger.children(self.space, &id, after.as_deref(), max), max)
            }
            Request::Scope(scope) => {
                let missing = || tidegate_ledger::Refused::NoSuchLevel(scope_text(&scope));
                write(&*self.ledger.scope(self.space, &scope).ok_or_else(missing)?)
            }
            Request::Resolve(target) => self.resolve(&target)?,
            Request::Custom(resource, page) => self.custom(resource.as_deref(), &page),
            Request::Available(target, cost) => {
                let now = self.queues.now();
                document::available(&self.check(&target, &cost, now)?, now)
            }
            Request::Capacity(resource) => self.capacity(&resource),
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
                return Ok(Answer::Disk(Box::new(move || past.usage_document(&request))));
            }
            Request::Audit(request) => {
                let past = self.queues.past(self.asker.namespace)?;
                return Ok(Answer::Disk(Box::new(move || past.audit_document(&request))));
            }
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
        Answer::Engine(self.asker.namespace.clone(), AdminCall { task, told })
    }

    fn entity(&self, id: &[u8]) -> Result<Arc<Entity>, Refusal> {
        let missing = || tidegate_ledger::Refused::EntityNotFound(lossy(id).into_owned());
        Ok(self.ledger.entity(self.space, id).ok_or_else(missing)?)
    }

    fn leases(&self, entity: Option<&[u8]>, page: &Page) -> Result<Vec<u8>, Refusal> {
        let after = page.after.as_deref().map(super::acquire::id).transpose()?;
        Ok(document::leases(&self.ledger.leases(self.space, entity, after, page.max), page.max))
    }

    fn resolve(&self, target: &Target) -> Result<Vec<u8>, Refusal> {
        let Resolution { level, terms, mode, cascade, parents } =
            self.ledger.resolve(self.space, &target.entity, &target.resource)?;
        let limits = |terms: &[_]| terms.iter().map(term_to_value).collect::<Vec<Value>>();
        let parent = |above: &tidegate_ledger::Above| {
            json!({
                "entity": lossy(&above.entity),
                "level": above.level.map(|level| level.as_str()),
                "limits": limits(&above.terms),
                "mode": above.mode,
            })
        };
        Ok(write(&json!({
            "entity": lossy(&target.entity),
            "resource": target.resource,
            "level": level.map(|level| level.as_str()),
            "limits": limits(&terms),
            "mode": mode,
            "cascade": cascade,
            "parents": parents.iter().map(parent).collect::<Vec<Value>>(),
        })))
    }

    fn custom(&self, resource: Option<&str>, page: &CustomPage) -> Vec<u8> {
        let after = page.after.as_ref().map(|after| (&after.entity[..], after.resource.as_str()));
        let found = self.ledger.custom(self.space, resource, after, page.max);
        let told: Vec<Value> = found
            .iter()
            .map(|(entity, resource)| json!({"entity": lossy(entity), "resource": resource}))
            .collect();
        let next = told.last().filter(|_| told.len() >= page.max).cloned();
        write(&json!({"custom": told, "next": next}))
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

    fn capacity(&self, resource: &str) -> Vec<u8> {
        let limits = self.ledger.capacity(self.space, resource, self.queues.now());
        let told = |capacity: &tidegate_ledger::Capacity| {
            json!({
                "limit": capacity.limit,
                "kind": capacity.kind.as_str(),
                "capacity": u64::try_from(capacity.capacity).unwrap_or(u64::MAX),
                "available": capacity.available.clamp(i64::MIN.into(), i64::MAX.into()) as i64,
                "entities": capacity.entities,
            })
        };
        write(&json!({"resource": resource, "limits": limits.iter().map(told).collect::<Vec<Value>>()}))
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

fn about(namespace: NamespaceName, task: Task, purged: bool) -> Answer {
    Answer::Engine(namespace, AdminCall { task, told: Told::Namespace { purged } })
}

fn borrowed(amounts: &[(String, u64)]) -> Vec<(&str, u64)> {
    amounts.iter().map(|(limit, amount)| (limit.as_str(), *amount)).collect()
}

/// Entities, and where to go on.
fn entities(entities: &[Arc<Entity>], max: usize) -> Vec<u8> {
    #[derive(Serialize)]
    struct Entities<'a> {
        entities: Vec<&'a Entity>,
        next: Option<&'a str>,
    }
    let next = entities.last().filter(|_| entities.len() >= max).map(|entity| entity.id.as_str());
    write(&Entities { entities: entities.iter().map(|entity| &**entity).collect(), next })
}
