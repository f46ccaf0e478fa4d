//! What the Queue door opens on to.

use std::sync::{Arc, OnceLock};

use tidegate_core::Nanos;
use tidegate_engine::{Admin, Definition, Directory, QueueReport, Submission, Task};
use tidegate_ledger::{Acquired, Ledger, SpaceId};
use tidegate_limiter::Clock;
use tidegate_store::History;
use tokio::sync::{oneshot, watch};

use super::hooks::Hooks;
use super::line::Line;
use super::ops::Ops;
use super::pending::Pending;
use super::port::{Delivery, Engine, Handle, Op, Outcome, Reply, ServerPort, release_leases, undo};
use super::readiness::Readiness;
use super::{AdminCall, limits};
use crate::api::ledger::Store;
use crate::api::ledger::history::Past;
use crate::api::metrics::QueueMetrics;
use crate::api::namespace::NamespaceName;
use crate::api::{Refusal, Transport};
use crate::config;

/// What callers may ask for at once.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Bytes of one payload.
    pub max_message_bytes: usize,
    /// Operations of one request.
    pub max_batch: usize,
    /// Messages of one receive.
    pub max_receive: u32,
    /// How long a receive waits.
    pub max_wait_ms: u64,
    /// How long a call waits for a table that servers share.
    pub max_table_wait_ms: u64,
}

impl Bounds {
    /// As configured.
    pub fn new(config: &config::Queue, ledger: &config::Ledger) -> Bounds {
        Bounds {
            max_message_bytes: config.max_message_bytes,
            max_batch: config.max_batch,
            max_receive: config.max_receive,
            max_wait_ms: config.max_wait_ms,
            max_table_wait_ms: ledger.timeout_ms,
        }
    }
}

/// The queues of this server: the way to their engine, and what everybody may see of it.
pub struct Queues {
    pub(super) handle: Handle,
    directory: Arc<Directory>,
    ledger: Arc<Ledger>,
    history: Arc<History>,
    store: Box<dyn Store>,
    hooks: Arc<Hooks>,
    pub(super) clock: Clock,
    metrics: QueueMetrics,
    bounds: Bounds,
    readiness: Readiness,
    stopping: watch::Sender<bool>,
}

/// What becomes the port of an engine that is about to be made: see [`Queues::new`].
pub struct Prelude {
    handle: Arc<OnceLock<Handle>>,
    ledger: Arc<OnceLock<(Arc<Ledger>, Clock)>>,
    hooks: Arc<Hooks>,
}

impl Prelude {
    /// For an engine whose queues run these hooks.
    pub fn new(hooks: Arc<Hooks>) -> Prelude {
        Prelude { handle: Arc::default(), ledger: Arc::default(), hooks }
    }

    /// The port for the engine.
    pub fn port(&self) -> ServerPort {
        ServerPort { handle: self.handle.clone(), ledger: self.ledger.clone(), hooks: self.hooks.clone() }
    }
}

/// What can be seen of an engine without asking it.
pub struct View {
    directory: Arc<Directory>,
    ledger: Arc<Ledger>,
    history: Arc<History>,
}

impl View {
    /// Of an engine that is not yet running, and what it keeps of the past.
    pub fn of(engine: &Engine, history: &Arc<History>) -> View {
        View {
            directory: engine.directory().clone(),
            ledger: engine.ledger().clone(),
            history: history.clone(),
        }
    }
}

impl Queues {
    /// The queues of an engine that now runs.
    pub fn new(
        prelude: Prelude,
        view: View,
        handle: Handle,
        store: Box<dyn Store>,
        clock: Clock,
        bounds: Bounds,
    ) -> Queues {
        let Prelude { handle: known, ledger: owned, hooks } = prelude;
        let View { directory, ledger, history } = view;
        // Nobody else sets them.
        known.set(handle.clone()).ok();
        owned.set((ledger.clone(), clock.clone())).ok();
        hooks.serve(directory.clone());
        let (stopping, _) = watch::channel(false);
        let metrics = QueueMetrics::default();
        let readiness = Readiness::default();
        Queues {
            handle,
            directory,
            ledger,
            history,
            store,
            hooks,
            clock,
            metrics,
            bounds,
            readiness,
            stopping,
        }
    }

