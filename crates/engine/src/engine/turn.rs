//! A turn of the engine: what is due, what can be delivered, what goes to disk.

use std::sync::Arc;

use tidegate_core::Nanos;
use tidegate_core::queue::Announced;
use tidegate_store::journal::Record;

use super::grants::Spent;
use super::held::Output;
use super::job::{Failed, Job, JobDone};
use super::port::Port;
use super::state::Engine;
use crate::delivery::Delivery;
use crate::outcome::{Outcome, Refused};
use crate::settings::NANOS_PER_MS;

/// Deliveries and timers of one turn, at most: the inbox is looked at in between.
const MOST_PER_TURN: usize = 1024;

/// Bytes that are written although nobody waits for them.
const MANY_BYTES: usize = 1 << 20;

/// How long a write that failed waits for its next try.
const RETRY_NS: u64 = 1_000 * NANOS_PER_MS;

impl<P: Port> Engine<P> {
    /// Does what there is to do. A job that comes back has to be run, and brought back by [`Engine::committed`].
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
        let mut pins = self.journal.reader().pins();
        for delivery in delivered.drain(..) {
            if !self.granted(delivery.receipt, now) {
                self.delivered(delivery, &mut pins);
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

    /// Sends off what has been appended, if somebody waits for it or it is time.
    fn depart(&mut self, now: Nanos) -> Option<Job<P::Disk>> {
        self.note_unsynced(now);
        if self.under_way {
            return None;
        }
        if let Some((mut job, again_at)) = self.failed.take() {
            if now < again_at && !self.stopping {
                self.failed = Some((job, again_at));
                return None;
            }
            // It has waited, and so have others: what came since goes with the next.
            job.sync |= now >= self.flush_due();
            self.under_way = true;
            return Some(job);
        }
        let (waiting, wants_sync) = self.wanted();
        let flush = now >= self.flush_due();
        if !waiting && !flush && self.journal.pending_bytes() < MANY_BYTES {
            return None;
        }
        let fresh = self.journal.take_batch().map(Arc::new);
        let sync = wants_sync || flush;
        let written = fresh.is_none();
        let batch = match sync {
            // One that was written before is synced with whatever comes after it.
            true => self.unsynced.take().filter(|_| written).or(fresh),
            false => fresh,
        };
        self.departed_at = now;
        if sync {
            self.unsynced_since = None;
        }
        if batch.is_none() && !waiting {
            return None;
        }
        self.held.depart();
        self.travelling.append(&mut self.fresh);
        self.patient.depart();
        self.under_way = true;
        Some(Job { batch, written, sync })
    }

    /// Whether anybody waits for the next job, and whether to be synced.
    fn wanted(&self) -> (bool, bool) {
        let (waiting, wants_sync) = self.held.wanted();
        (waiting || !self.fresh.is_empty(), wants_sync || !self.fresh.is_empty())
    }

    /// What was appended by now has to be on disk an interval later.
    pub(super) fn note_unsynced(&mut self, now: Nanos) {
        if self.journal.pending_bytes() > 0 {
            self.unsynced_since.get_or_insert(now);
        }
    }

    /// When what nobody waits for is written and synced all the same.
    fn flush_due(&self) -> Nanos {
        let since = match self.unsynced_since {
            Some(since) => since,
            // A segment that has been cleaned goes with the next job.
            None if self.journal.wants_cleaning() => self.departed_at,
            None => return Nanos::MAX,
        };
        match self.stopping {
            true => 0,
            false => since.saturating_add(self.options.flush_interval_ms * NANOS_PER_MS),
        }
    }

    /// A job has run. Look at [`Engine::doomed`] afterwards.
    pub fn committed(&mut self, done: JobDone<P::Disk>, now: Nanos) {
        self.under_way = false;
        match done.result {
            Ok(()) => {
                if self.failed_since.take().is_some() {
                    tracing::info!("the journal can be written again");
                }
                // What has landed can be delivered.
                self.busy |= !self.travelling.is_empty();
                self.travelling.drain(..).for_each(|announced| self.scheduler.land(announced));
                self.patient.land();
                if !done.job.sync && done.job.batch.is_some() {
                    self.unsynced_since.get_or_insert(now);
                    self.unsynced = done.job.batch;
                }
                for output in self.held.arrive() {
                    self.emit_late(output);
                }
            }
            Err(Failed::Sync(error)) => {
                self.doomed = Some(format!("the disk did not confirm what was written: {error}"));
            }
            Err(Failed::Write(error)) => self.not_written(done.job, &error.to_string(), now),
        }
    }

    /// The disk takes no more. Whoever waits is told, what came in with it is taken back, and what is left is tried
    /// again: acks and nacks are refused but may yet come to pass, which loses nothing.
    fn not_written(&mut self, job: Job<P::Disk>, reason: &str, now: Nanos) {
        if self.failed_since.is_none() {
            tracing::error!("the journal cannot be written: {reason}; writes are refused until it can");
            self.failed_since = Some(now);
        }
        let came_in: Vec<_> = self.travelling.drain(..).chain(self.fresh.drain(..)).collect();
        for id in came_in.iter().map(Announced::id) {
            self.end_grant(id, Spent::Nothing, now);
            if let Some(gone) = self.scheduler.remove(id) {
                self.append(&Record::Gone { id });
                self.journal.dead(gone.place);
            }
        }
        self.patient.fail();
        self.failed = Some((job, now.saturating_add(RETRY_NS)));
        for output in self.held.fail() {
            match output {
                Output::Reply(reply, outcomes) => {
                    let told = outcomes.into_iter().map(|outcome| self.untold(outcome, reason, now));
                    let told = told.collect();
                    self.port.reply(reply, told);
                }
                Output::Deliveries(consumer, deliveries) => {
                    self.scheduler.credit(consumer, deliveries.len() as u32);
                    deliveries.iter().for_each(|delivery| self.undeliver(delivery, now));
                }
            }
        }
    }

    /// What is told instead of an outcome that is not on disk.
    fn untold(&mut self, outcome: Outcome<P::Disk>, reason: &str, now: Nanos) -> Outcome<P::Disk> {
        match outcome {
            Outcome::Enqueued(_) | Outcome::Done | Outcome::Count(_) => {
                Outcome::Refused(Refused::Storage(reason.to_owned()))
            }
            Outcome::Received(deliveries) => {
                deliveries.iter().for_each(|delivery| self.undeliver(delivery, now));
                Outcome::Received(Vec::new())
            }
            other => other,
        }
    }

    /// Takes back a delivery that nobody has seen.
    fn undeliver(&mut self, delivery: &Delivery<P::Disk>, now: Nanos) {
        if let Ok(leased) = self.scheduler.lease(delivery.receipt) {
            self.end_grant(delivery.receipt.id, Spent::Nothing, now);
            self.requeue(delivery.receipt, leased.queue, leased.attempts, None, now);
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
        match &self.failed {
            _ if self.under_way => {}
            // Nothing else leaves before that.
            Some((_, again_at)) => consider(Some(*again_at)),
            None if self.wanted().0 => return Some(0),
            None => consider(Some(self.flush_due())),
        }
        (due < Nanos::MAX).then_some(due)
    }

    /// Takes no more operations; what has been applied is to be written.
    pub fn stop(&mut self, now: Nanos) {
        self.hand_out(now);
        self.end_polls();
        self.end_all_waiting(now);
        self.stopping = true;
    }

    /// Whether something that was applied is not on disk, or an answer waits.
    pub fn has_unwritten(&self) -> bool {
        // A disk that takes nothing is not waited for.
        let unwritten = self.journal.pending_bytes() > 0 || self.unsynced.is_some();
        self.under_way || self.failed.is_none() && (unwritten || !self.held.is_empty())
    }
}
