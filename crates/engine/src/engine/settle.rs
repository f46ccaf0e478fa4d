//! Messages that are answered: ack, nack, extend, release.

use tidegate_core::Nanos;
use tidegate_core::queue::{Gone, Leased, Lookup, QueueId, Receipt};
use tidegate_store::journal::Record;

use super::apply::{Answers, Applied};
use super::failure::Cause;
use super::grants::Spent;
use super::held::Need;
use super::port::Port;
use super::state::{Engine, Slot};
use crate::op::{Cost, Nack};
use crate::outcome::Refused;
use crate::settings::NANOS_PER_MS;

impl<P: Port> Engine<P> {
    /// The lease that a receipt is about, if it is live and of this queue.
    fn lease(&self, queue: QueueId, receipt: Receipt) -> Result<Leased, Refused> {
        // While a hook is asked what becomes of it, nobody holds it any more.
        if self.in_limbo(receipt) {
            return Err(Refused::StaleReceipt(receipt.id));
        }
        match self.scheduler.lease(receipt) {
            Ok(leased) if leased.queue == queue => Ok(leased),
            Ok(_) => Err(unknown(Lookup::NotFound, receipt)),
            Err(lookup) => Err(unknown(lookup, receipt)),
        }
    }

    fn lease_to_change(&self, queue: QueueId, receipt: Receipt) -> Result<Leased, Refused> {
        let leased = self.lease(queue, receipt)?;
        self.writable()?;
        Ok(leased)
    }

    /// Ends a lease and its message, with one look at it.
    fn end_lease(&mut self, queue: QueueId, receipt: Receipt) -> Result<Gone, Refused> {
        if self.stopping {
            return Err(Refused::Stopping);
        }
        if self.in_limbo(receipt) || self.writable().is_err() {
            self.lease_to_change(queue, receipt)?;
        }
        self.scheduler.ack_in(queue, receipt).map_err(|lookup| unknown(lookup, receipt))
    }

    pub(super) fn ack(
        &mut self,
        queue: QueueId,
        receipts: &[Receipt],
        cost: &Cost,
        answers: &mut Answers<P>,
        now: Nanos,
    ) {
        let mut acked = 0;
        for receipt in receipts {
            answers.add(match self.ack_one(queue, *receipt, cost, now) {
                Ok(()) => {
                    acked += 1;
                    Applied::done(Need::NOTHING)
                }
                Err(refused) => Applied::refused(refused),
            });
        }
        if acked > 0 {
            answers.require(self.need_in(queue));
            self.totals(queue).into_iter().for_each(|totals| totals.acked += acked);
        }
    }

    fn ack_one(&mut self, queue: QueueId, receipt: Receipt, cost: &Cost, now: Nanos) -> Result<(), Refused> {
        let gone = self.end_lease(queue, receipt)?;
        self.end_grant(receipt.id, Spent::Really(cost), now);
        self.append(&Record::Gone { id: receipt.id });
        self.journal.dead(gone.place);
        Ok(())
    }

    pub(super) fn nack(
        &mut self,
        queue: QueueId,
        receipt: Receipt,
        nack: Nack,
        slot: Slot,
        now: Nanos,
    ) -> Applied<P> {
        let leased = match self.lease_to_change(queue, receipt) {
            Ok(leased) => leased,
            Err(refused) => return Applied::refused(refused),
        };
        if let (Some(close), Some(definition)) = (&nack.close, self.queue(queue).cloned())
            && let Err(refused) = self.close_key(&definition.kept.namespace, close, now)
        {
            return Applied::refused(refused);
        }
        if let Some(totals) = self.totals(queue) {
            totals.nacked += 1;
        }
        let error = nack.error.unwrap_or_default();
        let cause = Cause { error, delay_ms: nack.delay_ms, slot: Some(slot), cost: nack.cost };
        match self.fail(receipt, leased, cause, now) {
            true => Applied::done(self.need_in(queue)),
            false => Applied::Later,
        }
    }

    pub(super) fn extend(
        &mut self,
        queue: QueueId,
        receipt: Receipt,
        visibility_ms: u64,
        now: Nanos,
    ) -> Applied<P> {
        if let Err(refused) = self.lease_to_change(queue, receipt) {
            return Applied::refused(refused);
        }
        let deadline = now.saturating_add(visibility_ms.saturating_mul(NANOS_PER_MS));
        if self.scheduler.extend(receipt, deadline).is_ok() {
            self.append(&Record::Extended { id: receipt.id, deadline });
        }
        Applied::done(self.need_in(queue))
    }

    pub(super) fn release(&mut self, queue: QueueId, receipt: Receipt, now: Nanos) -> Applied<P> {
        let leased = match self.lease_to_change(queue, receipt) {
            Ok(leased) => leased,
            Err(refused) => return Applied::refused(refused),
        };
        self.end_grant(receipt.id, Spent::Nothing, now);
        self.requeue(receipt, leased.queue, leased.attempts, None, now);
        Applied::done(self.need_in(queue))
    }

    /// Puts a leased message back in line.
    pub(super) fn requeue(
        &mut self,
        receipt: Receipt,
        queue: QueueId,
        attempts: u32,
        due: Option<Nanos>,
        now: Nanos,
    ) {
        let order = self.stamps.next(now);
        if self.scheduler.requeue(receipt, attempts, due, now).is_ok() {
            self.append(&Record::Requeued { id: receipt.id, queue, order, attempts, due });
        }
    }
}

/// A receipt of no lease.
fn unknown(lookup: Lookup, receipt: Receipt) -> Refused {
    match lookup {
        Lookup::NotFound => Refused::MessageNotFound(receipt.id),
        Lookup::Stale => Refused::StaleReceipt(receipt.id),
    }
}
