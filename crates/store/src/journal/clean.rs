//! The cleaner: the oldest segment is walked, what still lives in it is appended again, and it is removed.
//!
//! Oldest first makes everything else in a segment safe to drop: a record about a message is never in an older
//! segment than the message, so when a segment is the oldest, whatever its records speak of is in it, copied out
//! of it, or gone. `docs/internals/journal.md` has the reasoning.

use super::codec::{self, FRAME_BYTES};
use super::header::HEADER_BYTES;
use super::index::{END_BYTES, End, Entries, Entry};
use super::record::Record;
use super::scan::Scan;
use super::segment::Segment;
use super::writer::Journal;
use crate::Error;
use crate::disk::{Disk, DiskFile};
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;
use tidegate_core::queue::{MessageId, Place};

/// Messages to move.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CleanStep {
    /// Messages that the oldest segment holds or once held, by place.
    pub candidates: Vec<(MessageId, Place)>,
}

/// A walk through a segment.
#[derive(Debug)]
pub(super) struct Walk<D: Disk> {
    segment: Arc<Segment<D>>,
    /// Read from the index, and not handed out.
    ready: VecDeque<(MessageId, Place)>,
    /// The part of the file where the rest of the index is.
    index: std::ops::Range<u64>,
}

impl<D: Disk> Journal<D> {
    /// Whether there is more on disk than there should be, and something can be done about it now.
    pub fn wants_cleaning(&self) -> bool {
        self.space.wants_cleaning() && self.can_clean()
    }

    /// How many bytes to walk now, to keep the disk within its bound: 0, or four times what was appended and what died
    /// since the last step.
    pub fn clean_budget(&self) -> u64 {
        if self.wants_cleaning() { self.space.clean_budget() } else { 0 }
    }

    /// Walks on through the oldest segment, for about so many bytes. Each candidate that is still where this says has
    /// to be read, appended again with its present state, and declared [`dead`](Journal::dead) at its old place,
    /// before the next batch is taken; the others are dead already. One that cannot be read is
    /// [`unreadable`](Journal::unreadable).
    ///
    /// That is all: a segment in which nothing lives any more is removed by the [`reclaim`](super::Batch::reclaim) of
    /// the batch with the last of these records.
    pub fn clean_step(&mut self, budget_bytes: u64) -> Result<CleanStep, Error> {
        let mut step = CleanStep::default();
        if !self.wants_cleaning() || !self.start_walk()? {
            return Ok(step);
        }
        let Some(walk) = &mut self.walk else { return Ok(step) };
        let mut walked = 0;
        while walked < budget_bytes {
            let Some((id, place)) = walk.ready.pop_front() else {
                match walk.load(&self.files.disk)? {
                    Some(bytes) => walked += bytes,
                    None => {
                        // If something still lives in it, the next step begins again.
                        self.walk = None;
                        break;
                    }
                }
                continue;
            };
            walked += u64::from(place.len);
            step.candidates.push((id, place));
        }
        self.space.walked(walked);
        Ok(step)
    }

    /// Whether the oldest segment can be removed, or walked.
    fn can_clean(&self) -> bool {
        let Some(oldest) = self.space.oldest() else { return false };
        // On a full disk the reserve is for acks, which free more in the end, unless little is to be copied.
        let fits = oldest.live <= self.files.reserve_bytes / 4 || !self.files.is_full();
        // The last batch of a segment, and its index, may still be on their way.
        let is_sealed = || self.files.get(oldest.number).is_some_and(|segment| segment.is_sealed());
        oldest.live == 0 || fits && is_sealed()
    }

    /// Makes sure that the oldest segment is being walked, unless there is nothing to find in it.
    fn start_walk(&mut self) -> Result<bool, Error> {
        let Some(oldest) = self.space.oldest().filter(|oldest| oldest.live > 0) else { return Ok(false) };
        if self.walk.as_ref().is_some_and(|walk| walk.segment.name.0 == oldest.number) {
            return Ok(true);
        }
        let Some(segment) = self.files.get(oldest.number) else { return Ok(false) };
        self.walk = Some(Walk::start(segment, &self.files.disk)?);
        self.walked = Some(oldest.number);
        Ok(true)
    }
}

impl<D: Disk> Walk<D> {
    fn start(segment: Arc<Segment<D>>, disk: &D) -> Result<Walk<D>, Error> {
        let in_context = |action| Error::at(disk, action, &segment.name);
        let file = segment.file().map_err(in_context("read"))?;
        let size = file.size().map_err(in_context("look at"))?;
        let mut last = [0; END_BYTES];
        let index = match size.checked_sub((HEADER_BYTES + END_BYTES) as u64) {
            Some(before) => {
                let at = before + HEADER_BYTES as u64;
                file.read_at(&mut last, at).map_err(in_context("read"))?;
                End::decode(&last, size, segment.seed).map(|end| u64::from(end.data_end)..at)
            }
            None => None,
        };
        let mut walk = Walk { segment, ready: VecDeque::new(), index: 0..0 };
        match index {
            Some(index) => walk.index = index,
            None => walk.scan(disk)?,
        }
        Ok(walk)
    }

    /// Reads the next part of the index. None at its end; otherwise the bytes of records that need no moving.
    fn load(&mut self, disk: &D) -> Result<Option<u64>, Error> {
        if self.index.is_empty() {
            return Ok(None);
        }
        let bytes = self.read_frame(disk)?;
        let Some((&codec::INDEX, entries)) =
            codec::frame(&bytes, self.segment.seed).and_then(<[u8]>::split_first)
        else {
            // The index was damaged after it was read at start, or written. The records are there, too.
            self.index = 0..0;
            self.scan(disk)?;
            return Ok(Some(0));
        };
        self.index.start += bytes.len() as u64;
        let number = self.segment.name.0;
        let mut others = 0;
        for entry in Entries::new(entries) {
            match message(number, &entry) {
                Some(message) => self.ready.push_back(message),
                None => others += u64::from(entry.len),
            }
        }
        Ok(Some(others))
    }

    fn read_frame(&self, disk: &D) -> Result<Vec<u8>, Error> {
        let in_context = Error::at(disk, "read", &self.segment.name);
        let read = |file: &D::File| {
            let mut head = [0; FRAME_BYTES];
            file.read_at(&mut head, self.index.start)?;
            let len = u64::from(u32::from_le_bytes([head[4], head[5], head[6], head[7]]));
            let mut bytes = vec![0; len.min(self.index.end - self.index.start) as usize];
            file.read_at(&mut bytes, self.index.start)?;
            Ok(bytes)
        };
        self.segment.file().and_then(read).map_err(in_context)
    }

    /// Finds the messages without an index.
    fn scan(&mut self, disk: &D) -> Result<(), Error> {
        let in_context = Error::at(disk, "read", &self.segment.name);
        let read = |file: &D::File| {
            let mut bytes = vec![0; file.size()? as usize];
            file.read_at(&mut bytes, 0)?;
            Ok(bytes)
        };
        let bytes = self.segment.file().and_then(read).map_err(in_context)?;
        let scan = Scan { bytes: &bytes, seed: self.segment.seed, is_sealed: true };
        scan.run(|entry| {
            self.ready.extend(message(self.segment.name.0, &entry));
            ControlFlow::Continue(())
        });
        Ok(())
    }
}

fn message(segment: u32, entry: &Entry<'_>) -> Option<(MessageId, Place)> {
    match entry.record()? {
        Record::Message(message) => {
            Some((message.id, Place { segment, offset: entry.offset, len: entry.len }))
        }
        _ => None,
    }
}