    /// Has something done beside the turns of a connection, and answers with what comes of it. What an acquire has taken
    /// there, in `space`, is given back if nobody hears of it.
    pub fn elsewhere(
        self: &Arc<Self>,
        transport: Transport,
        space: Option<SpaceId>,
        work: impl Future<Output = Vec<Outcome>> + Send + 'static,
    ) -> Pending {
        let (mut sender, receiver) = oneshot::channel();
        let queues = self.clone();
        drop(tokio::spawn(async move {
            let done = tokio::select! {
                biased;
                outcomes = work => Some(outcomes),
                // Who has left does not wait.
                () = sender.closed() => None,
            };
            if let Some(Err(unheard)) = done.map(|outcomes| sender.send(outcomes)) {
                queues.give_back(unheard, space);
            }
        }));
        Pending::elsewhere(self.clone(), transport, receiver, space)
    }

    /// Starts to gather operations.
    pub fn ops(self: &Arc<Self>, transport: Transport) -> Ops {
        Ops::new(self.clone(), transport)
    }

    /// Submits operations that do not follow any others. For those of a connection, see [`Line`].
    pub fn submit(&self, ops: Ops) -> Pending {
        Pending::start(ops)
    }

    /// The submissions of one connection, in order.
    pub fn line<T>(&self) -> Line<T> {
        Line::default()
    }

    /// Submits one operation and waits for its outcome; a refusal is an error.
    pub async fn ask(&self, ops: Ops) -> Result<Outcome, Refusal> {
        match self.submit(ops).await.pop() {
            Some(Outcome::Refused(refused)) => Err((*refused).into()),
            Some(outcome) => Ok(outcome),
            None => Err(Refusal::shutting_down()),
        }
    }

    /// Stands in line for an acquire. Ends early when the server stops.
    pub async fn stand_in_line(&self, ops: Ops) -> Result<Acquired, Refusal> {
        let mut stopping = self.stopping.subscribe();
        tokio::select! {
            outcome = self.ask(ops) => match outcome? {
                Outcome::Acquired(acquired) => Ok(*acquired),
                _ => Err(Refusal::shutting_down()),
            },
            _ = stopping.wait_for(|stopping| *stopping) => Err(Refusal::shutting_down()),
        }
    }

    /// Waits for messages. Ends early when the server stops.
    pub async fn receive(&self, ops: Ops) -> Result<Vec<Delivery>, Refusal> {
        let mut stopping = self.stopping.subscribe();
        tokio::select! {
            outcome = self.ask(ops) => match outcome? {
                Outcome::Received(deliveries) => Ok(deliveries),
                _ => Ok(Vec::new()),
            },
            _ = stopping.wait_for(|stopping| *stopping) => Err(Refusal::shutting_down()),
        }
    }

    /// Runs an administrative call, and tells of it as a JSON document.
    pub async fn admin(
        self: &Arc<Self>,
        transport: Transport,
        namespace: &NamespaceName,
        call: AdminCall,
    ) -> Result<Vec<u8>, Refusal> {
        let mut ops = self.ops(transport);
        let told = ops.admin(namespace, call)?;
        let outcome = self.ask(ops).await?;
        told.document(self, namespace, outcome)
    }

    /// Ends a subscription. Its leases come back at once; nobody waits for that.
    pub fn unsubscribe(&self, consumers: impl Iterator<Item = tidegate_core::queue::ConsumerId>) {
        let ops: Vec<Op> = consumers.map(|consumer| Op::Unsubscribe { consumer }).collect();
        if !ops.is_empty() {
            // An engine that has stopped has given everything back.
            self.handle.submit(Submission { ops, reply: Reply::Nobody }).ok();
        }
    }

    /// Gives back what outcomes hold that nobody will hear of.
    pub(super) fn give_back(&self, outcomes: Vec<Outcome>, space: Option<SpaceId>) {
        if let Some(space) = space {
            release_leases(&outcomes, &self.ledger, space, self.now());
        }
        let ops: Vec<Op> = outcomes.into_iter().flat_map(undo).collect();
        if !ops.is_empty() {
            // An engine that has stopped has given everything back.
            self.handle.submit(Submission { ops, reply: Reply::Nobody }).ok();
        }
    }

