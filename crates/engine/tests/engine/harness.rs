//! An engine driven by hand: its clock, its disk and its consumers are the test's.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use serde_json::{Value, json};
use tidegate_core::Nanos;
use tidegate_core::queue::{ConsumerId, MessageId, Receipt};
use tidegate_engine::engine::{Engine, Job, Options, Port, Question, Report, Rest, Ticket, Verdict};
use tidegate_engine::{
    Admin, Cost, Delivery, Due, Enqueue, Keeper, Op, Outcome, QueueReport, Receive, Refused, Submission, Task,
};
use tidegate_ledger::SpaceId;
use tidegate_store::disk::simulated::SimDisk;
use tidegate_store::journal::Headers;

pub const MS: Nanos = 1_000_000;
pub const SECOND: Nanos = 1_000 * MS;
pub const START: Nanos = 1_700_000_000 * SECOND;

pub type Out = Outcome<SimDisk>;

/// What the engine said, for the test to look at.
#[derive(Default)]
pub struct Said {
    pub replies: BTreeMap<u64, Vec<Out>>,
    pub questions: Vec<(Ticket, u32, String)>,
    /// Who does not wait for an answer any more.
    pub left: Vec<u64>,
}

pub struct TestPort(Arc<Mutex<Said>>);

impl Port for TestPort {
    type Disk = SimDisk;
    type Reply = u64;
    type Sink = Sender<Delivery<SimDisk>>;

    fn reply(&mut self, to: u64, outcomes: Vec<Out>) {
        self.0.lock().unwrap().replies.insert(to, outcomes);
    }

    fn listens(&self, to: &u64) -> bool {
        !self.0.lock().unwrap().left.contains(to)
    }

    fn deliver(&mut self, to: &Self::Sink, deliveries: Vec<Delivery<SimDisk>>) -> bool {
        deliveries.into_iter().all(|delivery| to.send(delivery).is_ok())
    }

    fn ask(&mut self, question: Question<SimDisk>) {
        let said = (question.ticket, question.attempts, question.error.to_string());
        self.0.lock().unwrap().questions.push(said);
    }
}

pub struct Bench {
    pub engine: Engine<TestPort>,
    pub keeper: Keeper<SimDisk>,
    pub disk: SimDisk,
    pub now: Nanos,
    pub said: Arc<Mutex<Said>>,
    pub report: Report,
    next_reply: Cell<u64>,
}

/// A message as a consumer sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Got {
    pub receipt: Receipt,
    pub attempts: u32,
    pub payload: String,
}

pub fn got(delivery: &Delivery<SimDisk>) -> Got {
    let body = delivery.read().unwrap();
    let payload = String::from_utf8(body.message().payload.to_vec()).unwrap();
    Got { receipt: delivery.receipt, attempts: delivery.attempts, payload }
}

impl Bench {
    pub fn new() -> Bench {
        Bench::open(SimDisk::new(7), START)
    }

    pub fn open(disk: SimDisk, now: Nanos) -> Bench {
        Bench::with(disk, now, Options::default())
    }

    /// The same, but for how segments and chance are.
    pub fn with(disk: SimDisk, now: Nanos, options: Options) -> Bench {
        let said = Arc::new(Mutex::new(Said::default()));
        let options = Options { segment_bytes: 1 << 20, seed: [1, 2], ..options };
        let (engine, keeper, report) =
            Engine::open(disk.clone(), TestPort(said.clone()), options, now).unwrap();
        Bench { engine, keeper, disk, now, said, report, next_reply: Cell::new(0) }
    }

    /// Ends this run, as a process that is killed does, and starts the next.
    pub fn restart(self, crash: impl FnOnce(&SimDisk)) -> Bench {
        let Bench { engine, keeper, disk, now, .. } = self;
        drop((engine, keeper));
        crash(&disk);
        Bench::open(disk, now)
    }

    /// Writes a job. Says what is left to do of it.
    pub fn write(&mut self, job: Job<SimDisk>) -> Option<Rest<SimDisk>> {
        let written = job.write();
        let rest = written.rest();
        self.engine.written(written, self.now);
        rest
    }

    /// Brings to disk what was written.
    pub fn sync(&mut self, rest: Rest<SimDisk>) {
        let synced = rest.run();
        let chores = synced.chores();
        self.engine.synced(synced);
        chores.run().unwrap();
    }

    /// Turns until nothing is left to do at this time.
    pub fn settle(&mut self) {
        for _ in 0..10_000 {
            if let Some(job) = self.engine.turn(self.now) {
                if let Some(rest) = self.write(job) {
                    self.sync(rest);
                }
                continue;
            }
            if self.engine.next_due().is_none_or(|due| due > self.now) {
                return;
            }
        }
        panic!("the engine never rests");
    }

    /// Lets time pass, firing what is due on the way, and a tick more: timers are that late.
    pub fn pass(&mut self, span: Nanos) {
        let end = self.now + span + 2_000;
        loop {
            let due = self.engine.next_due().unwrap_or(Nanos::MAX).min(self.keeper.next_due());
            if due > end {
                break;
            }
            self.now = self.now.max(due);
            self.keep();
            self.settle();
        }
        self.now = end;
        self.settle();
    }

