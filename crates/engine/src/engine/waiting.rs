//! Acquires that wait in line: messages of a queue that nobody sees.
//!
//! Each namespace has one such queue. Its flows are entities, so callers of one entity do not hold up those of another,
//! and at a bucket they stand in the same rings as the lanes of real queues. Nothing of it is written: whoever waits
//! hears of a restart by losing the connection.

use bytes::Bytes;
use tidegate_core::Nanos;
use tidegate_core::bucket::Ready;
use tidegate_core::ledger::charge::{self, ChargeName};
use tidegate_core::ledger::name::DEFAULT_RESOURCE;
use tidegate_core::queue::{Arrival, ConsumerId, MessageId, Place, Policy, QueueId, Receipt};
use tidegate_ledger::{Acquire, Acquired, Charge, Denied, Grant, Granted, LeaseTerms, SpaceId};

use super::apply::Applied;
use super::held::Need;
use super::port::Port;
use super::state::{Engine, Slot};
use crate::op::WaitingAcquire;
use crate::outcome::{Outcome, Refused};
use crate::settings::NANOS_PER_MS;

/// The most acquires that wait in one namespace.
const MOST_WAITING: u64 = 100_000;

/// Credit of the consumer that stands for all who wait: what it uses is given back.
const CREDIT: u32 = 1 << 20;

/// An acquire that waits.
pub(super) struct Waiting {
    space: SpaceId,
    charges: Vec<(Bytes, u64)>,
    lease: Option<LeaseTerms>,
    deadline: Nanos,
    slot: Slot,
}

/// The queue of those who wait in a namespace.
#[derive(Clone, Copy)]
pub(super) struct WaitQueue {
    queue: QueueId,
    pub(super) consumer: ConsumerId,
}

impl<P: Port> Engine<P> {
    pub(super) fn acquire(&mut self, acquire: WaitingAcquire, slot: Slot, now: Nanos) -> Applied<P> {
        match self.line_up(acquire, slot, now) {
            Ok(()) => Applied::Later,
            Err(refused) => Applied::refused(refused),
        }
    }

    fn line_up(&mut self, acquire: WaitingAcquire, slot: Slot, now: Nanos) -> Result<(), Refused> {
        let WaitingAcquire { namespace, charges, lease, wait_ms } = acquire;
        self.present(&namespace)?;
        let space = self.limits.ledger().space(&namespace)?;
        self.charges.clear();
        for (name, amount) in &charges {
            let number = self.limits.number(space, name)?;
            self.charges.push((number, *amount));
        }
        self.limits.judge(&self.charges, now)?;
        let line = self.wait_queue(space);
        if self.scheduler.stats(line.queue).is_some_and(|stats| stats.waiting >= MOST_WAITING) {
            return Err(Refused::QueueFull("the most acquires that may wait"));
        }
        let id = MessageId(self.stamps.next(now));
        let flow = charges.first().map(|(name, _)| entity_of(name));
        let weight = flow.and_then(|entity| self.weight_of(space, line.queue, entity, now));
        let arrival = Arrival {
            id,
            place: Place { segment: 0, offset: 0, len: 0 },
            flow: flow.unwrap_or_default(),
            foreseen: None,
            weight,
            cost: 1,
            charges: &self.charges,
            due: None,
            attempts: 0,
            delivery: 0,
        };
        self.scheduler.enqueue(line.queue, &arrival, now);
        let deadline = now.saturating_add(wait_ms.saturating_mul(NANOS_PER_MS));
        self.waiting.insert(id, Waiting { space, charges, lease, deadline, slot });
        self.waiting_until.insert((deadline, id));
        Ok(())
    }

    fn wait_queue(&mut self, space: SpaceId) -> WaitQueue {
        if let Some(line) = self.wait_queues.get(&space) {
            return *line;
        }
        // Real queues are numbered from the other end.
        let queue = QueueId(u32::MAX - self.wait_queues.len() as u32);
        let policy = Policy { visibility_ns: Nanos::MAX / 2, ..Policy::default() };
        self.scheduler.create_queue(queue, policy);
        let consumer = self.new_consumer_id();
        self.scheduler.subscribe(queue, consumer, CREDIT);
        let line = WaitQueue { queue, consumer };
        self.wait_queues.insert(space, line);
        line
    }

    /// An acquire has had its turn, and has been paid for. False if this is a message of a real queue.
    pub(super) fn granted(&mut self, receipt: Receipt, now: Nanos) -> bool {
        let Some(waiting) = self.waiting.remove(&receipt.id) else { return false };
        self.waiting_until.remove(&(waiting.deadline, receipt.id));
        self.scheduler.ack(receipt).ok();
        if let Some(line) = self.wait_queues.get(&waiting.space) {
            self.scheduler.credit(line.consumer, 1);
        }
        #[cfg(feature = "check")]
        for paid in self.limits.paid.iter_mut().filter(|paid| paid.message == receipt.id) {
            paid.pay = super::check::Pay::Acquire;
        }
        let ledger = self.limits.ledger().clone();
        let grant = self.limits.take_grant(receipt.id).unwrap_or_else(Grant::empty);
        let statuses = ledger.grant_statuses(&grant, now);
        let leased = match waiting.lease {
            Some(terms) => {
                ledger.lease_grant(waiting.space, grant, terms, now).map(|(lease, at)| (Some(lease), at))
            }
            None => {
                ledger.keep_grant(grant, now);
                Ok((None, 0))
            }
        };
        let outcome = match leased {
            Ok((lease, expires_at)) => {
                let granted = Granted { lease, expires_at, statuses, bypassed: false, degraded: false };
                Outcome::Acquired(Box::new(Acquired::Granted(granted)))
            }
            Err((grant, refused)) => {
                ledger.release_grant(grant, now);
                Refused::from(refused).into()
            }
        };
        self.complete(waiting.slot, outcome, Need::NOTHING);
        true
    }

