//! A random life on a simulated disk, and what must be there after each crash.

use crate::scene::{Messages, Opened, fresh, open};
use tidegate_core::queue::{MessageId, QueueId};
use tidegate_store::Error;
use tidegate_store::disk::simulated::{Fault, SimDisk};
use tidegate_store::journal::Record;

/// Numbers from a seed.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// A journal in use, with every state that it went through since the last sync.
pub struct Life {
    pub disk: SimDisk,
    pub opened: Opened<SimDisk>,
    dice: Dice,
    next_id: u64,
    /// The messages after each record that a crash may or may not lose; the first is what is on disk for certain.
    states: Vec<Messages>,
}

impl Life {
    pub fn new(seed: u64) -> Life {
        let disk = SimDisk::new(seed);
        let opened = open(&disk).unharmed();
        Life { disk, opened, dice: Dice(seed), next_id: 1, states: vec![Messages::new()] }
    }

    /// Does a few things, until the power goes or `steps` are over.
    pub fn run(&mut self, steps: usize) {
        let calls = self.dice.below(120);
        self.disk.inject(calls, Fault::Crash);
        for _ in 0..steps {
            if let Err(error) = self.step() {
                assert!(self.disk.is_down(), "{error}");
                break;
            }
        }
    }

    /// Pulls the plug, starts again, and checks what came back.
    pub fn crash(&mut self) {
        self.disk.crash();
        self.opened = open(&self.disk);
        let report = &self.opened.report;
        assert!(report.damaged.is_empty() && report.missing.is_empty(), "{:?}", report.lines());
        let found = &self.opened.messages;
        let is_known = self.states.iter().any(|state| state == found);
        assert!(is_known, "not a state since the last sync: {found:#?}\nsynced: {:#?}", self.states[0]);
        self.opened.check_bodies();
        // What recovery left is durable now: it seals what it found.
        self.states = vec![self.opened.messages.clone()];
    }

    fn step(&mut self) -> Result<(), Error> {
        match self.dice.below(10) {
            0..4 => self.change(),
            4..7 => self.flush(true)?,
            7 => self.flush(false)?,
            _ => {
                let budget = self.opened.journal.clean_budget();
                self.opened.clean(budget)?;
                self.note();
            }
        }
        Ok(())
    }

    fn change(&mut self) {
        for _ in 0..=self.dice.below(6) {
            let kind = self.dice.below(12);
            let at = self.dice.below(self.opened.messages.len().max(1) as u64) as usize;
            let some = self.opened.messages.keys().nth(at).copied();
            match (kind, some) {
                (0..5, _) | (_, None) => {
                    let id = self.next_id;
                    self.next_id += 1;
                    self.opened.put(id, &fresh(id, 1 + id as u32 % 3));
                }
                (5..7, Some(id)) => {
                    let delivery = self.opened.messages[&id].delivery + 1;
                    self.append(&Record::Delivered { id: MessageId(id), delivery, deadline: id * 1_000 });
                }
                (7, Some(id)) => {
                    let order = self.next_id << 20;
                    let due = (id % 2 == 0).then_some(order);
                    let id = MessageId(id);
                    self.append(&Record::Requeued { id, queue: QueueId(2), order, attempts: 3, due });
                }
                (8, Some(id)) => self.append(&Record::Extended { id: MessageId(id), deadline: id * 2_000 }),
                (9 | 10, Some(id)) => self.opened.gone(id),
                (_, Some(id)) => self.append(&Record::Purged { queue: QueueId(1), below: MessageId(id) }),
            }
            self.note();
        }
    }

    fn append(&mut self, record: &Record<'_>) {
        self.opened.append(record);
    }

    fn note(&mut self) {
        self.states.push(self.opened.messages.clone());
    }

    fn flush(&mut self, is_synced: bool) -> Result<(), Error> {
        let Some(batch) = self.opened.journal.take_batch() else { return Ok(()) };
        batch.write()?;
        if is_synced {
            batch.sync()?;
            self.states = vec![self.opened.messages.clone()];
        }
        batch.reclaim()
    }
}