    /// What the thread of the keeper does.
    fn keep(&mut self) {
        if self.keeper.next_due() <= self.now {
            self.keeper.tick(self.now).unwrap();
        }
    }

    pub fn submit(&mut self, ops: Vec<Op<Sender<Delivery<SimDisk>>>>) -> u64 {
        let reply = self.next_reply.get();
        self.next_reply.set(reply + 1);
        self.engine.submit(Submission { ops, reply }, self.now);
        reply
    }

    pub fn reply(&self, reply: u64) -> Option<Vec<Out>> {
        self.said.lock().unwrap().replies.remove(&reply)
    }

    /// Submits one operation and waits for its outcome.
    pub fn ask(&mut self, op: Op<Sender<Delivery<SimDisk>>>) -> Out {
        let reply = self.submit(vec![op]);
        self.settle();
        self.reply(reply).expect("an answer").remove(0)
    }

    pub fn admin(&mut self, task: Task) -> Out {
        self.ask(Op::Admin(Admin { namespace: "default".into(), task }))
    }

    pub fn create(&mut self, name: &str, settings: Value) -> QueueReport {
        match self.admin(Task::CreateQueue { name: name.to_owned(), settings }) {
            Out::Queue(report) => *report,
            other => panic!("{other:?}"),
        }
    }

    pub fn inspect(&mut self, name: &str) -> QueueReport {
        match self.admin(Task::Inspect { name: name.to_owned() }) {
            Out::Queue(report) => *report,
            other => panic!("{other:?}"),
        }
    }

    pub fn message(&self, queue: &str, payload: &str) -> Enqueue {
        Enqueue {
            queue: self.engine.directory().queue("default", queue).expect("a queue").into(),
            flow: "default".into(),
            weight: None,
            cost: 1,
            charges: Vec::new(),
            due: Due::Now,
            headers: Headers::encode([(&b"h"[..], &b"v"[..])]).into(),
            payload: Bytes::copy_from_slice(payload.as_bytes()),
        }
    }

    pub fn enqueue(&mut self, queue: &str, payload: &str) -> MessageId {
        let message = self.message(queue, payload);
        self.put(message)
    }

    pub fn put(&mut self, message: Enqueue) -> MessageId {
        match self.ask(Op::Enqueue(message)) {
            Out::Enqueued(id) => id,
            other => panic!("{other:?}"),
        }
    }

    pub fn queue_id(&self, queue: &str) -> tidegate_core::queue::QueueId {
        self.engine.directory().queue("default", queue).expect("a queue").id
    }

    pub fn receive(&mut self, queue: &str, max: u32) -> Vec<Got> {
        let queue = self.queue_id(queue);
        match self.ask(Op::Receive(Receive { queue, max, wait_ms: 0 })) {
            Out::Received(deliveries) => deliveries.iter().map(got).collect(),
            other => panic!("{other:?}"),
        }
    }

    pub fn subscribe(&mut self, queue: &str, credit: u32) -> (ConsumerId, Receiver<Delivery<SimDisk>>) {
        let (sink, deliveries) = channel();
        let queue = self.queue_id(queue);
        match self.ask(Op::Subscribe { queue, credit, sink }) {
            Out::Subscribed(consumer) => (consumer, deliveries),
            other => panic!("{other:?}"),
        }
    }

    pub fn ack(&mut self, queue: &str, receipt: Receipt) -> Result<(), Refused> {
        self.ack_with(queue, receipt, Cost::new())
    }

    pub fn ack_with(&mut self, queue: &str, receipt: Receipt, cost: Cost) -> Result<(), Refused> {
        let queue = self.queue_id(queue);
        done(self.ask(Op::Ack { queue, receipts: vec![receipt], cost }))
    }

    /// Takes from a throttle key as the Ask door does. False if it is short.
    pub fn take_key(&self, key: &str, n: u64) -> bool {
        let decision = self.engine.ledger().decide_key(self.space(), key.as_bytes(), n, self.now);
        decision.is_none_or(|decision| decision.allowed)
    }

    pub fn space(&self) -> SpaceId {
        self.engine.ledger().space("default").unwrap()
    }

    pub fn nack(
        &mut self,
        queue: &str,
        receipt: Receipt,
        nack: tidegate_engine::Nack,
    ) -> Result<(), Refused> {
        let queue = self.queue_id(queue);
        done(self.ask(Op::Nack { queue, receipt, nack }))
    }

    pub fn verdict(&mut self, verdict: Verdict) {
        let (ticket, ..) = self.said.lock().unwrap().questions.remove(0);
        self.engine.verdict(ticket, verdict, self.now);
        self.settle();
    }
}

pub fn done(outcome: Out) -> Result<(), Refused> {
    match outcome {
        Out::Done => Ok(()),
        Out::Refused(refused) => Err(*refused),
        other => panic!("{other:?}"),
    }
}

pub fn payloads(got: &[Got]) -> Vec<&str> {
    got.iter().map(|got| &got.payload[..]).collect()
}

pub fn at_once() -> Value {
    json!({"backoff": {"initial_ms": 0}})
}
