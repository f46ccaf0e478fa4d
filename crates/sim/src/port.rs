//! The world around the engine: what it says is kept until the simulation looks at it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tidegate_engine::engine::{Question, Ticket};
use tidegate_engine::{Delivery, Outcome, Port};
use tidegate_store::disk::simulated::SimDisk;

use crate::event::Holder;

/// Something that the engine said.
pub enum Said {
    /// An answer to a submission.
    Reply(u64, Vec<Outcome<SimDisk>>),
    /// Messages for a subscription.
    Deliveries(Holder, Vec<Delivery<SimDisk>>),
    /// Messages for a subscription that is gone.
    Missed,
    /// A question to a hook.
    Asked(Ticket),
}

/// What the engine said, and who listens.
#[derive(Default)]
pub struct Ear {
    said: Vec<Said>,
    deaf: BTreeSet<Holder>,
}

/// The port of a simulated engine.
#[derive(Clone)]
pub struct SimPort {
    ear: Arc<Mutex<Ear>>,
    disk: SimDisk,
}

impl SimPort {
    /// A port of an engine over this disk.
    pub fn new(disk: SimDisk) -> SimPort {
        SimPort { ear: Arc::default(), disk }
    }

    /// Takes what was said.
    pub fn take(&self) -> Vec<Said> {
        std::mem::take(&mut self.ear().said)
    }

    /// Nobody takes from this subscription any more.
    pub fn deafen(&self, holder: Holder) {
        self.ear().deaf.insert(holder);
    }

    fn ear(&self) -> MutexGuard<'_, Ear> {
        self.ear.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn say(&self, said: Said) {
        // A process that has no power says nothing.
        if !self.disk.is_down() {
            self.ear().said.push(said);
        }
    }
}

impl Port for SimPort {
    type Disk = SimDisk;
    type Reply = u64;
    type Sink = Holder;

    fn reply(&mut self, to: u64, outcomes: Vec<Outcome<SimDisk>>) {
        self.say(Said::Reply(to, outcomes));
    }

    fn deliver(&mut self, to: &Holder, deliveries: Vec<Delivery<SimDisk>>) -> bool {
        let hears = !self.ear().deaf.contains(to);
        self.say(if hears { Said::Deliveries(*to, deliveries) } else { Said::Missed });
        hears
    }

    fn ask(&mut self, question: Question<SimDisk>) {
        self.say(Said::Asked(question.ticket));
    }
}
