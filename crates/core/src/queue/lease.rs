//! Leases: what is settled under a receipt, and what is taken out without one.

use super::arrival::{Gone, Leased, Lookup};
use super::id::{MessageId, Place, QueueId, Receipt};
use super::message::Doing;
use super::scheduler::Scheduler;
use super::slab::NONE;
use super::timer::What;
use super::wheel::Turn;
use crate::Nanos;

impl Scheduler {
    /// Looks at a lease.
    pub fn lease(&self, receipt: Receipt) -> Result<Leased, Lookup> {
        let at = self.leased(receipt)?;
        let message = &self.messages[at];
        let queue = self.queues[self.queue_of(at)].id;
        Ok(Leased { queue, attempts: message.attempts, place: message.place })
    }

    /// The message is done.
    pub fn ack(&mut self, receipt: Receipt) -> Result<Gone, Lookup> {
        let message = self.leased(receipt)?;
        Ok(self.end(message))
    }

    /// The same, if the message is in this queue.
    pub fn ack_in(&mut self, queue: QueueId, receipt: Receipt) -> Result<Gone, Lookup> {
        let foreseen = self.foreseen_message(receipt.id);
        let message = foreseen.map_or_else(|| self.leased(receipt), |at| self.leased_at(at, receipt))?;
        if self.queues[self.queue_of(message)].id != queue {
            return Err(Lookup::NotFound);
        }
        Ok(self.end(message))
    }

    /// A leased message is no more.
    fn end(&mut self, message: u32) -> Gone {
        self.let_go(message);
        let (queue, place) = self.forget(message);
        Gone { queue, place }
    }

    /// Moves the end of a lease, also of one that ended and was told of.
    pub fn extend(&mut self, receipt: Receipt, deadline: Nanos) -> Result<(), Lookup> {
        let message = self.leased(receipt)?;
        if let Some(timer) = self.messages[message].timer() {
            self.wheel.rearm(&mut self.timers, timer, deadline);
        }
        Ok(())
    }

    /// The lease goes on without its consumer: when that is gone, the message does not come back.
    pub fn disown(&mut self, receipt: Receipt) -> Result<(), Lookup> {
        let message = self.leased(receipt)?;
        let timer = self.messages[message].timer().expect("a lease has a timer");
        let consumer = std::mem::replace(&mut self.timers[timer].consumer, NONE);
        if consumer != NONE {
            self.consumers[consumer].leases.remove(&mut self.timers, timer);
        }
        Ok(())
    }

    /// Ends the lease and puts the message at the back of its lane, at once or at `due`; attempts as given.
    pub fn requeue(
        &mut self,
        receipt: Receipt,
        attempts: u32,
        due: Option<Nanos>,
        now: Nanos,
    ) -> Result<(), Lookup> {
        let message = self.leased(receipt)?;
        self.let_go(message);
        self.messages[message].attempts = attempts;
        match due {
            Some(due) if due > now => self.hold(message, Doing::Delayed, due),
            _ => self.enter(message),
        }
        Ok(())
    }

    /// Takes a message out, whatever it is doing.
    pub fn remove(&mut self, id: MessageId) -> Option<Gone> {
        let message = self.find_message(id)?;
        match self.messages[message].doing {
            Doing::Waiting => self.pull_out(message),
            Doing::Delayed | Doing::Leased => self.let_go(message),
            Doing::Coming => self.come(message),
        }
        let (queue, place) = self.forget(message);
        Some(Gone { queue, place })
    }

    /// The record of a message was moved. False if there is no such message.
    pub fn relocate(&mut self, id: MessageId, place: Place) -> bool {
        let Some(message) = self.find_message(id) else { return false };
        let queue = self.queue_of(message);
        let old = std::mem::replace(&mut self.messages[message].place, place);
        let bytes = &mut self.queues[queue].bytes;
        *bytes = *bytes - u64::from(old.len) + u64::from(place.len);
        true
    }

    /// Fires what is due, at most `max` timers: delayed messages wait for delivery, buckets are looked at by the next
    /// [`deliver`](Self::deliver), and leases that ended are told, once: they stay leased until they are settled,
    /// requeued, removed or extended. True if more is due.
    pub fn expire(&mut self, now: Nanos, max: usize, expired: &mut Vec<Receipt>) -> bool {
        for _ in 0..max {
            match self.wheel.turn(&mut self.timers, now) {
                Turn::Still => return false,
                Turn::Moved => {}
                Turn::Fired(timer) => self.fire_timer(timer, expired),
            }
        }
        self.wheel.next(&self.timers).is_some_and(|next| next <= now)
    }

    fn fire_timer(&mut self, timer: u32, expired: &mut Vec<Receipt>) {
        match self.timers[timer].what {
            What::Station(station) => {
                self.timers.remove(timer);
                self.stations[station].timer = NONE;
                self.stations[station].is_able = true;
                self.alert(station);
            }
            What::Lap => {
                self.timers.remove(timer);
                self.shapes.timer = NONE;
            }
            What::Message(at) => {
                let message = &self.messages[at];
                if message.doing == Doing::Leased {
                    expired.push(Receipt { id: message.id, delivery: message.delivery });
                    return;
                }
                self.let_go(at);
                self.enter(at);
            }
        }
    }

    /// When to call [`expire`](Self::expire) next: when the earliest timer is due, or before that when one has to move
    /// inside the wheel, at most eight times in its life. It is in the past as long as more is due.
    pub fn next_due(&self) -> Option<Nanos> {
        self.wheel.next(&self.timers)
    }

    pub(super) fn leased(&self, receipt: Receipt) -> Result<u32, Lookup> {
        self.leased_at(self.find_message(receipt.id).ok_or(Lookup::NotFound)?, receipt)
    }

    fn leased_at(&self, at: u32, receipt: Receipt) -> Result<u32, Lookup> {
        let message = &self.messages[at];
        if message.doing == Doing::Leased && message.delivery == receipt.delivery {
            return Ok(at);
        }
        Err(Lookup::Stale)
    }

    /// No timer holds the message any more. It is loose, and still counted as held by its lane.
    pub(super) fn let_go(&mut self, at: u32) {
        let message = &mut self.messages[at];
        let timer = message.timer().expect("a message that is held has a timer");
        let was = message.doing;
        message.free();
        let flow = &mut self.flows[self.lanes[message.lane].flow];
        let queue = &mut self.queues[flow.queue];
        if was == Doing::Leased {
            queue.in_flight -= 1;
            flow.in_flight -= 1;
        } else {
            queue.delayed -= 1;
        }
        let consumer = self.timers[timer].consumer;
        if consumer != NONE {
            self.consumers[consumer].leases.remove(&mut self.timers, timer);
        }
        self.wheel.cancel(&mut self.timers, timer);
        self.timers.remove(timer);
    }

    /// A message that waits leaves its lane, from any place in it. It is loose, and counted as held.
    fn pull_out(&mut self, message: u32) {
        let at = self.messages[message].lane;
        let lane = &mut self.lanes[at];
        let was_head = lane.messages.front() == Some(message);
        lane.messages.remove(&mut self.messages, message);
        lane.waiting -= 1;
        lane.held += 1;
        let is_parked = lane.is_parked();
        let is_empty = lane.waiting == 0;
        let queue = &mut self.queues[self.flows[lane.flow].queue];
        queue.waiting -= 1;
        queue.parked -= u64::from(is_parked);
        if is_empty {
            self.go_idle(at);
            // Nothing was served, so there is no turn to wait for: a purge leaves no flows behind.
            self.leave_if_inactive(self.lanes[at].flow);
        } else if was_head {
            self.change_head(at);
        }
    }
}
