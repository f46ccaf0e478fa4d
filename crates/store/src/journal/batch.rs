//! Records on their way to disk. A batch is written, synced and done with on whatever thread its owner likes, while
//! the journal goes on collecting the next one.

use super::files::Files;
use super::index::IndexBuilder;
use super::segment::Segment;
use crate::Error;
use crate::disk::Disk;
use std::sync::{Arc, Mutex, PoisonError};

/// All that was appended between two calls of [`Journal::take_batch`](super::Journal::take_batch).
///
/// Batches are written in the order in which they were taken, each by one thread at a time: [`write`](Batch::write),
/// [`sync`](Batch::sync), [`reclaim`](Batch::reclaim). A batch may go without its own sync; the next one that is
/// synced covers it.
#[derive(Debug)]
pub struct Batch<D: Disk> {
    pub(super) files: Arc<Files<D>>,
    pub(super) number: u64,
    /// None if nothing was ever appended.
    pub(super) segment: Option<Arc<Segment<D>>>,
    pub(super) offset: u32,
    pub(super) bytes: Arc<Vec<u8>>,
    /// The segment before, if this batch is the first in its own, until it is sealed.
    pub(super) seal: Mutex<Option<Seal<D>>>,
}

/// A segment that gets no more records.
#[derive(Debug)]
pub(super) struct Seal<D: Disk> {
    pub segment: Arc<Segment<D>>,
    pub index: IndexBuilder,
    pub data_end: u32,
}

impl<D: Disk> Batch<D> {
    /// 1, 2, 3, ... since the journal was opened.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// How long it is. 0 if it only has segments to remove.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Whether [`write`](Batch::write) does nothing but hand records to the system: their file is there, and none has
    /// to be completed before. Such a batch may be written while an earlier one is synced or reclaimed.
    pub fn is_plain(&self) -> bool {
        let is_there = |segment: &Arc<Segment<D>>| segment.file().is_ok();
        let seals = self.seal.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        !seals && self.segment.as_ref().is_none_or(is_there)
    }

    /// Hands the records to the system, after which they can be read. Unless the error [is fatal](Error::is_fatal),
    /// the same batch can be written again, when the disk has space; until then none that was taken later may be.
    pub fn write(&self) -> Result<(), Error> {
        self.files.check()?;
        let mut written = self.try_write();
        // The spare is given up first.
        if written.as_ref().is_err_and(Error::is_disk_full) && self.files.spare.give_up(&self.files.disk) {
            written = self.try_write();
        }
        if written.as_ref().is_err_and(Error::is_disk_full) {
            self.files.set_full(true);
        }
        self.files.note(written)
    }

    /// Puts the records on disk, and those of every batch before. An error is fatal.
    pub fn sync(&self) -> Result<(), Error> {
        self.files.check()?;
        let synced = self.segment.as_ref().map_or(Ok(()), |segment| segment.sync(&self.files.disk));
        self.files.note(synced)?;
        self.files.set_synced(self.number);
        Ok(())
    }

    /// Whether [`reclaim`](Batch::reclaim) would do anything.
    pub fn wants_reclaim(&self) -> bool {
        let is_ahead = |segment: &Arc<Segment<D>>| segment.is_reserved(self.files.reserve_bytes);
        self.files.is_full()
            || self.files.has_doomed()
            || self.files.spare.wants_trim()
            || !self.segment.as_ref().is_none_or(is_ahead)
    }

    /// Housekeeping, when the records are on disk and nobody waits any more: removes the segments that were cleaned,
    /// and reserves space ahead. One of them may stay as the spare. If it fails, and the error is not fatal, the next batch tries again.
    pub fn reclaim(&self) -> Result<(), Error> {
        self.files.check()?;
        self.files.remove_doomed()?;
        self.files.spare.trim(&self.files.disk)?;
        if let Some(segment) = &self.segment {
            let reserve = || segment.reserve(&self.files.disk, self.files.reserve_bytes);
            let mut has_room = reserve()?;
            if !has_room && self.files.spare.give_up(&self.files.disk) {
                has_room = reserve()?;
            }
            self.files.set_full(!has_room);
        }
        Ok(())
    }

    fn try_write(&self) -> Result<(), Error> {
        let disk = &self.files.disk;
        // A segment is on disk before the next one begins, so that only the last one can have a torn tail.
        let mut seal = self.seal.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Seal { segment, index, data_end }) = &*seal {
            segment.seal(disk, index, *data_end)?;
        }
        // Whoever holds a segment keeps its file from being used again.
        *seal = None;
        match &self.segment {
            Some(segment) if !self.bytes.is_empty() => {
                if !segment.ensure(disk, self.files.reserve_bytes, || self.files.spare.take())? {
                    self.files.set_full(true);
                }
                segment.write(disk, &self.bytes, self.offset)
            }
            _ => Ok(()),
        }
    }
}

impl<D: Disk> Drop for Batch<D> {
    fn drop(&mut self) {
        if let Some(buffer) = Arc::into_inner(std::mem::take(&mut self.bytes)) {
            self.files.give_buffer(buffer);
        }
    }
}
