//! A queue: its round, its consumers, its counts.

use super::flow;
use super::id::{ConsumerId, QueueId};
use super::list::{Links, List, Ring, linked};
use super::message;
use super::policy::Policy;
use super::quantum::Quantum;
use super::station::InDormant;
use super::timer::InConsumer;
use crate::Nanos;

pub(super) struct Queue {
    pub(super) id: QueueId,
    pub(super) policy: Policy,
    pub(super) paused: bool,
    /// Flows that have just come, and the others: see [`round`](super::round).
    pub(super) new: List<flow::InRound>,
    pub(super) old: List<flow::InRound>,
    pub(super) round: u16,
    pub(super) quantum: Quantum,
    /// By how much new flows are ahead of old ones that had to wait for them: cost per weight, in 2^-16.
    pub(super) lead: i64,
    /// Groups that were found in front of their station while the queue could take nothing.
    pub(super) dormant: List<InDormant>,
    pub(super) messages: List<message::InQueue>,
    pub(super) flows: List<flow::InQueue>,
    pub(super) consumers: List<InQueue>,
    pub(super) consumer_count: u64,
    /// Consumers that may be sent something.
    pub(super) with_credit: Ring<InCredit>,
    pub(super) credit: u64,
    pub(super) waiting: u64,
    /// Messages on their way to the disk.
    pub(super) coming: u64,
    pub(super) delayed: u64,
    pub(super) parked: u64,
    /// Groups of it that stand at a station where an answer is waited for: see [`asked`](super::asked).
    pub(super) asking: u32,
    pub(super) in_flight: u64,
    pub(super) bytes: u64,
    pub(super) flows_active: u64,
    /// The weight of these.
    pub(super) weight: u64,
    pub(super) delivered: u64,
    recent: f64,
    window: u16,
    pub(super) is_runnable: bool,
    in_runnable: Links,
}

/// The role of the list of queues that may have something to deliver.
pub(super) struct InRunnable;

linked!(Queue, InRunnable, in_runnable);

impl Queue {
    pub(super) fn new(id: QueueId, policy: Policy) -> Queue {
        Queue {
            id,
            policy,
            paused: false,
            new: List::new(),
            old: List::new(),
            round: 0,
            quantum: Quantum::new(policy.quantum.into()),
            lead: 0,
            dormant: List::new(),
            messages: List::new(),
            flows: List::new(),
            consumers: List::new(),
            consumer_count: 0,
            with_credit: Ring::new(),
            credit: 0,
            waiting: 0,
            coming: 0,
            delayed: 0,
            parked: 0,
            asking: 0,
            in_flight: 0,
            bytes: 0,
            flows_active: 0,
            weight: 0,
            delivered: 0,
            recent: 0.0,
            window: 0,
            is_runnable: false,
            in_runnable: Links::LOOSE,
        }
    }

    /// Whether a delivery from it would find a consumer.
    pub(super) fn can_take(&self) -> bool {
        self.credit > 0 && !self.paused
    }

    /// Whether it has anything that a turn could act on.
    pub(super) fn has_turn(&self) -> bool {
        !self.new.is_empty() || !self.old.is_empty() || !self.dormant.is_empty()
    }

    pub(super) fn depth(&self) -> u64 {
        self.waiting + self.coming + self.delayed + self.in_flight
    }

    /// Cost delivered, halved with every window that passed.
    pub(super) fn recent(&self, now: Nanos) -> f64 {
        self.recent * flow::faded(self.window, now)
    }

    pub(super) fn count(&mut self, cost: u32, now: Nanos) {
        self.delivered += 1;
        self.recent = self.recent(now) + f64::from(cost);
        self.window = flow::window(now);
    }
}

/// A subscription.
pub(super) struct Consumer {
    pub(super) id: ConsumerId,
    pub(super) queue: u32,
    pub(super) credit: u32,
    /// The timers of its leases.
    pub(super) leases: List<InConsumer>,
    in_queue: Links,
    in_credit: Links,
}

/// The role of a queue's list of its consumers.
pub(super) struct InQueue;
/// The role of a queue's ring of consumers with credit.
pub(super) struct InCredit;

linked!(Consumer, InQueue, in_queue);
linked!(Consumer, InCredit, in_credit);

impl Consumer {
    pub(super) fn new(id: ConsumerId, queue: u32) -> Consumer {
        Consumer {
            id,
            queue,
            credit: 0,
            leases: List::new(),
            in_queue: Links::LOOSE,
            in_credit: Links::LOOSE,
        }
    }
}
