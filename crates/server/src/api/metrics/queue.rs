//! What the Queue door counts.

use tidegate_engine::Refused;

use super::{AcquireMetrics, Acquires, Counter, Histogram, Transport};
use crate::api::queue::Outcome;
use crate::api::refusal::{Code, Refusal};

/// An operation of the Queue door.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueOperation {
    /// A message in.
    Enqueue,
    /// A request for messages.
    Receive,
    /// A subscription, or credit for one.
    Consume,
    /// A message done with.
    Ack,
    /// A failed attempt.
    Nack,
    /// More time.
    Extend,
    /// A message given back.
    Release,
    /// About queues, limits and settings.
    Admin,
}

impl QueueOperation {
    /// All of them, in the order of their numbers.
    pub const ALL: [QueueOperation; 8] = [
        QueueOperation::Enqueue,
        QueueOperation::Receive,
        QueueOperation::Consume,
        QueueOperation::Ack,
        QueueOperation::Nack,
        QueueOperation::Extend,
        QueueOperation::Release,
        QueueOperation::Admin,
    ];

    /// Its label.
    pub const fn as_str(self) -> &'static str {
        match self {
            QueueOperation::Enqueue => "enqueue",
            QueueOperation::Receive => "receive",
            QueueOperation::Consume => "consume",
            QueueOperation::Ack => "ack",
            QueueOperation::Nack => "nack",
            QueueOperation::Extend => "extend",
            QueueOperation::Release => "release",
            QueueOperation::Admin => "admin",
        }
    }
}

/// The counters of one door.
#[derive(Debug, Default)]
#[repr(align(128))]
struct DoorMetrics {
    asked: [Counter; QueueOperation::ALL.len()],
    refused: Vec<Counter>,
    latency: Histogram,
}

/// The counters of the Queue door.
#[derive(Debug)]
pub struct QueueMetrics {
    doors: [DoorMetrics; Transport::ALL.len()],
    acquires: [AcquireMetrics; Transport::ALL.len()],
}

impl Default for QueueMetrics {
    fn default() -> QueueMetrics {
        let door = || DoorMetrics {
            refused: Code::ALL.iter().map(|_| Counter::default()).collect(),
            ..DoorMetrics::default()
        };
        QueueMetrics { doors: std::array::from_fn(|_| door()), acquires: Default::default() }
    }
}

impl QueueMetrics {
    /// Counts operations that arrived, by their numbers.
    pub fn asked(&self, transport: Transport, operations: &[u64; QueueOperation::ALL.len()]) {
        for (counter, count) in self.doors[transport as usize].asked.iter().zip(operations) {
            counter.add(*count);
        }
    }

    /// Counts an operation that was refused.
    pub fn refused(&self, transport: Transport, code: Code) {
        let index = Code::ALL.iter().position(|other| *other == code);
        if let Some(counter) = index.and_then(|index| self.doors[transport as usize].refused.get(index)) {
            counter.add(1);
        }
    }

    /// Counts operations that were answered together; each waited for all of them.
    pub fn answered(&self, transport: Transport, outcomes: &[Outcome], elapsed_ns: u64) {
        let mut acquires = Acquires::default();
        for outcome in outcomes {
            match outcome {
                Outcome::Refused(refused) => {
                    let refused = Refused::clone(refused);
                    self.refused(transport, Refusal::from(refused).code());
                }
                Outcome::Acquired(acquired) => drop(acquires.count(acquired)),
                _ => {}
            }
        }
        self.acquires(transport).add(&acquires);
        // How long a receive or an acquire in line takes is its caller's choice.
        if !matches!(outcomes, [Outcome::Received(_) | Outcome::Acquired(_)]) {
            self.doors[transport as usize].latency.observe(elapsed_ns, outcomes.len() as u64);
        }
    }

    /// What became of the acquires of a door.
    pub fn acquires(&self, transport: Transport) -> &AcquireMetrics {
        &self.acquires[transport as usize]
    }

    /// Operations that arrived.
    pub fn asked_count(&self, transport: Transport, operation: QueueOperation) -> u64 {
        self.doors[transport as usize].asked[operation as usize].get()
    }

    /// Operations refused, by code, if there were any.
    pub fn refusals(&self, transport: Transport) -> impl Iterator<Item = (Code, u64)> {
        let counts = self.doors[transport as usize].refused.iter().map(Counter::get);
        Code::ALL.into_iter().zip(counts).filter(|(_, count)| *count > 0)
    }

    /// Time from submission to answer.
    pub fn latency(&self, transport: Transport) -> &Histogram {
        &self.doors[transport as usize].latency
    }
}
