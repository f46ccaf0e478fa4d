//! What a checker is.

use std::fmt;

use super::acks::Acks;
use super::attempts::Attempts;
use super::catalog::Catalog;
use super::charges::Charges;
use super::drained::Drains;
use super::enqueues::Enqueues;
use super::leases::Leases;
use super::shares::Shares;
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
    ]
}

/// Histories for the tests of checkers.
#[cfg(test)]
pub(super) mod history {
    use tidegate_core::queue::{MessageId, QueueId, Receipt};
    use tidegate_engine::Durability;

    use super::{Checker, Violation};
    use crate::event::{Answer, Delivered, Enqueued, Event, Shape, Step};

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
            flow: 0,
            weight: 1,
            cost: 1,
            is_free: true,
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
        }
    }

    pub fn delivered(id: u64, number: u32, at: u64) -> Event {
        Event::Delivered(delivery(id, number, at))
    }

    pub fn asked(id: u64, delivery: u32, step: Step, at: u64) -> Event {
        Event::Asked { receipt: Receipt { id: MessageId(id), delivery }, step, at }
    }

    pub fn answered(id: u64, delivery: u32, step: Step, at: u64, answer: Answer) -> Event {
        let receipt = Receipt { id: MessageId(id), delivery };
        Event::Answered { receipt, step, at, durability: Durability::Fsync, answer }
    }

    pub fn drained(now: u64) -> Event {
        Event::Drained { depths: vec![(QUEUE, 0)], live_bytes: 0, total_bytes: 0, segment_bytes: 4096, now }
    }
}
