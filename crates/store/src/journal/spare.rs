//! The spare: the file of a segment that is gone, kept to be written over as the next one. Its blocks have been written
//! before, so a sync has nothing to tell the file system: with batches of 100 KB it takes half the time and half the CPU.
//!
//! What it holds counts for nothing: every frame is checked against the number of its segment, and a later segment has a
//! higher one. A file becomes the spare only when its old name is durably gone, and has its next name only when the
//! next header is on disk.

use super::header::{HEADER_BYTES, Header};
use super::name::SPARE;
use crate::Error;
use crate::disk::{Disk, DiskFile};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The last bytes of a spare. What is found before them in a segment, behind its own records, is nobody's torn write.
pub(crate) const MARK: [u8; 8] = *b"TIDE OLD";

/// A file to be written over.
#[derive(Debug)]
pub(crate) struct Spare<D: Disk> {
    pub file: D::File,
    pub bytes: u64,
}

/// A spare that a start found, and the segment that it was.
pub(crate) struct FoundSpare<D: Disk> {
    pub spare: Spare<D>,
    pub number: u32,
}

impl<D: Disk> Spare<D> {
    /// The file that has the name of the spare, of `bytes` bytes.
    pub fn new(disk: &D, file: D::File, bytes: u64) -> Result<Spare<D>, Error> {
        let marked = file.write_at(&MARK, bytes.saturating_sub(MARK.len() as u64));
        marked.map_err(Error::at(disk, "write", &SPARE))?;
        Ok(Spare { file, bytes })
    }

    /// Shortens it.
    pub fn cut(self, disk: &D, bytes: u64) -> Result<Spare<D>, Error> {
        self.file.set_size(bytes).map_err(Error::at(disk, "cut", &SPARE))?;
        Spare::new(disk, self.file, bytes)
    }

    /// Looks at the spare that a start found. None if it does not say which segment it was: it may hold frames of any.
    pub fn find(disk: &D) -> Result<Option<FoundSpare<D>>, Error> {
        let in_context = |action| Error::at(disk, action, &SPARE);
        let file = disk.open(SPARE).map_err(in_context("open"))?;
        let bytes = file.size().map_err(in_context("look at"))?;
        if bytes < (HEADER_BYTES + MARK.len()) as u64 {
            return Ok(None);
        }
        let mut header = [0; HEADER_BYTES];
        file.read_at(&mut header, 0).map_err(in_context("read"))?;
        let Some(number) = Header::number(&header) else { return Ok(None) };
        Ok(Some(FoundSpare { spare: Spare::new(disk, file, bytes)?, number }))
    }
}

/// Where the spare is kept: at most one.
#[derive(Debug)]
pub(crate) struct SpareSlot<D: Disk> {
    spare: Mutex<Option<Spare<D>>>,
    /// How long it may be.
    room: AtomicU64,
    /// A shorter one is not worth its name.
    least: u64,
}

impl<D: Disk> SpareSlot<D> {
    pub fn new(spare: Option<Spare<D>>, least: u64) -> SpareSlot<D> {
        let room = AtomicU64::new(spare.as_ref().map_or(0, |spare| spare.bytes));
        SpareSlot { spare: Mutex::new(spare), room, least }
    }

    /// Takes it out, to be used or to be dropped. Its file keeps the name until then.
    pub fn take(&self) -> Option<Spare<D>> {
        self.lock().take()
    }

    pub fn put(&self, spare: Spare<D>) {
        *self.lock() = Some(spare);
    }

    /// What it takes on disk.
    pub fn bytes(&self) -> u64 {
        self.lock().as_ref().map_or(0, |spare| spare.bytes)
    }

    /// How long it may be, from the next [`trim`](SpareSlot::trim) on.
    pub fn set_room(&self, bytes: u64) {
        self.room.store(bytes, Ordering::Release);
    }

    /// Whether a file of `bytes` bytes is a better spare than the one that there is.
    pub fn wants(&self, bytes: u64) -> bool {
        let useful = bytes.min(self.room());
        useful >= self.least && useful > self.bytes()
    }

    /// Whether [`trim`](SpareSlot::trim) would do anything.
    pub fn wants_trim(&self) -> bool {
        let bytes = self.bytes();
        bytes > self.room() || bytes > 0 && bytes < self.least
    }

    /// Cuts it to what it may be, or deletes it.
    pub fn trim(&self, disk: &D) -> Result<(), Error> {
        if self.wants_trim()
            && let Some(spare) = self.take()
        {
            let room = self.room();
            match spare.bytes.min(room) < self.least {
                true => disk.remove(SPARE).map_err(Error::at(disk, "delete", &SPARE))?,
                false => self.put(spare.cut(disk, room)?),
            }
        }
        Ok(())
    }

    /// Deletes it to make room. Says whether there was one.
    pub fn give_up(&self, disk: &D) -> bool {
        self.take().is_some_and(|_| disk.remove(SPARE).is_ok())
    }

    fn room(&self) -> u64 {
        self.room.load(Ordering::Acquire)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Spare<D>>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
