//! How much of each segment is still needed, and so what the cleaner has to do.
//!
//! The promise: the disk holds at most twice the live bytes and two segments. Cleaning begins at 1.75 times and half
//! a segment, and for each byte that is appended or dies it walks four. The oldest segments may be nothing but live,
//! so that a whole round of the live bytes has to be copied before anything comes free: at that pace the rest grows
//! by a quarter of them meanwhile. The segment being walked, and the space reserved ahead, fit in the two segments.
//! In the long run an old backlog costs 1.33 copied bytes per new one.

use std::collections::VecDeque;
use tidegate_core::queue::Place;

/// Bytes walked per byte that was appended or died.
const PACE: u64 = 4;
/// The steps in which a spare becomes shorter, per segment.
const SPARE_STEPS: u64 = 8;
/// Less than this is not worth a step.
const MIN_STEP_BYTES: u64 = 64 * 1024;

/// The bytes of the journal, by segment.
#[derive(Debug)]
pub struct Space {
    segments: VecDeque<SegmentSpace>,
    segment_bytes: u64,
    live: u64,
    total: u64,
    /// What is yet to be walked, as long as cleaning is due.
    debt: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct SegmentSpace {
    pub number: u32,
    pub total: u64,
    pub live: u64,
    /// Something in it could not be read: it is set aside in the end, not deleted.
    pub is_damaged: bool,
}

/// What the journal takes on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Bytes of the messages that are still needed.
    pub live_bytes: u64,
    /// Bytes of all segments, and of the spare.
    pub total_bytes: u64,
    /// Segments.
    pub segments: u64,
}

impl Space {
    pub(crate) fn new(segment_bytes: u32) -> Space {
        Space { segments: VecDeque::new(), segment_bytes: segment_bytes.into(), live: 0, total: 0, debt: 0 }
    }

    /// The message at `place` is gone, or is elsewhere by now.
    pub fn dead(&mut self, place: Place) {
        let len = u64::from(place.len);
        if let Some(segment) = self.find(place.segment) {
            // A caller's bug: segments would be removed with messages in them.
            assert!(segment.live >= len, "{place:?} died twice");
            segment.live -= len;
            self.live -= len;
            self.debt += PACE * len;
        }
    }

    /// The segment of `place` is to be kept for whoever wants to look at it.
    pub(crate) fn damaged(&mut self, segment: u32) {
        if let Some(segment) = self.find(segment) {
            segment.is_damaged = true;
        }
    }

    /// A new segment, the last one.
    pub(crate) fn add_segment(&mut self, number: u32, bytes: u64) {
        self.segments.push_back(SegmentSpace { number, total: bytes, live: 0, is_damaged: false });
        self.total += bytes;
    }

    /// The last segment grew, by `live` bytes of a message and by others.
    pub(crate) fn grow(&mut self, bytes: u64, live: u64) {
        let segment = self.segments.back_mut().expect("a segment is added before it grows");
        segment.total += bytes;
        segment.live += live;
        self.total += bytes;
        self.live += live;
        self.debt += PACE * bytes;
    }

    /// A message was found in `segment`, the last one so far.
    pub(crate) fn found(&mut self, len: u32) {
        let segment = self.segments.back_mut().expect("a segment is added before it is read");
        segment.live += u64::from(len);
        self.live += u64::from(len);
    }

    /// The last segment that was read was cut.
    pub(crate) fn cut(&mut self, bytes: u64) {
        if let Some(segment) = self.segments.back_mut() {
            segment.total -= bytes;
            self.total -= bytes;
        }
    }

    /// So many bytes died or were appended by the cleaner's own work.
    pub(crate) fn forgive(&mut self, bytes: u64) {
        self.debt = self.debt.saturating_sub(PACE * bytes);
    }

    pub(crate) fn oldest(&self) -> Option<SegmentSpace> {
        self.segments.front().copied()
    }

    pub(crate) fn drop_oldest(&mut self) {
        if let Some(segment) = self.segments.pop_front() {
            self.total -= segment.total;
            self.live -= segment.live;
        }
    }

    /// Whether there is more on disk than there should be. The last segment is being written, and stays.
    pub(crate) fn wants_cleaning(&self) -> bool {
        let allowed = self.live + self.live / 4 * 3 + self.segment_bytes / 2;
        self.segments.len() > 1 && (self.total > allowed || self.segments[0].live == 0)
    }

    /// How long a spare may be for all to be within twice the live bytes and two segments, when the last segment has
    /// grown by `growth` bytes; in steps, so that it is not cut with every batch.
    pub(crate) fn spare_room(&self, growth: u64) -> u64 {
        let room = (2 * self.live + 2 * self.segment_bytes).saturating_sub(self.total + growth);
        let step = (self.segment_bytes / SPARE_STEPS).max(1);
        room.min(self.segment_bytes) / step * step
    }

    pub(crate) fn clean_budget(&self) -> u64 {
        self.debt.max(MIN_STEP_BYTES)
    }

    pub(crate) fn walked(&mut self, bytes: u64) {
        self.debt = self.debt.saturating_sub(bytes);
    }

    /// While there is nothing to clean, nothing is owed.
    pub(crate) fn settle(&mut self) {
        if !self.wants_cleaning() {
            self.debt = 0;
        }
    }

    pub(crate) fn usage(&self) -> Usage {
        Usage { live_bytes: self.live, total_bytes: self.total, segments: self.segments.len() as u64 }
    }

    fn find(&mut self, number: u32) -> Option<&mut SegmentSpace> {
        // Numbers have gaps only after damage.
        let guess = number.checked_sub(self.segments.front()?.number)? as usize;
        let at = match self.segments.get(guess) {
            Some(segment) if segment.number == number => guess,
            _ => self.segments.binary_search_by_key(&number, |segment| segment.number).ok()?,
        };
        self.segments.get_mut(at)
    }
}
