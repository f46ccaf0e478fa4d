//! What becomes of a message whose attempt has failed: another attempt, or the dead letters.

use tidegate_core::Nanos;
use tidegate_core::queue::{Arrival, Leased, QueueId, Receipt, failure};
use tidegate_store::journal::{DeadLetter, MessageRecord, Record};

use super::grants::Spent;
use super::port::{Port, Question, Ticket, Verdict};
use super::state::{Engine, Slot};
use crate::op::Cost;
use crate::outcome::Outcome;
use crate::settings::NANOS_PER_MS;

/// Why an attempt has failed, and who waits to hear that it is noted.
pub(super) struct Cause {
    pub(super) error: Box<str>,
    /// When whoever failed wants it tried again.
    pub(super) delay_ms: Option<u64>,
    pub(super) slot: Option<Slot>,
    /// What the attempt has cost in truth, where that is said.
    pub(super) cost: Cost,
}

/// A failed message that a hook is asked about.
pub(super) struct Limbo {
    receipt: Receipt,
    cause: Cause,
}

impl Limbo {
    /// Who waits to hear.
    pub(super) fn slot(&self) -> Option<Slot> {
        self.cause.slot
    }
}

impl<P: Port> Engine<P> {
    /// An attempt has failed. True if it is decided what becomes of the message; if not, a hook is asked.
    pub(super) fn fail(&mut self, receipt: Receipt, leased: Leased, cause: Cause, now: Nanos) -> bool {
        let Some(definition) = self.queue(leased.queue).cloned() else { return true };
        if definition.settings().on_failure.is_none() {
            self.decide(receipt, leased, &cause, Verdict::AsSettings, now);
            return true;
        }
        self.port.ask(Question {
            ticket: Ticket(receipt),
            queue: definition,
            id: receipt.id,
            attempts: leased.attempts + 1,
            error: cause.error.clone(),
            pinned: self.journal.reader().pin(leased.place).expect("the segment of a live message is there"),
        });
        // Whoever had it may go meanwhile: that does not bring it back.
        self.scheduler.disown(receipt).ok();
        self.limbo.insert(receipt.id, Limbo { receipt, cause });
        false
    }

    /// Whether a hook is asked about this delivery.
    pub(super) fn in_limbo(&self, receipt: Receipt) -> bool {
        self.limbo.get(&receipt.id).is_some_and(|limbo| limbo.receipt == receipt)
    }

    /// A hook has answered.
    pub fn verdict(&mut self, ticket: Ticket, verdict: Verdict, now: Nanos) {
        // The queue may have been deleted or purged meanwhile.
        let Some(Limbo { receipt, cause }) = self.limbo.remove(&ticket.0.id) else { return };
        let queue = match self.scheduler.lease(receipt) {
            Ok(leased) => {
                self.decide(receipt, leased, &cause, verdict, now);
                Some(leased.queue)
            }
            Err(_) => None,
        };
        if let Some(slot) = cause.slot {
            let need = queue.map(|queue| self.need_in(queue)).unwrap_or_default();
            self.complete(slot, Outcome::Done, need);
        }
    }

    fn decide(&mut self, receipt: Receipt, leased: Leased, cause: &Cause, verdict: Verdict, now: Nanos) {
        let attempts = leased.attempts + 1;
        let draw = self.draw();
        // Not before, though a hook was asked: what a restart would find leased is settled once.
        self.end_grant(receipt.id, Spent::Really(&cause.cost), now);
        let Some(definition) = self.queue(leased.queue).cloned() else { return };
        let settings = definition.settings();
        let backoff = settings.core_backoff();
        let by_settings = failure::verdict(settings.max_attempts, &backoff, attempts, draw);
        let dead = match verdict {
            Verdict::DeadLetter => true,
            Verdict::Retry { .. } => false,
            Verdict::AsSettings => by_settings == failure::Verdict::DeadLetter,
        };
        if dead && self.bury(receipt, leased, attempts, &cause.error, now) {
            return;
        }
        let asked_ms = match verdict {
            Verdict::Retry { delay_ms: Some(ms) } => Some(ms),
            _ => cause.delay_ms,
        };
        let delay_ns = match asked_ms {
            Some(ms) => ms.saturating_mul(NANOS_PER_MS),
            None => match failure::verdict(None, &backoff, attempts, draw) {
                failure::Verdict::Retry { delay_ns } => delay_ns,
                failure::Verdict::DeadLetter => 0,
            },
        };
        let due = (delay_ns > 0).then(|| now.saturating_add(delay_ns));
        self.requeue(receipt, leased.queue, attempts, due, now);
    }

    /// Moves a message to the dead letters of its queue. False if there is no such queue, or the message cannot be
    /// read: then it is tried again.
    fn bury(&mut self, receipt: Receipt, leased: Leased, attempts: u32, error: &str, now: Nanos) -> bool {
        let Some(origin) = self.queue(leased.queue).cloned() else { return false };
        let Some(dead_letters) = origin.settings().dead_letter_queue.name() else { return false };
        let target = self.directory.queue(&origin.kept.namespace, dead_letters);
        let Some(target) = target.filter(|target| !self.may_be_deleted(target.id)) else {
            tracing::warn!(queue = origin.name(), dead_letters, "there is no such queue: tried again");
            return false;
        };
        let body = match self.journal.read(leased.place) {
            Ok(body) => body,
            Err(error) => {
                tracing::error!(id = %receipt.id, "a message cannot be read, and is tried again: {error}");
                return false;
            }
        };
        let record = body.message();
        let at_ms = now / NANOS_PER_MS;
        let dead = DeadLetter { queue: origin.name(), at_ms, attempts, reason: error };
        let delivery = receipt.delivery;
        let order = self.stamps.next(now);
        let moved = MessageRecord {
            queue: target.id,
            order,
            attempts,
            delivery,
            lease: None,
            due: None,
            dead: Some(dead),
            ..record
        };
        let place = self.append(&Record::Message(moved));
        self.scheduler.remove(receipt.id);
        self.journal.dead(leased.place);
        self.arrive(target.id, &moved, place, now);
        if let Some(totals) = self.totals(leased.queue) {
            totals.dead_lettered += 1;
        }
        true
    }

    /// Puts a message that is in the journal in line.
    pub(super) fn arrive(
        &mut self,
        queue: QueueId,
        record: &MessageRecord<'_>,
        place: tidegate_core::queue::Place,
        now: Nanos,
    ) {
        self.renumber_charges(queue, record);
        let weight = self.weight(queue, record.flow, record.weight, now);
        let arrival = Arrival {
            id: record.id,
            place,
            flow: record.flow,
            foreseen: None,
            weight,
            cost: record.cost,
            charges: &self.charges,
            due: record.due,
            attempts: record.attempts,
            delivery: record.delivery,
        };
        self.scheduler.enqueue(queue, &arrival, now);
    }

    /// Leases have run out: each is a failed attempt.
    pub(super) fn time_out(&mut self, receipt: Receipt, now: Nanos) {
        if self.in_limbo(receipt) {
            return;
        }
        let Ok(leased) = self.scheduler.lease(receipt) else { return };
        if let Some(totals) = self.totals(leased.queue) {
            totals.timed_out += 1;
        }
        // It has waited long enough: no backoff on top, unless a hook wants one.
        let cause = Cause {
            error: "the visibility timeout has passed".into(),
            delay_ms: Some(0),
            slot: None,
            cost: Cost::new(),
        };
        self.fail(receipt, leased, cause, now);
    }
}
