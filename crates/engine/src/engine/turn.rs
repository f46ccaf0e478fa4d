//! A turn of the engine: what is due, what can be delivered, what goes to disk.

use tidegate_core::Nanos;

use super::job::Job;
use super::port::Port;
use super::state::Engine;
use crate::delivery::Lending;

/// Deliveries and timers of one turn, at most: the inbox is looked at in between.
const MOST_PER_TURN: usize = 1024;

impl<P: Port> Engine<P> {
    /// Does what there is to do. A job that comes back has to be [written](Job::write) and brought back by
    /// [`Engine::written`]; what is left of it then has to be run and brought back by [`Engine::synced`].
    pub fn turn(&mut self, now: Nanos) -> Option<Job<P::Disk>> {
        self.end_unheard(now);
        self.hear_freed();
        self.hear_weights();
        self.busy = self.fire(now) | self.deliver(now);
        self.end_waiting(now);
        self.hand_out(now);
        self.drop_gone(now);
        self.walk(now);
        self.expire_old(now);
        self.busy |= self.clean(now);
        self.limits.sweep(&self.scheduler);
        self.make_sure(now);
        self.depart(now)
    }

    /// Fires timers. True if there are more.
    fn fire(&mut self, now: Nanos) -> bool {
        let mut expired = std::mem::take(&mut self.expired);
        let more = self.scheduler.expire(now, MOST_PER_TURN, &mut expired);
        for receipt in expired.drain(..) {
            self.time_out(receipt, now);
        }
        self.expired = expired;
        more
    }

    /// Delivers. True if there is more that could be.
    fn deliver(&mut self, now: Nanos) -> bool {
        let mut delivered = std::mem::take(&mut self.delivered);
        let more = self.scheduler.deliver(&mut self.limits, now, MOST_PER_TURN, &mut delivered);
        let mut lending = Lending::new(self.journal.reader());
        for delivery in delivered.drain(..) {
            if !self.granted(delivery.receipt, now) {
                self.delivered(delivery, &mut lending);
            }
        }
        self.delivered = delivered;
        more
    }

    /// Ends subscriptions that nobody takes from any more.
    fn drop_gone(&mut self, now: Nanos) {
        for id in std::mem::take(&mut self.gone) {
            self.drop_consumer(id, now);
        }
    }

    /// When the engine has something to do by itself.
    pub fn next_due(&self) -> Option<Nanos> {
        if self.busy || !self.walks.is_empty() || !self.gone.is_empty() {
            return Some(0);
        }
        let mut due = Nanos::MAX;
        let mut consider = |at: Option<Nanos>| due = due.min(at.unwrap_or(Nanos::MAX));
        consider(self.scheduler.next_due());
        consider(self.polls.first().map(|(deadline, _)| *deadline));
        consider(self.retention_due());
        consider(self.waiting_due());
        consider(self.unsure_due());
        consider(self.departure_due());
        (due < Nanos::MAX).then_some(due)
    }

    /// Takes no more operations; what has been applied is to be written.
    pub fn stop(&mut self, now: Nanos) {
        self.hand_out(now);
        self.end_polls();
        self.end_all_waiting(now);
        self.stopping = true;
    }
}
