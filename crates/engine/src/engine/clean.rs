//! The journal kept small: what is still alive in its oldest segment is written again, and the segment dropped.

use tidegate_core::Nanos;
use tidegate_core::queue::{MessageId, Place, State};
use tidegate_store::Error;
use tidegate_store::journal::{MessageRecord, Record};

use super::grants::Spent;
use super::port::Port;
use super::state::Engine;

impl<P: Port> Engine<P> {
    /// Cleans a little, as much as the journal asks for. True if there was something to clean.
    pub(super) fn clean(&mut self, now: Nanos) -> bool {
        let budget = self.journal.clean_budget();
        if budget == 0 || self.failed.is_some() {
            return false;
        }
        match self.journal.clean_step(budget) {
            Ok(step) => {
                let some = !step.candidates.is_empty();
                step.candidates.into_iter().for_each(|(id, place)| self.rewrite(id, place, now));
                some
            }
            Err(error) => {
                tracing::warn!("the journal cannot be cleaned: {error}");
                false
            }
        }
    }

    /// Writes a message again, with its present state, if that is where it is.
    fn rewrite(&mut self, id: MessageId, place: Place, now: Nanos) {
        let Some(message) = self.scheduler.describe(id).filter(|message| message.place == place) else {
            return;
        };
        let body = match self.journal.read(place) {
            Ok(body) => body,
            Err(error @ Error::Damaged { .. }) => {
                tracing::error!(%id, "a message is lost, and its segment is set aside: {error}");
                self.end_grant(id, Spent::AsTaken, now);
                self.scheduler.remove(id);
                self.append(&Record::Gone { id });
                return self.journal.unreadable(place);
            }
            Err(error) => {
                // It stays where it is, and so does its segment, until the next walk.
                return tracing::warn!(%id, "a message cannot be read for now: {error}");
            }
        };
        let record = body.message();
        // One that has been requeued since stays behind those that came before that.
        let order = if message.attempts > 0 || message.delivery > 0 { self.stamps.next(now) } else { id.0 };
        let (lease, due) = match message.state {
            State::Waiting => (None, None),
            State::Delayed(due) => (None, Some(due)),
            State::Leased(deadline) => (Some(deadline), None),
        };
        let moved = MessageRecord {
            queue: message.queue,
            order,
            attempts: message.attempts,
            delivery: message.delivery,
            lease,
            due,
            dead: record.dead.filter(|_| record.queue == message.queue),
            ..record
        };
        let new = self.append(&Record::Message(moved));
        self.scheduler.relocate(id, new);
        self.journal.dead(place);
    }
}
