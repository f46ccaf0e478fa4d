//! One segment as a file: made with its header on disk before it has its name, written, and sealed with its index.

use super::header::{HEADER_BYTES, Header};
use super::index::IndexBuilder;
use super::name::{SPARE, SegmentName};
use super::spare::Spare;
use crate::Error;
use crate::disk::{Disk, DiskFile};
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// A segment. Whoever holds it can read it, even after it was deleted.
#[derive(Debug)]
pub(crate) struct Segment<D: Disk> {
    pub name: SegmentName,
    pub seed: u32,
    header: Header,
    /// None until the first batch for it is written.
    file: OnceLock<D::File>,
    /// Bytes written, and of these, bytes on disk.
    written: AtomicU32,
    durable: AtomicU32,
    /// Bytes that can be written without running out of space.
    reserved: AtomicU64,
    is_sealed: AtomicBool,
}

impl<D: Disk> Segment<D> {
    /// A segment that has no file yet.
    pub fn planned(header: Header) -> Segment<D> {
        Segment {
            name: header.name,
            seed: header.seed(),
            header,
            file: OnceLock::new(),
            written: AtomicU32::new(HEADER_BYTES as u32),
            durable: AtomicU32::new(HEADER_BYTES as u32),
            reserved: AtomicU64::new(0),
            is_sealed: AtomicBool::new(false),
        }
    }

    /// A segment that was found on disk, and is not written any more.
    pub fn found(header: Header, file: D::File) -> Segment<D> {
        let segment = Segment::planned(header);
        segment.is_sealed.store(true, Ordering::Release);
        segment.file.get_or_init(|| file);
        segment
    }

    /// The file, or an error if nothing of it was written yet.
    pub fn file(&self) -> io::Result<&D::File> {
        self.file
            .get()
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "nothing of it was written yet"))
    }

    /// Whether it is complete on disk.
    pub fn is_sealed(&self) -> bool {
        self.is_sealed.load(Ordering::Acquire)
    }

    /// How many bytes are on disk for certain.
    pub fn durable(&self) -> u32 {
        self.durable.load(Ordering::Acquire)
    }

    /// Makes the file unless it is there, of a spare if there is one, and says whether `ahead` bytes could be reserved
    /// for it. A start removes what is half made.
    pub fn ensure(
        &self,
        disk: &D,
        ahead: u64,
        spare: impl FnOnce() -> Option<Spare<D>>,
    ) -> Result<bool, Error> {
        if self.file.get().is_some() {
            return Ok(true);
        }
        let temp = self.name.temp();
        let in_context = |action| Error::at(disk, action, &temp);
        let spare = spare().filter(|_| disk.rename(SPARE, &temp).is_ok());
        let (file, written_before) = match spare {
            Some(Spare { file, bytes }) => (file, bytes),
            None => (disk.create(&temp).map_err(in_context("create"))?, 0),
        };
        let has_room = match file.reserve(ahead) {
            Ok(()) => true,
            // A few records may still fit.
            Err(reason) if is_full(&reason) => false,
            Err(reason) => return Err(in_context("reserve space for")(reason)),
        };
        file.write_at(&self.header.encode(), 0).map_err(in_context("write"))?;
        file.sync().map_err(Error::sync(disk, &temp))?;
        disk.rename(&temp, &self.name.to_string()).map_err(in_context("rename"))?;
        disk.sync_dir().map_err(Error::sync(disk, &temp))?;
        let reserved = if has_room { ahead } else { 0 };
        self.reserved.store(reserved.max(written_before), Ordering::Release);
        self.file.get_or_init(|| file);
        Ok(has_room)
    }

    /// Its file, to be written over. None if it never had one.
    pub fn into_file(self) -> Option<D::File> {
        self.file.into_inner()
    }

    /// What its file takes, if it has one.
    pub fn file_bytes(&self) -> Option<u64> {
        let written = u64::from(self.written.load(Ordering::Acquire));
        self.file.get().map(|_| self.reserved.load(Ordering::Acquire).max(written))
    }

    /// Whether space is reserved far enough: half of `ahead` bytes after those written.
    pub fn is_reserved(&self, ahead: u64) -> bool {
        let written = u64::from(self.written.load(Ordering::Acquire));
        self.reserved.load(Ordering::Acquire) >= written + ahead / 2 || self.is_sealed()
    }

    /// Reserves space for `ahead` bytes after those written, once half of the last such space is used. Says
    /// whether there is as much as there should be.
    pub fn reserve(&self, disk: &D, ahead: u64) -> Result<bool, Error> {
        let Some(file) = self.file.get().filter(|_| !self.is_reserved(ahead)) else { return Ok(true) };
        let written = u64::from(self.written.load(Ordering::Acquire));
        match file.reserve(written + ahead) {
            Ok(()) => {
                self.reserved.store(written + ahead, Ordering::Release);
                Ok(true)
            }
            Err(reason) if is_full(&reason) => Ok(false),
            Err(reason) => Err(Error::at(disk, "reserve space for", &self.name)(reason)),
        }
    }

    /// Writes a batch.
    pub fn write(&self, disk: &D, bytes: &[u8], offset: u32) -> Result<(), Error> {
        let write = |file: &D::File| file.write_at(bytes, offset.into());
        self.file().and_then(write).map_err(Error::at(disk, "write", &self.name))?;
        self.written.fetch_max(offset + bytes.len() as u32, Ordering::AcqRel);
        Ok(())
    }

    /// Puts all that was written on disk.
    pub fn sync(&self, disk: &D) -> Result<(), Error> {
        let written = self.written.load(Ordering::Acquire);
        let Some(file) = self.file.get() else { return Ok(()) };
        if self.durable() < written {
            file.sync().map_err(Error::sync(disk, &self.name))?;
            self.durable.fetch_max(written, Ordering::AcqRel);
        }
        Ok(())
    }

    /// Ends the segment: its index, and nothing behind that. It is on disk afterwards. A full disk leaves the index
    /// out, since a segment can be read without.
    pub fn seal(&self, disk: &D, index: &IndexBuilder, data_end: u32) -> Result<(), Error> {
        if self.is_sealed() {
            return Ok(());
        }
        let in_context = |action| Error::at(disk, action, &self.name);
        let file = self.file().map_err(in_context("seal"))?;
        // The index must not be on disk before what it speaks of. Mostly that is there already.
        self.sync(disk)?;
        write_end(file, index, data_end, self.seed).map_err(in_context("seal"))?;
        file.sync().map_err(Error::sync(disk, &self.name))?;
        self.is_sealed.store(true, Ordering::Release);
        Ok(())
    }
}

/// Cuts a segment behind its records and writes its index there, if there is space. Does not sync.
pub(crate) fn write_end(
    file: &impl DiskFile,
    index: &IndexBuilder,
    data_end: u32,
    seed: u32,
) -> io::Result<()> {
    let mut end = u64::from(data_end);
    let written = index.write(data_end, seed, |frame| {
        file.write_at(frame, end)?;
        end += frame.len() as u64;
        Ok(())
    });
    match written {
        Ok(()) => file.set_size(end),
        Err(reason) if is_full(&reason) => file.set_size(data_end.into()),
        Err(reason) => Err(reason),
    }
}

/// Whether a disk or a quota is full, which passes.
pub(crate) fn is_full(reason: &io::Error) -> bool {
    matches!(reason.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
