//! The journal kept small: what is still alive in its oldest segment is written again, and the segment dropped.

use tidegate_core::Nanos;
use tidegate_core::queue::{MessageId, Place, State};
use tidegate_store::journal::{MessageRecord, Record};

use super::port::Port;
use super::state::Engine;

impl<P: Port> Engine<P> {
    pub(super) fn wants_cleaning(&self) -> bool {
        self.journal.clean_budget() > 0
    }

    /// Cleans a little, as much as the journal asks for.
    pub(super) fn clean(&mut self, now: Nanos) {
        let budget = self.journal.clean_budget();
        if budget == 0 || self.failed.is_some() {
            return;
        }
        match self.journal.clean_step(budget) {
            Ok(step) => step.candidates.into_iter().for_each(|(id, place)| self.rewrite(id, place, now)),
            Err(error) => tracing::warn!("the journal cannot be cleaned: {error}"),
        }
    }

    /// Writes a message again, with its present state, if that is where it is.
    fn rewrite(&mut self, id: MessageId, place: Place, now: Nanos) {
        let Some(message) = self.scheduler.describe(id).filter(|message| message.place == place) else { return };
        let body = match self.journal.reader().read(place) {
            Ok(body) => body,
            Err(error) => {
                tracing::error!(%id, "a message cannot be read, and its segment is set aside: {error}");
                return self.journal.unreadable(place);
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
