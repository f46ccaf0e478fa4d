//! All that a simulation holds.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tidegate_core::Nanos;
use tidegate_core::queue::{ConsumerId, QueueId, Receipt};
use tidegate_engine::engine::{Engine, Job, Rest, Synced, Ticket, Written};
use tidegate_engine::{Definition, Delivery, Durability, Keeper};
use tidegate_store::disk::simulated::SimDisk;

use crate::budget::name::LimitNumber;
use crate::budget::{Change, Charge, Tree};
use crate::chance::Chance;
use crate::checkers::{self, Checker, Violation};
use crate::clock::Clock;
use crate::event::{Event, FlowNumber, Holder, Key, Rate, Shape, Step};
use crate::plan::Plan;
use crate::port::SimPort;
use crate::trace::Trace;

/// The namespace that everything lives in.
pub const NAMESPACE: &str = "default";

/// A simulation.
pub struct World {
    pub(crate) chance: Chance,
    pub(crate) plan: Plan,
    pub(crate) clock: Clock,
    pub(crate) disk: SimDisk,
    pub(crate) port: SimPort,
    pub(crate) engine: Option<Engine<SimPort>>,
    pub(crate) keeper: Option<Keeper<SimDisk>>,
    pub(crate) run: u32,
    /// What the disk does, and the engine has not heard of.
    pub(crate) writing: Option<UnderWay<Job<SimDisk>, Written<SimDisk>>>,
    pub(crate) syncing: Option<UnderWay<Rest<SimDisk>, Synced<SimDisk>>>,
    /// The last job could not be written, and this is when it left.
    pub(crate) failing: Option<Nanos>,
    /// Until when the disk is full.
    pub(crate) full_until: Option<Nanos>,
    /// Faults are over: everything is to drain.
    pub(crate) is_calm: bool,
    /// Every delivery up to then was seen.
    pub(crate) seen: Nanos,
    pub(crate) durable: Nanos,
    /// When jobs of this run left, and when they were written.
    pub(crate) landings: BTreeMap<Nanos, Nanos>,
    /// When the ledger was last flushed, or to be.
    pub(crate) kept: Nanos,

    pub(crate) submissions: BTreeMap<u64, Submitted>,
    pub(crate) next_reply: u64,
    pub(crate) next_tag: u64,
    pub(crate) next_holder: Holder,
    pub(crate) streams: Vec<Stream>,
    pub(crate) leases: Vec<Lease>,
    /// Receipts that should be no good any more.
    pub(crate) stale: Vec<(QueueId, Receipt)>,
    pub(crate) questions: Vec<Ticket>,
    pub(crate) shapes: BTreeMap<QueueId, Shape>,
    pub(crate) limits: BTreeMap<Key, Rate>,
    /// What is set of entities, as it was last answered.
    pub(crate) tree: Tree,
    /// Leases of the ask door, and some that have ended.
    pub(crate) asks: Vec<u64>,
    pub(crate) past_asks: Vec<u64>,
    pub(crate) next_actor: u64,
    /// Flows whose weight has changed since everything was last drained.
    pub(crate) varied: BTreeSet<FlowNumber>,
    /// What the last list said, by name of queue.
    pub(crate) depths: BTreeMap<String, u64>,

    pub(crate) trace: Trace,
    checkers: Vec<Box<dyn Checker>>,
}

/// Something that the disk does: a step of a job that left at a time.
pub struct UnderWay<T, U> {
    pub(crate) stage: Stage<T, U>,
    pub(crate) departed: Nanos,
    pub(crate) done_at: Nanos,
}

/// How far it has come.
pub enum Stage<T, U> {
    /// The disk has not got to it.
    Waiting(T),
    /// It has run, and nobody knows.
    Run(U),
}

impl<T, U> Stage<T, U> {
    /// It has run by now.
    pub(crate) fn finish(self, run: impl FnOnce(T) -> U) -> U {
        match self {
            Stage::Waiting(waiting) => run(waiting),
            Stage::Run(done) => done,
        }
    }
}

/// What was asked for, to understand the answer.
pub struct Submitted {
    pub(crate) at: Nanos,
    pub(crate) ops: Vec<Asked>,
}

