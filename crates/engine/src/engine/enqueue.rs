//! Messages that come in.

use tidegate_core::Nanos;
use tidegate_core::queue::{Arrival, Full, MessageId, Place, QueueId};
use tidegate_store::journal::{Charges, Headers, MessageRecord, Record};

use super::apply::Applied;
use super::held::Need;
use super::port::Port;
use super::state::Engine;
use crate::op::{Due, Enqueue};
use crate::outcome::{Outcome, Refused};
use crate::settings::{Durability, NANOS_PER_MS};

impl<P: Port> Engine<P> {
    pub(super) fn enqueue(&mut self, message: Enqueue, now: Nanos) -> Applied<P> {
        match self.try_enqueue(&message, now) {
            Ok((id, need)) => Applied::Now(Outcome::Enqueued(id), need),
            Err(refused) => Applied::refused(refused),
        }
    }

    fn try_enqueue(&mut self, message: &Enqueue, now: Nanos) -> Result<(MessageId, Need), Refused> {
        let (queue, foreseen) = (message.queue.id, self.scheduler.foreseen_arrival());
        let Some(definition) = self.queue(queue) else {
            return Err(Refused::QueueNotFound(message.queue.name().to_owned()));
        };
        let durability = definition.settings().durability;
        let bytes = (message.payload.len() + message.headers.len()) as u32;
        self.writable()?;
        if self.may_be_deleted(queue) {
            return Err(Refused::Storage("nobody knows whether the queue is deleted on disk".to_owned()));
        }
        if self.journal.is_full() {
            return Err(Refused::Storage("there is no room for another segment of the journal".to_owned()));
        }
        self.scheduler.room(queue, bytes).map_err(|full| {
            Refused::QueueFull(match full {
                Full::Depth => "max_depth",
                Full::Bytes => "max_bytes",
            })
        })?;
        self.present(&message.queue.kept.namespace)?;
        self.number_charges(&message.queue.kept.namespace, &message.charges, now)?;
        let id = MessageId(self.stamps.next(now));
        let due = match message.due {
            Due::Now => None,
            Due::In(0) => None,
            Due::In(ms) => Some(now.saturating_add(ms.saturating_mul(NANOS_PER_MS))),
            Due::At(ms) => Some(ms.saturating_mul(NANOS_PER_MS)).filter(|due| *due > now),
        };
        let charges = Charges::encode(message.charges.iter().map(|(key, amount)| (&key[..], *amount)));
        let record = MessageRecord {
            id,
            queue,
            order: id.0,
            attempts: 0,
            delivery: 0,
            lease: None,
            due,
            flow: message.flow.bytes(),
            weight: message.weight,
            cost: message.cost,
            charges: Charges::from_encoded(&charges),
            dead: None,
            headers: Headers::from_encoded(&message.headers),
            payload: &message.payload,
        };
        let place = self.append(&Record::Message(record));
        let weight = self.weight(queue, message.flow.bytes(), message.weight, now);
        let arrival = Arrival {
            id,
            place,
            flow: message.flow.bytes(),
            foreseen,
            weight,
            cost: message.cost,
            charges: &self.charges,
            due,
            attempts: 0,
            delivery: 0,
        };
        match durability {
            Durability::Fsync => {
                self.fresh.extend(self.scheduler.announce(queue, &arrival, now));
                self.hurry_for(queue);
            }
            Durability::Interval | Durability::Memory => drop(self.scheduler.enqueue(queue, &arrival, now)),
        }
        if let Some(totals) = self.totals(queue) {
            totals.enqueued += 1;
        }
        Ok((id, self.need(durability)))
    }

    /// Turns charges into numbers, and refuses what could never pass.
    fn number_charges(
        &mut self,
        namespace: &str,
        charges: &[(bytes::Bytes, u64)],
        now: Nanos,
    ) -> Result<(), Refused> {
        self.charges.clear();
        if charges.is_empty() {
            return Ok(());
        }
        let space = self.limits.ledger().space(namespace)?;
        for (name, amount) in charges {
            self.charges.push((self.limits.number(space, name)?, *amount));
        }
        Ok(self.limits.judge(&self.charges, now)?)
    }

    /// The same for a message that is in a queue already, whatever it asks for.
    pub(super) fn renumber_charges(&mut self, queue: QueueId, record: &MessageRecord<'_>) {
        self.charges.clear();
        let Some(definition) = self.queues.get(&queue).map(|queue| queue.definition.clone()) else { return };
        let Ok(space) = self.limits.ledger().space(&definition.kept.namespace) else { return };
        for (name, amount) in record.charges.iter() {
            // One that cannot be named any more limits nothing.
            if let Ok(number) = self.limits.number(space, name) {
                self.charges.push((number, amount));
            }
        }
    }

    /// Appends a record to what goes to disk next.
    pub(super) fn append(&mut self, record: &Record<'_>) -> Place {
        let place = self.journal.append(record);
        if matches!(record, Record::Message(_)) {
            self.held.note(place);
        }
        place
    }

    /// Refuses what would have to be written while the disk takes nothing.
    pub(super) fn writable(&self) -> Result<(), Refused> {
        match &self.failed {
            None => Ok(()),
            Some(_) => Err(Refused::Storage("the last write has failed".to_owned())),
        }
    }

    /// What an answer about this queue waits for.
    pub(super) fn need_in(&self, queue: QueueId) -> Need {
        self.queue(queue).map_or(Need::NOTHING, |definition| self.need(definition.settings().durability))
    }

    fn need(&self, durability: Durability) -> Need {
        match durability {
            Durability::Fsync => self.held.sync_need(),
            Durability::Interval | Durability::Memory => Need::NOTHING,
        }
    }
}
