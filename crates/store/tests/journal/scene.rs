//! A small engine: it remembers the messages that the journal's records leave, and no more.

use std::collections::BTreeMap;
use tidegate_core::queue::{MessageId, Place, QueueId};
use tidegate_store::disk::Disk;
use tidegate_store::journal::{
    Charges, Headers, Journal, JournalOptions, JournalReport, MessageRecord, Record, Replayed, Space,
};

pub const OPTIONS: JournalOptions = JournalOptions { segment_bytes: 4096, salt: 0x5a17, recent_bytes: 0 };

/// What is known of a message, but for its headers and payload, which follow from its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    pub queue: u32,
    pub order: u64,
    pub attempts: u32,
    pub delivery: u32,
    pub lease: Option<u64>,
    pub due: Option<u64>,
    pub flow: Vec<u8>,
    pub charges: Vec<u8>,
}

/// All messages.
pub type Messages = BTreeMap<u64, Held>;

/// An open journal and what is in it.
pub struct Opened<D: Disk> {
    pub journal: Journal<D>,
    pub report: JournalReport,
    pub messages: Messages,
    pub places: BTreeMap<u64, Place>,
}

pub fn open<D: Disk>(disk: &D) -> Opened<D> {
    open_with(disk, OPTIONS).unwrap()
}

pub fn open_with<D: Disk>(disk: &D, options: JournalOptions) -> Result<Opened<D>, tidegate_store::Error> {
    let (mut messages, mut places) = (Messages::new(), BTreeMap::new());
    let (journal, report) = Journal::open(disk.clone(), options, |replayed| {
        let Replayed { record, place, space } = replayed;
        apply(&mut messages, &mut places, &record, place, space);
    })?;
    Ok(Opened { journal, report, messages, places })
}

/// Something that is told which places no longer count.
pub trait Accounts {
    fn dead(&mut self, place: Place);
}

impl Accounts for Space {
    fn dead(&mut self, place: Place) {
        Space::dead(self, place);
    }
}

impl<D: Disk> Accounts for Journal<D> {
    fn dead(&mut self, place: Place) {
        Journal::dead(self, place);
    }
}

/// What a record does to the messages.
pub fn apply(
    messages: &mut Messages,
    places: &mut BTreeMap<u64, Place>,
    record: &Record<'_>,
    place: Place,
    accounts: &mut impl Accounts,
) {
    match *record {
        Record::Message(message) => {
            messages.insert(message.id.0, held(&message));
            if let Some(old) = places.insert(message.id.0, place) {
                accounts.dead(old);
            }
        }
        Record::Delivered { id, delivery, deadline } => {
            if let Some(held) = messages.get_mut(&id.0) {
                *held = Held { delivery, lease: Some(deadline), due: None, ..held.clone() };
            }
        }
        Record::Requeued { id, queue, order, attempts, due } => {
            if let Some(held) = messages.get_mut(&id.0) {
                *held = Held { queue: queue.0, order, attempts, due, lease: None, ..held.clone() };
            }
        }
        Record::Extended { id, deadline } => {
            if let Some(held) = messages.get_mut(&id.0) {
                held.lease = Some(deadline);
            }
        }
        Record::Gone { id } => {
            messages.remove(&id.0);
            places.remove(&id.0).into_iter().for_each(|place| accounts.dead(place));
        }
        Record::Purged { queue, below } => {
            let purged = |(id, held): (&u64, &Held)| (*id < below.0 && held.queue == queue.0).then_some(*id);
            for id in messages.iter().filter_map(purged).collect::<Vec<_>>() {
                messages.remove(&id);
                places.remove(&id).into_iter().for_each(|place| accounts.dead(place));
            }
        }
    }
}

fn held(message: &MessageRecord<'_>) -> Held {
    Held {
        queue: message.queue.0,
        order: message.order,
        attempts: message.attempts,
        delivery: message.delivery,
        lease: message.lease,
        due: message.due,
        flow: message.flow.to_vec(),
        charges: message.charges.as_encoded().to_vec(),
    }
}

/// A new message. Its size varies with its id.
pub fn fresh(id: u64, queue: u32) -> Held {
    let charges = if id.is_multiple_of(3) { Charges::encode([(&b"provider"[..], id)]) } else { Vec::new() };
    let flow = format!("tenant-{}", id % 5).into_bytes();
    Held { queue, order: id, attempts: 0, delivery: 0, lease: None, due: None, flow, charges }
}

pub fn payload(id: u64) -> Vec<u8> {
    vec![id as u8; (id * 37 % 400) as usize]
}

fn headers(id: u64) -> Vec<u8> {
    if id.is_multiple_of(2) { Headers::encode([(&b"n"[..], &id.to_le_bytes()[..])]) } else { Vec::new() }
}

impl<D: Disk> Opened<D> {
    /// Appends a record and does what it says.
    pub fn append(&mut self, record: &Record<'_>) {
        let place = self.journal.append(record);
        apply(&mut self.messages, &mut self.places, record, place, &mut self.journal);
    }

    pub fn put(&mut self, id: u64, held: &Held) {
        let (payload, headers) = (payload(id), headers(id));
        let message = MessageRecord {
            id: MessageId(id),
            queue: QueueId(held.queue),
            order: held.order,
            attempts: held.attempts,
            delivery: held.delivery,
            lease: held.lease,
            due: held.due,
            flow: &held.flow,
            cost: 1,
            charges: Charges::from_encoded(&held.charges),
            headers: Headers::from_encoded(&headers),
            payload: &payload,
            ..MessageRecord::default()
        };
        self.append(&Record::Message(message));
    }

    pub fn gone(&mut self, id: u64) {
        self.append(&Record::Gone { id: MessageId(id) });
    }

    /// Everything to disk.
    pub fn flush(&mut self) {
        self.try_flush().unwrap();
    }

    pub fn try_flush(&mut self) -> Result<(), tidegate_store::Error> {
        let Some(batch) = self.journal.take_batch() else { return Ok(()) };
        batch.write()?;
        batch.sync()?;
        batch.reclaim()
    }

    /// One step of cleaning. Says how many messages were moved.
    pub fn clean(&mut self, budget_bytes: u64) -> Result<usize, tidegate_store::Error> {
        let mut moved = 0;
        for (id, place) in self.journal.clean_step(budget_bytes)?.candidates {
            if self.places.get(&id.0) == Some(&place) {
                // The body comes from the journal, so that a copy of a copy is what was put once.
                let body = self.journal.reader().read(place)?;
                assert_eq!(body.message().payload, payload(id.0));
                let held = self.messages[&id.0].clone();
                self.put(id.0, &held);
                moved += 1;
            }
        }
        Ok(moved)
    }

    /// Checks that every message can be read, and is what was put.
    pub fn check_bodies(&self) {
        let reader = self.journal.reader();
        for (id, place) in &self.places {
            let body = reader.read(*place).unwrap();
            let message = body.message();
            assert_eq!((message.id.0, message.payload), (*id, &payload(*id)[..]));
            assert_eq!(message.headers.as_encoded(), headers(*id));
            assert_eq!(message.flow, self.messages[id].flow);
        }
    }

    /// Checks that nothing was wrong with the files.
    pub fn unharmed(self) -> Opened<D> {
        assert_eq!(self.report.lines(), [""; 0]);
        self
    }
}
