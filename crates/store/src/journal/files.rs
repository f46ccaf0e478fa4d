//! What the journal, its batches and its readers share: the disk, the segments, and how far things got.

use super::name::{SPARE, SegmentName};
use super::recent::{Kept, Recent};
use super::segment::Segment;
use super::spare::{Spare, SpareSlot};
use crate::Error;
use crate::disk::{Disk, DiskFile};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use tidegate_core::queue::Place;

/// Buffers kept for further batches, and the largest that is.
const SPARE_BUFFERS: usize = 2;
const SPARE_BUFFER_BYTES: usize = 2 << 20;

/// The segments on a disk.
#[derive(Debug)]
pub(crate) struct Files<D: Disk> {
    pub disk: D,
    /// How much is reserved ahead of what is written.
    pub reserve_bytes: u64,
    segments: RwLock<BTreeMap<u32, Arc<Segment<D>>>>,
    doomed: Mutex<VecDeque<Doomed>>,
    pub spare: SpareSlot<D>,
    buffers: Mutex<Vec<Vec<u8>>>,
    recent: Mutex<Recent>,
    /// The last batch that is on disk.
    synced: AtomicU64,
    is_full: AtomicBool,
    has_failed: AtomicBool,
}

/// How much of a disk and of the memory is held ready.
pub(crate) struct Bounds {
    /// How much is reserved ahead of what is written.
    pub reserve_bytes: u64,
    /// Bytes of the last batches that stay in memory.
    pub recent_bytes: usize,
}

/// A segment that nothing needs any more once a batch is on disk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Doomed {
    pub name: SegmentName,
    /// The batch with the last copies of what was in it.
    pub after: u64,
    /// Kept under another name instead of being deleted.
    pub is_damaged: bool,
}

impl<D: Disk> Files<D> {
    pub fn new(
        disk: D,
        bounds: Bounds,
        segments: BTreeMap<u32, Arc<Segment<D>>>,
        spare: Option<Spare<D>>,
    ) -> Files<D> {
        let Bounds { reserve_bytes, recent_bytes } = bounds;
        Files {
            disk,
            reserve_bytes,
            segments: RwLock::new(segments),
            doomed: Mutex::default(),
            spare: SpareSlot::new(spare, reserve_bytes),
            buffers: Mutex::default(),
            recent: Mutex::new(Recent::new(recent_bytes)),
            synced: AtomicU64::new(0),
            is_full: AtomicBool::new(false),
            has_failed: AtomicBool::new(false),
        }
    }

    pub fn get(&self, number: u32) -> Option<Arc<Segment<D>>> {
        self.segments.read().unwrap_or_else(PoisonError::into_inner).get(&number).cloned()
    }

    pub fn add(&self, segment: Arc<Segment<D>>) {
        let mut segments = self.segments.write().unwrap_or_else(PoisonError::into_inner);
        segments.insert(segment.name.0, segment);
    }

    /// Its turn comes with the batch it waits for, and after all that were doomed before.
    pub fn doom(&self, doomed: Doomed) {
        lock(&self.doomed).push_back(doomed);
    }

