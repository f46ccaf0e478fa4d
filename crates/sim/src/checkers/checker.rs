//! What a checker is.

use std::fmt;

use super::acks::Acks;
use super::attempts::Attempts;
use super::audit::Audit;
use super::budget::Budget;
use super::catalog::Catalog;
use super::charges::Charges;
use super::drained::Drains;
use super::enqueues::Enqueues;
use super::holds::Holds;
use super::leases::Leases;
use super::settings::Settings;
use super::shares::Shares;
use super::slots::Slots;
use super::usage::Usage;
use crate::event::Event;

/// Something happened that must not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which rule it breaks.
    pub rule: &'static str,
    /// What happened.
    pub what: String,
}

impl Violation {
    pub(crate) fn of(rule: &'static str, what: impl Into<String>) -> Violation {
        Violation { rule, what: what.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.what)
    }
}

/// Watches events, and says when one of them must not be.
pub trait Checker {
    /// Sees the next event.
    fn see(&mut self, event: &Event) -> Result<(), Violation>;
}

/// All of them.
pub fn all() -> Vec<Box<dyn Checker>> {
    vec![
        Box::new(Enqueues::default()),
        Box::new(Acks::default()),
        Box::new(Leases::default()),
        Box::new(Attempts::default()),
        Box::new(Charges::default()),
        Box::new(Shares::default()),
        Box::new(Catalog::default()),
        Box::new(Drains),
        Box::new(Settings::default()),
        Box::new(Budget::default()),
        Box::new(Usage::default()),
        Box::new(Slots::default()),
        Box::new(Holds::default()),
        Box::new(Audit::default()),
    ]
}

/// Histories for the tests of checkers.
#[cfg(test)]
pub(super) mod history {
    use tidegate_core::queue::{MessageId, QueueId, Receipt};
    use tidegate_engine::Durability;

    use super::{Checker, Violation};
    use crate::budget::{Bound, Bucket, Change, Charge, Place, Record, Settings, Term, Tree};
    use crate::event::{
        Answer, Delivered, Enqueued, Event, Found, Held, LeaseFound, Rate, Shape, Step, Taken,
    };

    pub const QUEUE: QueueId = QueueId(1);

    /// Shows a checker a history.
    pub fn show(checker: &mut impl Checker, events: &[Event]) -> Result<(), Violation> {
        events.iter().try_for_each(|event| checker.see(event))
    }

    pub fn started(run: u32, now: u64, elapsed: u64) -> Event {
        Event::Started { run, now, elapsed, queues: vec![QUEUE], limits: Vec::new() }
    }

    pub fn queue() -> Event {
        let shape = Shape { retention_ms: None, dead_letters: None, quantum: 1 };
        Event::QueueSet { queue: QUEUE, shape }
    }

    pub fn enqueued(id: u64, durability: Durability, at: u64) -> Event {
        Event::Enqueued(Enqueued {
            id: MessageId(id),
            tag: id,
            queue: QUEUE,
            durability,
            at,
            landed_at: at,
            flow: 0,
            weight: 1,
            cost: 1,
            is_free: true,
            costs: Vec::new(),
        })
    }

    pub fn delivery(id: u64, delivery: u32, at: u64) -> Delivered {
        Delivered {
            receipt: Receipt { id: MessageId(id), delivery },
            tag: id,
            queue: QUEUE,
            holder: delivery,
            at,
            deadline: at + 100,
            attempts: 0,
            flow: 0,
            cost: 1,
            charges: Vec::new(),
            costs: Vec::new(),
        }
    }

    pub fn delivered(id: u64, number: u32, at: u64) -> Event {
        Event::Delivered(delivery(id, number, at))
    }

    pub fn asked(id: u64, delivery: u32, step: Step, at: u64) -> Event {
        let receipt = Receipt { id: MessageId(id), delivery };
        Event::Asked { receipt, step, cost: Vec::new(), at }
    }

    pub fn answered(id: u64, delivery: u32, step: Step, at: u64, answer: Answer) -> Event {
        let receipt = Receipt { id: MessageId(id), delivery };
        Event::Answered { receipt, step, at, durability: Durability::Fsync, cost: Vec::new(), answer }
    }

    /// e0 pays with its parent e1: both have a limit of this rate, and a cap of 2.
    pub fn tree(rate: Rate) -> Tree {
        let mut tree = Tree::default();
        tree.apply(&Change::Put(1, Record { parent: None, cascade: false }));
        tree.apply(&Change::Put(0, Record { parent: Some(1), cascade: true }));
        let rate = Term { limit: 0, bound: Bound::Rate(rate), soft: false };
        let settings = Settings { terms: vec![rate], ..Settings::default() };
        tree.apply(&Change::Set(Place::System, Some(settings)));
        tree
    }

    /// A lease until 1,000 after it was taken.
    pub fn acquired(lease: u64, entity: u8, amount: u64, at: u64) -> Event {
        let charges = vec![Charge { entity, resource: 0, cost: vec![(0, amount)], is_key: false }];
        let held =
            |entity| Held { bucket: Bucket { entity, resource: 0, limit: 0 }, amount, bypassed: false };
        Event::Acquired(Taken {
            lease: Some(lease),
            at,
            expires_at: at + 1_000,
            gives_back: false,
            has_waited: false,
            charges,
            held: (entity..2).map(held).collect(),
        })
    }

    pub fn found(is_start: bool, tree: Tree) -> Event {
        let (leases, usage, audit) = (Vec::new(), Vec::new(), Vec::new());
        Event::Found(Box::new(Found { is_start, tree, leases, usage, audit }))
    }

    /// A run begins with these leases.
    pub fn found_with(leases: &[u64], expires_at: u64, tree: Tree) -> Event {
        let lease = |lease: &u64| LeaseFound { lease: *lease, expires_at, held: Vec::new() };
        let (leases, usage, audit) = (leases.iter().map(lease).collect(), Vec::new(), Vec::new());
        Event::Found(Box::new(Found { is_start: true, tree, leases, usage, audit }))
    }

    /// This much was used by entities, this often.
    pub fn counted(usage: &[(u8, (i64, u64))], tree: Tree) -> Event {
        let bucket = |entity| Bucket { entity, resource: 0, limit: 0 };
        let row = |(entity, (amount, events)): &(u8, (i64, u64))| (bucket(*entity), *amount, *events);
        let (leases, usage, audit) = (Vec::new(), usage.iter().map(row).collect(), Vec::new());
        Event::Found(Box::new(Found { is_start: false, tree, leases, usage, audit }))
    }

    /// These are in the audit, so often.
    pub fn audited(audit: &[(u64, usize)]) -> Event {
        let (leases, usage, tree) = (Vec::new(), Vec::new(), Tree::default());
        Event::Found(Box::new(Found { is_start: true, tree, leases, usage, audit: audit.to_vec() }))
    }

    pub fn drained(now: u64) -> Event {
        Event::Drained {
            depths: vec![(QUEUE, 0)],
            live_bytes: 0,
            total_bytes: 0,
            segments: 1,
            segment_bytes: 4096,
            now,
        }
    }
}
