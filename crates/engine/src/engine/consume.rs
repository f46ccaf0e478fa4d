//! Consumers: subscriptions that have credit, and receives that wait.

use tidegate_core::Nanos;
use tidegate_core::queue::{ConsumerId, Delivered, MessageId, QueueId};
use tidegate_store::journal::Record;

use super::apply::Applied;
use super::grants::Spent;
use super::held::{Need, Output};
use super::port::Port;
use super::state::{Engine, Slot};
use crate::delivery::{Delivery, Lending};
use crate::op::Receive;
use crate::outcome::{Outcome, Refused};
use crate::settings::NANOS_PER_MS;

/// Whoever takes messages of a queue.
pub(super) struct Consumer<P: Port> {
    pub(super) queue: QueueId,
    /// What it got in this turn.
    arrived: Vec<Delivery<P::Disk>>,
    need: Need,
    pub(super) kind: Kind<P>,
}

pub(super) enum Kind<P: Port> {
    /// A subscription.
    Stream(P::Sink),
    /// A receive that waits until `deadline`, and for answers of a table until `latest`.
    Poll { slot: Slot, deadline: Nanos, latest: Nanos },
}

impl<P: Port> Engine<P> {
    /// A number that no consumer has.
    pub(super) fn new_consumer_id(&mut self) -> ConsumerId {
        loop {
            self.next_consumer = self.next_consumer.wrapping_add(1);
            let id = ConsumerId(self.next_consumer);
            let waits = self.wait_queues.values().any(|line| line.consumer == id);
            if !waits && !self.consumers.contains_key(&id) {
                return id;
            }
        }
    }

    fn add_consumer(&mut self, queue: QueueId, credit: u32, kind: Kind<P>) -> ConsumerId {
        let id = self.new_consumer_id();
        self.consumers.insert(id, Consumer { queue, arrived: Vec::new(), need: Need::NOTHING, kind });
        self.scheduler.subscribe(queue, id, credit);
        self.hurry_for(queue);
        id
    }

    pub(super) fn receive(&mut self, receive: Receive, slot: Slot, now: Nanos) -> Applied<P> {
        let Receive { queue, max, wait_ms } = receive;
        if self.queue(queue).is_none() {
            return Applied::refused(Refused::QueueNotFound(format!("#{}", queue.0)));
        }
        let wait_ns = wait_ms.saturating_mul(NANOS_PER_MS);
        let is_patient = wait_ns == 0 && self.scheduler.expects(queue);
        let deadline = if is_patient { Nanos::MAX } else { now.saturating_add(wait_ns) };
        let latest = now.saturating_add(self.options.table_wait_ms.saturating_mul(NANOS_PER_MS));
        let id = self.add_consumer(queue, max, Kind::Poll { slot, deadline, latest });
        self.polls.insert((deadline, id));
        match self.fresh.is_empty() {
            _ if !is_patient => {}
            true => self.patient.wait_for_this(id),
            false => self.patient.wait_for_next(id),
        }
        Applied::Later
    }

    pub(super) fn subscribe(&mut self, queue: QueueId, credit: u32, sink: P::Sink) -> Applied<P> {
        if self.queue(queue).is_none() {
            return Applied::refused(Refused::QueueNotFound(format!("#{}", queue.0)));
        }
        let id = self.add_consumer(queue, credit, Kind::Stream(sink));
        Applied::Now(Outcome::Subscribed(id), Need::NOTHING)
    }

    pub(super) fn credit(&mut self, consumer: ConsumerId, credit: u32) -> Applied<P> {
        let Some(queue) = self.consumers.get(&consumer).map(|consumer| consumer.queue) else {
            return Applied::refused(Refused::ConsumerNotFound(consumer));
        };
        self.scheduler.credit(consumer, credit);
        self.hurry_for(queue);
        Applied::done(Need::NOTHING)
    }

    pub(super) fn unsubscribe(&mut self, consumer: ConsumerId, now: Nanos) -> Applied<P> {
        match self.drop_consumer(consumer, now) {
            true => Applied::done(Need::NOTHING),
            false => Applied::refused(Refused::ConsumerNotFound(consumer)),
        }
    }

    /// Whether somebody takes messages, or waits for some.
    pub(crate) fn has_consumers(&self) -> bool {
        !self.consumers.is_empty()
    }

    /// Ends a subscription: its leases come back at once.
    pub(super) fn drop_consumer(&mut self, consumer: ConsumerId, now: Nanos) -> bool {
        let Some(gone) = self.consumers.remove(&consumer) else { return false };
        let mut returned: Vec<MessageId> = Vec::new();
        self.scheduler.unsubscribe(consumer, false, &mut |id| returned.push(id));
        for id in returned {
            self.end_grant(id, Spent::Nothing, now);
            let attempts = self.scheduler.describe(id).map_or(0, |message| message.attempts);
            let order = self.stamps.next(now);
            self.append(&Record::Requeued { id, queue: gone.queue, order, attempts, due: None });
        }
        true
    }

    /// Writes down a delivery and sets it aside for its consumer.
    pub(super) fn delivered(&mut self, delivered: Delivered, lending: &mut Lending<P::Disk>) {
        let Delivered { queue, consumer, receipt, attempts, place, deadline } = delivered;
        self.append(&Record::Delivered { id: receipt.id, delivery: receipt.delivery, deadline });
        let Some(queue) = self.queues.get_mut(&queue) else { return };
        queue.totals.delivered += 1;
        let need = self.held.need_of(place);
        let Some(consumer_state) = self.consumers.get_mut(&consumer) else { return };
        consumer_state.need = consumer_state.need.and(need);
        if consumer_state.arrived.is_empty() {
            self.stirred.push(consumer);
        }
        consumer_state.arrived.push(Delivery {
            receipt,
            attempts,
            deadline,
            queue: lending.queue(&queue.definition),
            pinned: lending.pin(place),
        });
    }

