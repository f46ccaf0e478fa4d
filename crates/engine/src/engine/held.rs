//! Outputs that wait for the disk.
//!
//! What a turn answers or delivers tells of records that are not on disk yet. An answer waits until they are synced, a
//! delivery until its message is written: then it survives the end of this process, and others can read it. Batches are
//! numbered in the order in which they leave.

use tidegate_core::queue::{ConsumerId, Place};

use super::port::Port;
use crate::delivery::Delivery;
use crate::outcome::Outcome;

/// Something to be told to the world.
pub enum Output<P: Port> {
    /// The answer to a submission.
    Reply(P::Reply, Vec<Outcome<P::Disk>>),
    /// Messages for a subscription.
    Deliveries(ConsumerId, Vec<Delivery<P::Disk>>),
}

/// What an output waits for: one batch to be written, and one to be synced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Need {
    written: u64,
    synced: u64,
}

impl Need {
    pub const NOTHING: Need = Need { written: 0, synced: 0 };

    /// Both.
    pub fn and(self, other: Need) -> Need {
        Need { written: self.written.max(other.written), synced: self.synced.max(other.synced) }
    }
}

/// How far the journal has come: a place is behind it, or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    segment: u32,
    offset: u32,
}

impl From<Place> for Position {
    fn from(place: Place) -> Position {
        Position { segment: place.segment, offset: place.offset }
    }
}

/// Outputs that wait.
pub struct Held<P: Port> {
    /// For a batch to be synced, whatever else.
    for_sync: Vec<(Need, Output<P>)>,
    /// For a batch to be written.
    for_write: Vec<(Need, Output<P>)>,
    /// All that they wait for.
    wanted: Need,
    /// The batch that records are appended to.
    collecting: u64,
    /// The last batch that is written, the last that a sync has begun for, and the last that is synced.
    written: u64,
    syncing: u64,
    synced: u64,
    /// The newest message that is on its way with the batch before.
    under_way: Option<Position>,
    /// The newest message appended since.
    appended: Option<Position>,
    /// The newest message that is written.
    newest: Option<Position>,
}

impl<P: Port> Default for Held<P> {
    fn default() -> Held<P> {
        Held {
            for_sync: Vec::new(),
            for_write: Vec::new(),
            wanted: Need::NOTHING,
            collecting: 1,
            written: 0,
            syncing: 0,
            synced: 0,
            under_way: None,
            appended: None,
            newest: None,
        }
    }
}

impl<P: Port> Held<P> {
    /// Notes a message that was appended.
    pub fn note(&mut self, place: Place) {
        self.appended = Some(place.into());
    }

    /// Everything up to here is on disk: the engine starts on it.
    pub fn start_at(&mut self, newest: Option<Place>) {
        self.newest = newest.map(Position::from);
    }

    /// What has to happen before the body at this place can be read by others.
    pub fn need_of(&self, place: Place) -> Need {
        let position = Some(Position::from(place));
        let written = if position <= self.newest {
            0
        } else if position <= self.under_way {
            self.collecting - 1
        } else {
            self.collecting
        };
        Need { written, synced: 0 }
    }

    /// All that was appended by now is to be on disk.
    pub fn sync_need(&self) -> Need {
        Need { written: 0, synced: self.collecting }
    }

    /// Keeps an output until its need is met; it comes back if it is.
    pub fn hold(&mut self, output: Output<P>, need: Need) -> Option<Output<P>> {
        let line = if need.synced > self.synced {
            &mut self.for_sync
        } else if need.written > self.written {
            &mut self.for_write
        } else {
            return Some(output);
        };
        self.wanted = self.wanted.and(need);
        line.push((need, output));
        None
    }

    /// Whether somebody waits for the batch that is being collected, or for a sync that has not begun.
    pub fn is_wanted(&self) -> bool {
        self.wants_write() || self.wants_sync()
    }

    /// Whether somebody waits for the batch that is being collected to be written.
    pub fn wants_write(&self) -> bool {
        self.wanted.written >= self.collecting
    }

    /// Whether somebody waits for a sync that has not begun.
    pub fn wants_sync(&self) -> bool {
        self.wanted.synced > self.syncing
    }

    /// A batch leaves with all that was appended. Says which.
    pub fn depart(&mut self) -> u64 {
        self.under_way = self.appended.take().or(self.under_way);
        self.collecting += 1;
        self.collecting - 1
    }

    /// The last batch that is written.
    pub fn last_written(&self) -> u64 {
        self.written
    }

    /// A batch is written: these can go.
    pub fn written(&mut self, number: u64) -> Vec<Output<P>> {
        if number > self.written {
            self.written = number;
            self.newest = self.under_way.take().or(self.newest);
        }
        let ready = self.for_write.extract_if(.., |(need, _)| need.written <= number);
        ready.map(|(_, output)| output).collect()
    }

    /// A sync begins, of all that is written.
    pub fn sync(&mut self) {
        self.syncing = self.written;
    }

    /// The sync has ended: these can go.
    pub fn synced(&mut self) -> Vec<Output<P>> {
        self.synced = self.syncing;
        let reached = self.synced;
        let ready: Vec<_> = self.for_sync.extract_if(.., |(need, _)| need.synced <= reached).collect();
        // It may have to be written, too.
        ready.into_iter().filter_map(|(need, output)| self.hold(output, need)).collect()
    }

    /// A batch could not be written: whoever waits for it, or for the one after it, has to be told.
    pub fn fail(&mut self) -> Vec<Output<P>> {
        let written = self.written;
        let is_lost = |need: &Need| need.written.max(need.synced) > written;
        let lost = self.for_sync.extract_if(.., |(need, _)| is_lost(need));
        let failed = lost.chain(self.for_write.drain(..)).map(|(_, output)| output).collect();
        self.wanted = Need { written: 0, synced: self.wanted.synced.min(written) };
        failed
    }

    /// Whether anything is held.
    pub fn is_empty(&self) -> bool {
        self.for_sync.is_empty() && self.for_write.is_empty()
    }
}
