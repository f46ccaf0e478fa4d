//! What goes to disk, and what follows from its being there.
//!
//! A job is written, and then mostly synced. What came in with it can be delivered as soon as it is written: it survives
//! the end of this process, and whoever sent it is answered when it survives the end of the machine. One job is under
//! way at a time, so that whatever arrives meanwhile shares the next sync; but while one is synced, what a consumer
//! waits for is written.

use std::sync::Arc;

use tidegate_core::Nanos;
use tidegate_core::queue::{Announced, QueueId};
use tidegate_store::journal::Record;

use super::grants::Spent;
use super::held::Output;
use super::job::{Job, Synced, Written};
use super::port::Port;
use super::state::Engine;
use crate::delivery::Delivery;
use crate::outcome::{Outcome, Refused};
use crate::settings::NANOS_PER_MS;

/// Bytes that are written although nobody waits for them.
const MANY_BYTES: usize = 1 << 20;

/// Bytes that are written during a sync, at most: the more there are, the more share the next job.
const EARLY_BYTES: usize = 256 << 10;

/// How long a write that failed waits for its next try.
const RETRY_NS: u64 = 1_000 * NANOS_PER_MS;

impl<P: Port> Engine<P> {
    /// Sends off what has been appended, if somebody waits for it or it is time.
    pub(super) fn depart(&mut self, now: Nanos) -> Option<Job<P::Disk>> {
        self.note_unsynced(now);
        // Whoever stops does not wait for another try.
        let at_once = self.stopping && self.failed.is_some();
        if self.departure_due().is_none_or(|due| due > now && !at_once) {
            return None;
        }
        if self.failed.is_some() {
            return self.depart_again(now);
        }
        let sync = !self.syncing && (self.wants_sync() || now >= self.flush_due());
        let fresh = self.journal.take_batch().map(Arc::new);
        self.departed_at = now;
        if sync {
            self.unsynced_since = None;
        }
        match fresh {
            // One that was written before is synced with whatever comes after it.
            None if sync && self.unsynced.is_some() => self.depart_written(),
            None if !self.held.is_wanted() => None,
            batch => {
                self.hurry = false;
                self.travelling.append(&mut self.fresh);
                self.patient.depart();
                let number = self.held.depart();
                self.send_off(Job { batch, number, is_written: false, sync })
            }
        }
    }

    /// The disk has taken nothing for a while. What it took before is not to wait for that.
    fn depart_again(&mut self, now: Nanos) -> Option<Job<P::Disk>> {
        if self.unsynced.is_some() {
            return self.depart_written();
        }
        let (mut job, _) = self.failed.take()?;
        job.sync |= now >= self.flush_due();
        self.send_off(job)
    }

    /// What is written is to be synced.
    fn depart_written(&mut self) -> Option<Job<P::Disk>> {
        let batch = self.unsynced.take();
        self.send_off(Job { batch, number: self.held.last_written(), is_written: true, sync: true })
    }

    fn send_off(&mut self, job: Job<P::Disk>) -> Option<Job<P::Disk>> {
        self.writing = true;
        Some(job)
    }

    /// When the next job leaves, as far as anybody knows.
    pub(super) fn departure_due(&self) -> Option<Nanos> {
        let pending = self.journal.pending_bytes();
        match &self.failed {
            _ if self.writing => None,
            _ if self.syncing => {
                let is_awaited = self.hurry && !self.fresh.is_empty() || self.held.wants_write();
                (is_awaited && self.failed.is_none() && pending <= EARLY_BYTES).then_some(0)
            }
            Some(_) if self.unsynced.is_some() => Some(0),
            // Nothing else leaves before that.
            Some((_, again_at)) => Some(*again_at),
            None if self.held.is_wanted() || !self.fresh.is_empty() || pending >= MANY_BYTES => Some(0),
            None => Some(self.flush_due()),
        }
    }

    fn wants_sync(&self) -> bool {
        self.held.wants_sync() || !self.fresh.is_empty()
    }

    /// Somebody may take what is on its way to this queue: it is written as soon as can be.
    pub(super) fn hurry_for(&mut self, queue: QueueId) {
        self.hurry |= !self.fresh.is_empty() && self.scheduler.is_awaited(queue);
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

    /// A job is written, or could not be. Look at [`Engine::doomed`] afterwards.
    pub fn written(&mut self, written: Written<P::Disk>, now: Nanos) {
        self.writing = false;
        let Written { job, result } = written;
        match result {
            Err(error) if error.is_fatal() => self.doom(&error),
            Err(error) => self.not_written(job, &error.to_string(), now),
            Ok(()) => self.landed(job, now),
        }
    }

    /// What is written can be delivered.
    fn landed(&mut self, job: Job<P::Disk>, now: Nanos) {
        if !job.is_written && self.failed_since.take().is_some() {
            tracing::info!("the journal can be written again");
        }
        self.busy |= !self.travelling.is_empty();
        self.scheduler.land(&self.travelling);
        self.travelling.clear();
        self.patient.land();
        let told = self.held.written(job.number);
        if job.sync {
            self.syncing = true;
            self.unsynced = None;
            self.held.sync();
        } else if job.batch.is_some() {
            self.unsynced_since.get_or_insert(now);
            self.unsynced = job.batch;
        }
        told.into_iter().for_each(|output| self.emit_late(output));
    }

    /// A job is synced, or nobody knows. Look at [`Engine::doomed`] afterwards.
    pub fn synced(&mut self, synced: Synced<P::Disk>) {
        self.syncing = false;
        match synced.result {
            Err(error) => self.doom(&error),
            Ok(()) => self.held.synced().into_iter().for_each(|output| self.emit_late(output)),
        }
    }

    fn doom(&mut self, error: &tidegate_store::Error) {
        self.doomed = Some(format!("the disk did not confirm what was written: {error}"));
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
                Refused::Storage(reason.to_owned()).into()
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

    /// Whether something that was applied is not on disk, or an answer waits.
    pub fn has_unwritten(&self) -> bool {
        // A disk that takes nothing is not waited for.
        let unwritten = self.journal.pending_bytes() > 0 || self.unsynced.is_some();
        self.writing || self.syncing || self.failed.is_none() && (unwritten || !self.held.is_empty())
    }
}
