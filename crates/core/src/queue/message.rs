//! A message as the scheduler keeps it: 64 bytes, one cache line.

use super::charges::Bill;
use super::id::{MessageId, Place};
use super::list::{Links, linked};
use super::slab::NONE;

/// What a message is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    /// In the list of its lane.
    Waiting,
    /// Held by a timer until it may be delivered.
    Delayed,
    /// Held by a timer until its lease ends.
    Leased,
    /// On its way to the disk, and in no lane before it is there.
    Coming,
}

#[repr(align(64))]
pub(super) struct Message {
    pub(super) id: MessageId,
    pub(super) place: Place,
    pub(super) lane: u32,
    pub(super) bill: Bill,
    pub(super) cost: u32,
    pub(super) attempts: u32,
    pub(super) delivery: u32,
    /// In the lane, while waiting. A message that is held is in no lane, and has its timer here.
    in_lane: Links,
    in_queue: Links,
    pub(super) doing: Doing,
}

/// The role of a lane's list: in order of delivery.
pub(super) struct InLane;
/// The role of a queue's list: in order of arrival.
pub(super) struct InQueue;

linked!(Message, InLane, in_lane);
linked!(Message, InQueue, in_queue);

/// The parts of a message that come with it.
pub(super) struct Parts {
    pub(super) id: MessageId,
    pub(super) place: Place,
    pub(super) lane: u32,
    pub(super) bill: Bill,
    pub(super) cost: u32,
    pub(super) attempts: u32,
    pub(super) delivery: u32,
}

impl Message {
    pub(super) fn new(parts: Parts) -> Message {
        let Parts { id, place, lane, bill, cost, attempts, delivery } = parts;
        let (in_lane, in_queue) = (Links::LOOSE, Links::LOOSE);
        let doing = Doing::Waiting;
        Message { id, place, lane, bill, cost, attempts, delivery, in_lane, in_queue, doing }
    }

    /// The timer that holds it, if one does.
    pub(super) fn timer(&self) -> Option<u32> {
        matches!(self.doing, Doing::Delayed | Doing::Leased).then_some(self.in_lane.prev)
    }

    /// A timer holds it from now on. It must have left its lane.
    pub(super) fn hold(&mut self, doing: Doing, timer: u32) {
        self.doing = doing;
        self.in_lane = Links { prev: timer, next: NONE };
    }

    /// It waits again, in no lane yet.
    pub(super) fn free(&mut self) {
        self.doing = Doing::Waiting;
        self.in_lane = Links::LOOSE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_one_cache_line() {
        assert_eq!(size_of::<crate::queue::slab::Slot<Message>>(), 64);
    }
}