    /// Ends those who have waited long enough.
    pub(super) fn end_waiting(&mut self, now: Nanos) {
        while let Some((deadline, id)) = self.waiting_until.first().copied()
            && deadline <= now
        {
            self.deny(id, now);
        }
    }

    /// When the next of them has.
    pub(super) fn waiting_due(&self) -> Option<Nanos> {
        self.waiting_until.first().map(|(deadline, _)| *deadline)
    }

    /// Ends everybody who waits.
    pub(super) fn end_all_waiting(&mut self, now: Nanos) {
        while let Some((_, id)) = self.waiting_until.first().copied() {
            self.deny(id, now);
        }
    }

    /// Ends those whom nobody listens to any more, before they take anything.
    pub(super) fn end_unheard_waiting(&mut self, now: Nanos) {
        let unheard = |(_, id): &&(Nanos, MessageId)| {
            let open = self.waiting.get(id).and_then(|waiting| self.open.get(&waiting.slot.open));
            open.is_some_and(|open| !self.port.listens(&open.reply))
        };
        let ids: Vec<MessageId> = self.waiting_until.iter().filter(unheard).map(|(_, id)| *id).collect();
        ids.into_iter().for_each(|id| self.deny(id, now));
    }

    /// Ends those who wait in a namespace that is deleted.
    pub(super) fn end_waiting_in(&mut self, namespace: &str) {
        let space = self.limits.ledger().find_space(namespace);
        let is_there = |(_, id): &&(Nanos, MessageId)| {
            self.waiting.get(id).is_some_and(|waiting| Some(waiting.space) == space)
        };
        let ids: Vec<MessageId> = self.waiting_until.iter().filter(is_there).map(|(_, id)| *id).collect();
        for id in ids {
            self.scheduler.remove(id);
            let Some(waiting) = self.waiting.remove(&id) else { continue };
            self.waiting_until.remove(&(waiting.deadline, id));
            let refused = Refused::NamespaceDeleted(namespace.to_owned());
            self.complete(waiting.slot, refused.into(), Need::NOTHING);
        }
    }

    fn deny(&mut self, id: MessageId, now: Nanos) {
        self.scheduler.remove(id);
        let Some(waiting) = self.waiting.remove(&id) else { return };
        self.waiting_until.remove(&(waiting.deadline, id));
        let outcome = match self.denied(&waiting, now) {
            Ok(denied) => Outcome::Acquired(Box::new(Acquired::Denied(denied))),
            Err(refused) => Refused::from(refused).into(),
        };
        self.complete(waiting.slot, outcome, Need::NOTHING);
    }

    /// Where the limits stand that it has waited for.
    fn denied(&self, waiting: &Waiting, now: Nanos) -> Result<Denied, tidegate_ledger::Refused> {
        let ledger = self.limits.ledger();
        let costs: Vec<_> = waiting.charges.iter().map(|(name, amount)| cost(name, *amount)).collect();
        let charge = |(entity, resource, cost)| Charge { entity, resource, cost };
        let charges: Vec<_> =
            costs.iter().map(|(entity, resource, cost)| charge((entity, resource, &cost[..]))).collect();
        let checked = ledger.check(&Acquire::new(waiting.space, &charges), now)?;
        let bucket = match checked.bucket {
            Some(bucket) => bucket,
            // It could pass by now, and is late.
            None => {
                let name = waiting.charges.first().map(|(name, _)| &name[..]).unwrap_or_default();
                ledger.queue_charge(waiting.space, charge::parse(name))?.bucket
            }
        };
        let ready = checked.ready.max(Ready::At(now));
        Ok(Denied { statuses: checked.statuses, ready, bucket })
    }
}

/// A charge as the Ask door has it.
fn cost(name: &[u8], amount: u64) -> (&[u8], &str, [(&str, u64); 1]) {
    match charge::parse(name) {
        ChargeName::Key(key) => (key, DEFAULT_RESOURCE, [("rate", amount)]),
        ChargeName::Entity { entity, resource, limit } => (entity, resource, [(limit, amount)]),
    }
}

/// The entity that a charge is about; for a throttle key, the key.
pub(super) fn entity_of(name: &[u8]) -> &[u8] {
    match charge::parse(name) {
        ChargeName::Key(key) => key,
        ChargeName::Entity { entity, .. } => entity,
    }
}