/// One operation that was asked for.
#[derive(Clone, Debug)]
pub enum Asked {
    /// A message.
    Enqueue(Sent),
    /// A receive.
    Receive(Holder),
    /// A subscription.
    Subscribe(Holder),
    /// Anything of which only the trace has to know.
    Plain,
    /// A message is settled.
    Settle {
        /// By which receipt.
        receipt: Receipt,
        /// How.
        step: Step,
        /// What the queue promises at that time.
        durability: Durability,
        /// A key that is closed with it.
        close: Option<(Key, Nanos)>,
        /// What it is said to have cost in truth.
        cost: Vec<(LimitNumber, u64)>,
    },
    /// Entities or settings are to change.
    Edit {
        /// How.
        changes: Vec<Change>,
        /// Who wants it.
        actor: u64,
    },
    /// An acquire that waits in line.
    Acquire {
        /// What it asks for.
        charges: Vec<Charge>,
        /// Whether its tokens come back when its lease expires.
        gives_back: bool,
    },
    /// Queues are to go.
    Delete(Vec<QueueId>),
    /// A limit is set or removed.
    SetLimit(Key, Option<Rate>),
    /// A key is closed.
    Close(Key, Nanos),
    /// How every queue is doing.
    List,
}

/// A message on its way in.
#[derive(Clone, Debug)]
pub struct Sent {
    pub(crate) tag: u64,
    pub(crate) queue: QueueId,
    pub(crate) durability: Durability,
    pub(crate) flow: FlowNumber,
    pub(crate) weight: u32,
    pub(crate) cost: u32,
    pub(crate) is_free: bool,
    pub(crate) costs: Vec<Charge>,
}

/// A subscription.
#[derive(Clone, Debug)]
pub struct Stream {
    pub(crate) holder: Holder,
    pub(crate) queue: QueueId,
    /// Once it is known.
    pub(crate) consumer: Option<ConsumerId>,
}

/// A message that somebody holds.
pub struct Lease {
    pub(crate) receipt: Receipt,
    pub(crate) queue: QueueId,
    pub(crate) holder: Holder,
    pub(crate) tag: u64,
    /// To be read late; not after a restart.
    pub(crate) delivery: Option<Delivery<SimDisk>>,
}

impl World {
    /// The world of a seed, before its first start.
    pub fn new(seed: u64, keep_lines: bool) -> World {
        let mut chance = Chance::new(seed);
        let plan = Plan::draw(&mut chance);
        let disk = SimDisk::new(chance.any());
        World {
            plan,
            clock: Clock::default(),
            port: SimPort::new(disk.clone()),
            disk,
            engine: None,
            keeper: None,
            run: 0,
            writing: None,
            syncing: None,
            failing: None,
            full_until: None,
            is_calm: true,
            seen: 0,
            durable: 0,
            landings: BTreeMap::new(),
            kept: 0,
            submissions: BTreeMap::new(),
            next_reply: 0,
            next_tag: 0,
            next_holder: 0,
            streams: Vec::new(),
            leases: Vec::new(),
            stale: Vec::new(),
            questions: Vec::new(),
            shapes: BTreeMap::new(),
            limits: BTreeMap::new(),
            tree: Tree::default(),
            asks: Vec::new(),
            past_asks: Vec::new(),
            next_actor: 0,
            varied: BTreeSet::new(),
            depths: BTreeMap::new(),
            trace: Trace::new(keep_lines),
            checkers: checkers::all(),
            chance,
        }
    }

    /// Something happened: it is noted, and everybody looks at it.
    pub fn emit(&mut self, event: Event) -> Result<(), Violation> {
        self.trace.note(format_args!("  {event}"));
        self.checkers.iter_mut().try_for_each(|checker| checker.see(&event))
    }

    /// Deliveries of a queue, or of all, may go unseen from here on, or messages leave otherwise.
    pub(crate) fn disturb(&mut self, queue: Option<QueueId>) -> Result<(), Violation> {
        let (seen, at) = (self.seen, self.clock.now + 1);
        self.emit(Event::Disturbed { queue, seen, at })
    }

    /// Notes what is done, which checkers need not see.
    pub fn note(&mut self, what: std::fmt::Arguments<'_>) {
        let at = crate::line::At(self.clock.now);
        self.trace.note(format_args!("{at} {what}"));
    }

    /// The queues that are there, by name.
    pub fn queues(&self) -> Vec<Arc<Definition>> {
        self.engine.as_ref().map(|engine| engine.directory().queues(NAMESPACE)).unwrap_or_default()
    }

    /// One of them.
    pub fn some_queue(&mut self) -> Option<Arc<Definition>> {
        let queues = self.queues();
        (!queues.is_empty()).then(|| self.chance.pick(&queues).clone())
    }

    /// A queue by its number.
    pub fn queue(&self, id: QueueId) -> Option<Arc<Definition>> {
        self.queues().into_iter().find(|queue| queue.id == id)
    }

    pub(crate) fn new_holder(&mut self) -> Holder {
        self.next_holder += 1;
        self.next_holder
    }
}