    pub fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Acquire)
    }

    pub fn set_full(&self, is_full: bool) {
        self.is_full.store(is_full, Ordering::Release);
    }

    /// Notes that a batch is on disk.
    pub fn set_synced(&self, batch: u64) {
        self.synced.fetch_max(batch, Ordering::AcqRel);
    }

    /// Refuses everything after a sync that failed: nobody knows what is on disk, and a second sync would not tell.
    pub fn check(&self) -> Result<(), Error> {
        match self.has_failed.load(Ordering::Acquire) {
            false => Ok(()),
            true => Err(Error::sync(&self.disk, "")(io::Error::other("an earlier sync failed"))),
        }
    }

    /// Notes a failed sync, which nothing may follow.
    pub fn note<T>(&self, result: Result<T, Error>) -> Result<T, Error> {
        if result.as_ref().is_err_and(Error::is_fatal) {
            self.has_failed.store(true, Ordering::Release);
        }
        result
    }

    /// Whether segments wait to be removed.
    pub fn has_doomed(&self) -> bool {
        !lock(&self.doomed).is_empty()
    }

    /// Removes the segments whose turn it is, each durably before the next: a segment may hold the end of a message
    /// that an older one holds, and must never be outlived by it.
    pub fn remove_doomed(&self) -> Result<(), Error> {
        let mut doomed = lock(&self.doomed);
        while let Some(next) =
            doomed.front().copied().filter(|next| next.after <= self.synced.load(Ordering::Acquire))
        {
            let segment = self.segments.write().unwrap_or_else(PoisonError::into_inner).remove(&next.name.0);
            // Nobody finds it from here on. Whoever has it goes on reading it: then it is deleted.
            match segment.and_then(Arc::into_inner).filter(|_| !next.is_damaged).and_then(Segment::into_file)
            {
                Some(file) => self.recycle(next, file)?,
                None => self.remove(next)?,
            }
            doomed.pop_front();
        }
        Ok(())
    }

    /// Keeps the file of a segment for the next one, if it is of more use than the spare that there is.
    fn recycle(&self, doomed: Doomed, file: D::File) -> Result<(), Error> {
        let name = doomed.name.to_string();
        let bytes = file.size().map_err(Error::at(&self.disk, "look at", &name))?;
        if !self.spare.wants(bytes) {
            return self.remove(doomed);
        }
        // It is about to be replaced.
        drop(self.spare.take());
        self.disk.rename(&name, SPARE).map_err(Error::at(&self.disk, "rename", &name))?;
        // Until this is done a crash may bring the segment back, which needs its bytes.
        self.note(self.disk.sync_dir().map_err(Error::sync(&self.disk, &name)))?;
        self.spare.put(Spare::new(&self.disk, file, bytes)?);
        Ok(())
    }

    fn remove(&self, doomed: Doomed) -> Result<(), Error> {
        let name = doomed.name.to_string();
        let removed = match doomed.is_damaged {
            false => self.disk.remove(&name),
            true => self.disk.list().and_then(|taken| self.disk.rename(&name, &doomed.name.corrupt(&taken))),
        };
        match removed {
            // Tried before, and failed behind this step.
            Err(reason) if reason.kind() == io::ErrorKind::NotFound => {}
            removed => removed.map_err(Error::at(&self.disk, "remove", &name))?,
        }
        self.note(self.disk.sync_dir().map_err(Error::sync(&self.disk, &name)))
    }

    /// Has a batch that was just taken read from memory, until others take its room.
    pub fn keep(&self, kept: Kept) {
        let freed = lock(&self.recent).keep(kept);
        freed.into_iter().for_each(|buffer| self.give_buffer(buffer));
    }

    /// The batch that a message is in, and where in it, if it is one of the last.
    pub fn recent(&self, place: Place) -> Option<(Arc<Vec<u8>>, usize)> {
        lock(&self.recent).find(place)
    }

    /// The same for many.
    pub fn recent_all(&self, places: impl Iterator<Item = Place>) -> Vec<Option<(Arc<Vec<u8>>, usize)>> {
        let recent = lock(&self.recent);
        places.map(|place| recent.find(place)).collect()
    }

    /// An empty buffer for a batch.
    pub fn take_buffer(&self) -> Vec<u8> {
        lock(&self.buffers).pop().unwrap_or_default()
    }

    /// Keeps a buffer for the next batch.
    pub fn give_buffer(&self, mut buffer: Vec<u8>) {
        buffer.clear();
        let mut buffers = lock(&self.buffers);
        if buffers.len() < SPARE_BUFFERS && buffer.capacity() <= SPARE_BUFFER_BYTES {
            buffers.push(buffer);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
