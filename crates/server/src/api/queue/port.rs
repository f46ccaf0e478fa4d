//! How the engine reaches the doors: answers, deliveries and questions. Called on the engine's thread, so nothing
//! here waits.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use tidegate_core::Nanos;
use tidegate_engine::engine::Question;
use tidegate_engine::{Port, Submission};
use tidegate_ledger::{Acquired, Granted, Ledger, SpaceId};
use tidegate_limiter::Clock;
use tidegate_store::disk::RealDisk;
use tokio::sync::{mpsc, oneshot};

use super::hooks::Hooks;

/// An operation.
pub type Op = tidegate_engine::Op<Sink>;
/// The answer to one.
pub type Outcome = tidegate_engine::Outcome<RealDisk>;
/// A message on its way to a consumer.
pub type Delivery = tidegate_engine::Delivery<RealDisk>;
/// The engine behind the doors.
pub type Engine = tidegate_engine::Engine<ServerPort>;
/// The way to it.
pub type Handle = tidegate_engine::Handle<ServerPort>;

/// Who is answered.
pub enum Reply {
    /// Whoever submitted it; if it stands in line for an acquire, where.
    Caller(oneshot::Sender<Vec<Outcome>>, Option<SpaceId>),
    /// Nobody: the caller has left.
    Nobody,
    /// Somebody who only wants to know that there is an answer.
    Probe(Arc<AtomicBool>),
}

/// Takes the deliveries of one subscription.
#[derive(Debug)]
pub struct Sink {
    tag: u32,
    sender: mpsc::UnboundedSender<Delivered>,
}

impl Sink {
    /// A sink whose deliveries carry `tag`, so that several subscriptions can share one inbox.
    pub fn new(tag: u32, sender: mpsc::UnboundedSender<Delivered>) -> Sink {
        Sink { tag, sender }
    }
}

impl Drop for Sink {
    /// The engine has let go of it: its queue is gone. Who has left does not hear it.
    fn drop(&mut self) {
        self.sender.send(Delivered { tag: self.tag, deliveries: Vec::new() }).ok();
    }
}

/// Deliveries for the subscription that was given this tag.
#[derive(Debug)]
pub struct Delivered {
    /// Which subscription.
    pub tag: u32,
    /// Its messages. None at all: they were the last.
    pub deliveries: Vec<Delivery>,
}

/// Where deliveries of subscriptions arrive. Not more than the credit that was given.
pub type Deliveries = mpsc::UnboundedReceiver<Delivered>;

/// The doors, as the engine sees them.
pub struct ServerPort {
    /// Set right after the engine was started: see [`Queues::start`](super::Queues::start).
    pub(super) handle: Arc<OnceLock<Handle>>,
    /// Set with it.
    pub(super) ledger: Arc<OnceLock<(Arc<Ledger>, Clock)>>,
    pub(super) hooks: Arc<Hooks>,
}

impl ServerPort {
    /// Sends operations whose answer nobody waits for.
    fn post(&self, ops: Vec<Op>) {
        if let Some(handle) = self.handle.get() {
            // An engine that has stopped has given its leases back already.
            handle.submit(Submission { ops, reply: Reply::Nobody }).ok();
        }
    }
}

impl Port for ServerPort {
    type Disk = RealDisk;
    type Reply = Reply;
    type Sink = Sink;

    fn reply(&mut self, to: Reply, outcomes: Vec<Outcome>) {
        let (unheard, space) = match to {
            Reply::Caller(sender, space) => (sender.send(outcomes).err().unwrap_or_default(), space),
            Reply::Nobody => (Vec::new(), None),
            Reply::Probe(answered) => {
                answered.store(true, Ordering::Release);
                (Vec::new(), None)
            }
        };
        // Who does not hear the answer holds nothing.
        if let (Some(space), Some((ledger, clock))) = (space, self.ledger.get()) {
            release_leases(&unheard, ledger, space, clock.now());
        }
        let undo: Vec<Op> = unheard.into_iter().flat_map(undo).collect();
        if !undo.is_empty() {
            self.post(undo);
        }
    }

    fn listens(&self, to: &Reply) -> bool {
        !matches!(to, Reply::Caller(sender, _) if sender.is_closed())
    }

    fn deliver(&mut self, to: &Sink, deliveries: Vec<Delivery>) -> bool {
        to.sender.send(Delivered { tag: to.tag, deliveries }).is_ok()
    }

    fn ask(&mut self, question: Question<RealDisk>) {
        self.hooks.ask(question, &self.handle);
    }
}

/// Gives back what acquires have taken.
pub(super) fn release_leases(outcomes: &[Outcome], ledger: &Ledger, space: SpaceId, now: Nanos) {
    for outcome in outcomes {
        if let Outcome::Acquired(acquired) = outcome
            && let Acquired::Granted(Granted { lease: Some(lease), .. }) = &**acquired
        {
            // One that has expired meanwhile holds nothing.
            ledger.release(space, *lease, now).ok();
        }
    }
}

/// What gives back the messages of an outcome.
pub(super) fn undo(outcome: Outcome) -> Vec<Op> {
    match outcome {
        Outcome::Received(deliveries) => deliveries
            .into_iter()
            .map(|delivery| Op::Release { queue: delivery.queue.id, receipt: delivery.receipt })
            .collect(),
        Outcome::Subscribed(consumer) => vec![Op::Unsubscribe { consumer }],
        _ => Vec::new(),
    }
}
