//! The engine as an earlier run left it.

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::sync::Arc;

use tidegate_core::Nanos;
use tidegate_core::queue::{Arrival, LimitId, MessageId, Place, QueueId, Scheduler};
use tidegate_ledger::SpaceId;
use tidegate_store::Error;
use tidegate_store::catalog::{Catalog, CatalogState};
use tidegate_store::disk::Disk;
use tidegate_store::journal::{
    Journal, JournalOptions, JournalReport, MessageRecord, Record, Replayed, Space,
};

use super::held::Held;
use super::limits::Limits;
use super::numbered::Numbered;
use super::patient::Patient;
use super::port::Port;
use super::restore::{self, Restored};
use super::stamp::Stamps;
use super::state::{Engine, Options};
use super::weights::Unweighed;
use crate::definition::{Definition, Kept};
use crate::directory::Directory;
use crate::keeper::Keeper;

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Messages that came back.
    pub messages: u64,
    /// Queues that came back.
    pub queues: u64,
    /// What the journal says.
    pub journal: JournalReport,
    /// What there is to be said of the ledger's files; nothing if all is well.
    pub ledger: Vec<String>,
    /// The newest time that was written down.
    pub newest: Nanos,
}

/// An engine, who keeps its ledger, and what was found.
pub type Opened<P> = (Engine<P>, Keeper<<P as Port>::Disk>, Report);

/// A message as its records leave it.
struct Found {
    queue: QueueId,
    place: Place,
    order: u64,
    attempts: u32,
    delivery: u32,
    lease: Option<Nanos>,
    due: Option<Nanos>,
    flow: Box<[u8]>,
    weight: Option<u32>,
    cost: u32,
    charges: FoundCharges,
}

/// What a message is charged.
enum FoundCharges {
    Numbered(Box<[(LimitId, u64)]>),
    /// By key, since nobody knows in which namespace: its queue is gone. It counts only if it was moved on from there.
    Keyed(Box<[(Box<[u8]>, u64)]>),
}

/// Messages as their records are read, oldest first.
struct Replay<'a> {
    found: Numbered<MessageId, Found>,
    /// The namespace of each queue.
    spaces: Numbered<QueueId, SpaceId>,
    limits: &'a mut Limits,
    newest_stamp: u64,
    newest_place: Option<Place>,
}

impl Replay<'_> {
    fn read(&mut self, record: Record<'_>, place: Place, space: &mut Space) {
        match record {
            Record::Message(record) => {
                self.newest_place = Some(place);
                self.message(&record, place, space);
            }
            Record::Delivered { id, delivery, deadline } => self.change(id, |found| {
                found.delivery = delivery;
                found.lease = Some(deadline);
                found.due = None;
            }),
            Record::Extended { id, deadline } => self.change(id, |found| found.lease = Some(deadline)),
            Record::Requeued { id, queue, order, attempts, due } => {
                self.newest_stamp = self.newest_stamp.max(order);
                self.change(id, |found| {
                    (found.queue, found.order, found.attempts) = (queue, order, attempts);
                    (found.due, found.lease) = (due, None);
                });
            }
            Record::Gone { id } => {
                if let Some(found) = self.found.remove(&id) {
                    space.dead(found.place);
                }
            }
            Record::Purged { queue, below } => self.found.retain(|id, found| {
                let stays = found.queue != queue || *id >= below;
                if !stays {
                    space.dead(found.place);
                }
                stays
            }),
        }
    }

    fn message(&mut self, record: &MessageRecord<'_>, place: Place, space: &mut Space) {
        self.newest_stamp = self.newest_stamp.max(record.id.0).max(record.order);
        let charges = record.charges.iter();
        let charges = match self.spaces.get(&record.queue) {
            Some(space) => {
                // One that cannot be named any more limits nothing.
                let mut numbered = |(name, amount)| Some((self.limits.number(*space, name).ok()?, amount));
                FoundCharges::Numbered(charges.filter_map(&mut numbered).collect())
            }
            None => FoundCharges::Keyed(charges.map(|(key, amount)| (key.into(), amount)).collect()),
        };
        let found = Found {
            queue: record.queue,
            place,
            order: record.order,
            attempts: record.attempts,
            delivery: record.delivery,
            lease: record.lease,
            due: record.due,
            flow: record.flow.into(),
            weight: record.weight,
            cost: record.cost,
            charges,
        };
        if let Some(older) = self.found.insert(record.id, found) {
            space.dead(older.place);
        }
    }

    fn change(&mut self, id: MessageId, change: impl FnOnce(&mut Found)) {
        // What is not there was gone before its segment was dropped.
        if let Some(found) = self.found.get_mut(&id) {
            change(found);
        }
    }
}

