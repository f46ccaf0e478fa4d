//! Outputs that wait for the disk.
//!
//! What a turn answers or delivers tells of records that are not on disk yet. It waits for the job that brings them
//! there: the one under way, or the next.

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

/// What an output waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// Nothing.
    #[default]
    Nothing,
    /// The job under way to be written.
    UnderWay,
    /// The next job to be written.
    NextWritten,
    /// The next job to be synced.
    NextSynced,
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
    /// For the job under way.
    riding: Vec<Output<P>>,
    /// For the next one.
    waiting: Vec<Output<P>>,
    /// Whether one of those needs more than to be written.
    wants_sync: bool,
    /// The newest place that is on its way with the job.
    under_way: Option<Position>,
    /// The newest place appended since.
    appended: Option<Position>,
    /// The newest place that is there.
    done: Option<Position>,
}

impl<P: Port> Default for Held<P> {
    fn default() -> Held<P> {
        Held {
            riding: Vec::new(),
            waiting: Vec::new(),
            wants_sync: false,
            under_way: None,
            appended: None,
            done: None,
        }
    }
}

impl<P: Port> Held<P> {
    /// Notes a place that was appended.
    pub fn note(&mut self, place: Place) {
        self.appended = Some(place.into());
    }

    /// Everything up to here is on disk: the engine starts on it.
    pub fn start_at(&mut self, newest: Option<Place>) {
        self.done = newest.map(Position::from);
    }

    /// What has to happen before the body at this place can be read by others.
    pub fn need_of(&self, place: Place, synced: bool) -> Need {
        let position = Some(Position::from(place));
        if position <= self.done {
            Need::Nothing
        } else if position <= self.under_way {
            Need::UnderWay
        } else if synced {
            Need::NextSynced
        } else {
            Need::NextWritten
        }
    }

    /// Keeps an output until its need is met; it comes back if there is none.
    pub fn hold(&mut self, output: Output<P>, need: Need) -> Option<Output<P>> {
        match need {
            Need::Nothing => return Some(output),
            Need::UnderWay => self.riding.push(output),
            Need::NextWritten => self.waiting.push(output),
            Need::NextSynced => {
                self.wants_sync = true;
                self.waiting.push(output);
            }
        }
        None
    }

    /// Whether anybody waits for the next job, and whether to be synced.
    pub fn wanted(&self) -> (bool, bool) {
        (!self.waiting.is_empty(), self.wants_sync)
    }

    /// A job has left with all that was appended.
    pub fn depart(&mut self) {
        self.riding.append(&mut self.waiting);
        self.wants_sync = false;
        self.under_way = self.appended.take().or(self.under_way);
    }

    /// The job is done: these can go.
    pub fn arrive(&mut self) -> Vec<Output<P>> {
        self.done = self.under_way.take().or(self.done);
        std::mem::take(&mut self.riding)
    }

    /// The job has failed: these have to be told, and so do those that wait for the next.
    pub fn fail(&mut self) -> Vec<Output<P>> {
        self.wants_sync = false;
        let mut failed = std::mem::take(&mut self.riding);
        failed.append(&mut self.waiting);
        failed
    }

    /// Whether anything is held.
    pub fn is_empty(&self) -> bool {
        self.riding.is_empty() && self.waiting.is_empty()
    }
}