    /// A queue by its name.
    pub fn queue(&self, namespace: &NamespaceName, name: &[u8]) -> Result<Arc<Definition>, Refusal> {
        let text = std::str::from_utf8(name).ok();
        let found = text.and_then(|name| self.directory.queue(namespace.as_str(), name));
        found.ok_or_else(|| Refusal::queue_not_found(name))
    }

    /// What everybody may see: queues and settings.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Entities, their limits and leases, which both doors draw on.
    pub fn ledger(&self) -> &Arc<Ledger> {
        &self.ledger
    }

    /// Where what is set, used and changed is kept.
    pub fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// Whether limits are in a table that servers share.
    pub fn is_shared(&self) -> bool {
        self.store.shared().is_some()
    }

    /// What was used and changed in a namespace.
    pub fn past(&self, namespace: &NamespaceName) -> Result<Past, Refusal> {
        self.store.past(self, namespace)
    }

    /// What was used and what was changed, as far as this machine keeps it.
    pub fn history(&self) -> &Arc<History> {
        &self.history
    }

    /// The number of a namespace among those of the ledger.
    pub fn space(&self, namespace: &NamespaceName) -> Result<SpaceId, Refusal> {
        Ok(self.ledger.space(namespace.as_str())?)
    }

    /// When a namespace was deleted, if it was.
    #[inline]
    pub fn deleted_at_ms(&self, namespace: &str) -> Option<u64> {
        self.directory.deleted_at_ms(namespace).or_else(|| self.store.deleted_at_ms(namespace))
    }

    /// Refuses whoever works in a namespace that is deleted.
    #[inline]
    pub fn admit(&self, namespace: &str) -> Result<(), Refusal> {
        match self.deleted_at_ms(namespace) {
            Some(_) => Err(Refusal::namespace_deleted(namespace)),
            None => Ok(()),
        }
    }

    /// The limits of throttle keys, which both doors draw on.
    pub fn limits(&self) -> limits::Named<'_> {
        limits::Named { ledger: &self.ledger, now: self.now() }
    }

    /// Refuses more operations at once than are allowed.
    pub fn check_batch(&self, len: usize) -> Result<(), Refusal> {
        match len > self.bounds.max_batch {
            true => Err(Refusal::too_many_at_once(len, self.bounds.max_batch)),
            false => Ok(()),
        }
    }

    /// What callers may ask for at once.
    pub fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// What is counted.
    pub fn metrics(&self) -> &QueueMetrics {
        &self.metrics
    }

    /// The hooks that queues bring.
    pub fn hooks(&self) -> &Hooks {
        &self.hooks
    }

    /// How every queue of every namespace is doing: one question to the engine.
    pub async fn reports(self: &Arc<Self>) -> Vec<(String, QueueReport)> {
        let namespaces = self.directory.namespaces();
        let list = |namespace: &String| {
            let namespace = namespace.as_str().into();
            Op::Admin(Admin { namespace, task: Task::List })
        };
        let (sender, receiver) = oneshot::channel();
        let ops = namespaces.iter().map(list).collect();
        // If the engine has stopped there is nothing to tell.
        self.handle.submit(Submission { ops, reply: Reply::Caller(sender, None) }).ok();
        let told = namespaces.into_iter().zip(receiver.await.unwrap_or_default());
        let queues = |(namespace, outcome): (String, Outcome)| match outcome {
            Outcome::Queues(queues) => queues.into_iter().map(|queue| (namespace.clone(), queue)).collect(),
            _ => Vec::new(),
        };
        told.flat_map(queues).collect()
    }

    /// Whether the engine answers.
    pub fn ready(&self) -> Result<(), Refusal> {
        self.readiness.check(&self.handle, self.now())
    }

    /// Ends waiting receives: the server is about to stop.
    pub fn drain(&self) {
        self.stopping.send_replace(true);
    }

    /// The time by the clock that everything here is decided by.
    pub fn now(&self) -> Nanos {
        self.clock.now()
    }
}