impl<P: Port> Engine<P> {
    /// Opens what is on `disk`, and goes on from there.
    pub fn open(disk: P::Disk, port: P, options: Options, now: Nanos) -> Result<Opened<P>, Error> {
        let catalog = Catalog::open(&disk)?;
        let runs = catalog.count_run()?;
        let state = catalog.load()?;
        let directory = Arc::new(Directory::default());
        restore_settings(&directory, &state);
        let salt = options.seed[0] ^ now.rotate_left(32);
        let Restored { ledger, keeper, purged, newest: kept_at, lines } =
            restore::ledger(&disk, &catalog, &directory, &options, salt, now)?;
        let definitions = definitions(&disk, &state)?;

        let mut limits = Limits::new(ledger);
        let space = |queue: &Definition| Some((queue.id, limits.ledger().space(&queue.kept.namespace).ok()?));
        let spaces = definitions.iter().filter_map(space).collect();
        let mut replay = Replay {
            found: Numbered::default(),
            spaces,
            limits: &mut limits,
            newest_stamp: 0,
            newest_place: None,
        };
        let Options { segment_bytes, recent_bytes, .. } = options;
        let journal_options = JournalOptions { segment_bytes, salt, recent_bytes };
        let (journal, journal_report) =
            Journal::open(disk, journal_options, |Replayed { record, place, space }| {
                replay.read(record, place, space);
            })?;
        let Replay { found, newest_stamp, newest_place, .. } = replay;

        let mut stamps = Stamps::default();
        stamps.not_before(newest_stamp);
        let mut held = Held::default();
        held.start_at(newest_place);
        let mut engine = Engine {
            port,
            directory,
            limits,
            scheduler: Scheduler::new(options.seed),
            catalog: Arc::new(catalog),
            queues: Numbered::default(),
            next_queue: state.next_queue,
            next_version: 0,
            stamps,
            chance: options.seed[1],
            consumers: Numbered::default(),
            next_consumer: 0,
            polls: BTreeSet::new(),
            withdrawn: false,
            stirred: Vec::new(),
            gone: Vec::new(),
            open: Numbered::default(),
            next_open: 0,
            waiting: Numbered::default(),
            waiting_until: BTreeSet::new(),
            wait_queues: Numbered::default(),
            unweighed: Unweighed::default(),
            purged,
            limbo: Numbered::default(),
            walks: VecDeque::new(),
            held,
            writing: false,
            syncing: false,
            hurry: false,
            failed: None,
            failed_since: None,
            unsynced: None,
            fresh: Vec::new(),
            travelling: Vec::new(),
            patient: Patient::default(),
            departed_at: now,
            unsynced_since: None,
            unsure: Vec::new(),
            unsure_at: 0,
            retention_at: 0,
            busy: true,
            stopping: false,
            doomed: None,
            charges: Vec::new(),
            delivered: Vec::new(),
            expired: Vec::new(),
            freed: Vec::new(),
            options,
            journal,
        };
        engine.scheduler.number_deliveries_from(first_delivery(runs));
        let queues = definitions.len() as u64;
        definitions.into_iter().for_each(|definition| engine.install(Arc::new(definition)));
        let messages = engine.restore(found, now);
        let newest = (newest_stamp >> 16) * crate::settings::NANOS_PER_MS;
        let newest = newest.max(kept_at);
        let report = Report { messages, queues, journal: journal_report, ledger: lines, newest };
        Ok((engine, keeper, report))
    }

    /// Puts messages in line, in their order.
    fn restore(&mut self, found: Numbered<MessageId, Found>, now: Nanos) -> u64 {
        let mut found: Vec<(MessageId, Found)> = found.into_iter().collect();
        found.sort_unstable_by_key(|(_, found)| found.order);
        let mut messages = 0;
        for (id, found) in found {
            let Some(queue) = self.queues.get(&found.queue) else {
                self.journal.dead(found.place);
                continue;
            };
            messages += 1;
            let charges = match found.charges {
                FoundCharges::Numbered(charges) => charges,
                FoundCharges::Keyed(charges) => {
                    let space = self.limits.ledger().space(&queue.definition.kept.namespace);
                    let number = |(name, amount): &(Box<[u8]>, u64)| {
                        let space = space.as_ref().ok()?;
                        Some((self.limits.number(*space, name).ok()?, *amount))
                    };
                    charges.iter().filter_map(number).collect()
                }
            };
            let weight = self.weight(found.queue, &found.flow, found.weight, now);
            let arrival = Arrival {
                id,
                place: found.place,
                flow: &found.flow,
                foreseen: None,
                weight,
                cost: found.cost,
                charges: &charges,
                due: found.due.filter(|due| *due > now),
                attempts: found.attempts,
                delivery: found.delivery,
            };
            match found.lease {
                Some(deadline) => {
                    self.limits.hold_again(id, &charges, now);
                    self.scheduler.restore_leased(found.queue, &arrival, deadline)
                }
                None => self.scheduler.enqueue(found.queue, &arrival, now),
            };
        }
        messages
    }
}

/// Deliveries are on disk a little later than they are made, so a crash forgets some. The receipts of one run are
/// not given out by another: there are 65,536 of each message in a run.
fn first_delivery(runs: u64) -> u32 {
    ((runs as u32) << 16) + 1
}

fn definitions(disk: &impl Disk, state: &CatalogState) -> Result<Vec<Definition>, Error> {
    let read = |(id, json): &(QueueId, Vec<u8>)| {
        let kept: Kept = serde_json::from_slice(json).map_err(|error| Error::Io {
            action: "read a queue of",
            path: disk.path("catalog.redb"),
            reason: io::Error::new(io::ErrorKind::InvalidData, error),
        })?;
        Ok(Definition { id: *id, version: 0, kept })
    };
    state.queues.iter().map(read).collect()
}

fn restore_settings(directory: &Directory, state: &CatalogState) {
    for (namespace, key, value) in &state.config {
        directory.set(namespace, key, Some(&String::from_utf8_lossy(value)));
    }
}