    /// Sends consumers what they got in this turn, and ends receives that have something or have waited long enough.
    pub(super) fn hand_out(&mut self, now: Nanos) {
        for id in std::mem::take(&mut self.stirred) {
            let Some(consumer) = self.consumers.get_mut(&id) else { continue };
            let need = std::mem::take(&mut consumer.need);
            match &consumer.kind {
                Kind::Stream(_) => {
                    let deliveries = std::mem::take(&mut consumer.arrived);
                    self.tell(Output::Deliveries(id, deliveries), need);
                }
                Kind::Poll { .. } => self.finish_poll(id, need),
            }
        }
        for id in self.patient.take_landed() {
            self.give_up(id, now);
        }
        while let Some((deadline, id)) = self.polls.first().copied()
            && deadline <= now
        {
            self.give_up(id, now);
        }
        // A turn that ended early has not looked at all answers.
        if !self.busy {
            let asks = |queue| self.scheduler.asks(queue);
            for id in self.patient.take_answered(asks) {
                self.finish_poll(id, Need::NOTHING);
            }
        }
    }

    /// A receive has waited long enough. If the table is being asked whether a message of its queue may go, it waits for the
    /// answer all the same: on a disk of its own the server would have known. It never waits for a refill.
    fn give_up(&mut self, id: ConsumerId, now: Nanos) {
        if let Some(Consumer { queue, kind: Kind::Poll { deadline, latest, .. }, .. }) =
            self.consumers.get_mut(&id)
            && now < *latest
            && self.scheduler.asks(*queue)
        {
            self.polls.remove(&(*deadline, id));
            *deadline = *latest;
            self.polls.insert((*deadline, id));
            return self.patient.wait_for_answer(*queue, id);
        }
        self.finish_poll(id, Need::NOTHING);
    }

    fn finish_poll(&mut self, id: ConsumerId, need: Need) {
        let Some(consumer) = self.consumers.remove(&id) else { return };
        let Kind::Poll { slot, deadline, .. } = consumer.kind else { return };
        self.polls.remove(&(deadline, id));
        self.patient.leave(consumer.queue, id);
        self.scheduler.unsubscribe(id, true, &mut |_| ());
        self.complete(slot, Outcome::Received(consumer.arrived), need);
    }

    /// Ends receives that nobody listens to any more, before they take anything.
    pub(super) fn end_unheard(&mut self, now: Nanos) {
        if !std::mem::take(&mut self.withdrawn) {
            return;
        }
        self.end_unheard_waiting(now);
        let unheard = |(_, id): &&(Nanos, ConsumerId)| {
            let Some(Consumer { kind: Kind::Poll { slot, .. }, .. }) = self.consumers.get(id) else {
                return false;
            };
            self.open.get(&slot.open).is_some_and(|open| !self.port.listens(&open.reply))
        };
        let ids: Vec<ConsumerId> = self.polls.iter().filter(unheard).map(|(_, id)| *id).collect();
        ids.into_iter().for_each(|id| self.finish_poll(id, Need::NOTHING));
    }

    /// Ends every receive that waits, with what there is.
    pub(super) fn end_polls(&mut self) {
        while let Some((_, id)) = self.polls.first().copied() {
            self.finish_poll(id, Need::NOTHING);
        }
    }

    /// Tells the world what has waited for the disk. A lease that has run out meanwhile is somebody else's, or nobody's:
    /// its delivery is left out.
    pub(super) fn emit_late(&mut self, mut output: Output<P>) {
        let is_live = |delivery: &Delivery<P::Disk>| self.scheduler.lease(delivery.receipt).is_ok();
        match &mut output {
            Output::Deliveries(consumer, deliveries) => {
                let count = deliveries.len();
                deliveries.retain(is_live);
                let missed = count - deliveries.len();
                if missed > 0 {
                    self.scheduler.credit(*consumer, missed as u32);
                }
            }
            Output::Reply(_, outcomes) => {
                for outcome in outcomes {
                    if let Outcome::Received(deliveries) = outcome {
                        deliveries.retain(is_live);
                    }
                }
            }
        }
        self.emit(output);
    }

    /// Tells the world.
    pub(super) fn emit(&mut self, output: Output<P>) {
        match output {
            Output::Reply(reply, outcomes) => self.port.reply(reply, outcomes),
            Output::Deliveries(id, deliveries) => {
                let Some(Consumer { kind: Kind::Stream(sink), .. }) = self.consumers.get(&id) else { return };
                if !self.port.deliver(sink, deliveries) {
                    self.gone.push(id);
                }
            }
        }
    }

    /// Ends every consumer of a queue that is deleted.
    pub(super) fn drop_consumers_of(&mut self, queue: QueueId) {
        let of_queue = self.consumers.iter().filter(|(_, consumer)| consumer.queue == queue);
        let mut ids: Vec<ConsumerId> = of_queue.map(|(id, _)| *id).collect();
        // In one order, whatever the map has: the same seed, the same trace.
        ids.sort_unstable();
        for id in ids {
            match self.consumers.get(&id).map(|consumer| &consumer.kind) {
                Some(Kind::Poll { .. }) => self.finish_poll(id, Need::NOTHING),
                // Its sink is dropped, which tells it.
                Some(Kind::Stream(_)) => drop(self.consumers.remove(&id)),
                None => {}
            }
        }
    }
}
