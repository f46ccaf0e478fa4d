//! A snapshot being written: every record that counts, in any order, while the log goes on beside it.

use super::block::Blocks;
use super::file::NewFile;
use super::header::Header;
use super::writer::Backlog;
use crate::Error;
use crate::disk::Disk;

/// What is written at once. Enough that the cost of the call is lost in the cost of the bytes.
const WRITE_BYTES: usize = 256 << 10;
/// How much is written between two syncs, so that neither a log's sync nor the last one of the snapshot has to wait
/// for hundreds of megabytes.
const SYNC_EVERY_BYTES: u64 = 4 << 20;

/// Takes the records of one snapshot. Dropped before it is finished, it leaves nothing behind.
#[derive(Debug)]
pub struct Snapshot<D: Disk> {
    file: NewFile<D>,
    blocks: Blocks,
    covers: Backlog,
}

impl<D: Disk> Snapshot<D> {
    /// Starts a snapshot that will stand in for `covers`.
    pub(super) fn create(disk: &D, header: &Header, covers: Backlog) -> Result<Snapshot<D>, Error> {
        Ok(Snapshot { file: NewFile::create(disk, header)?, blocks: Blocks::default(), covers })
    }

    /// Adds a record, as it is now. From time to time this waits for the disk, for some 4 MiB.
    pub fn write(&mut self, record: &[u8]) -> Result<(), Error> {
        self.blocks.push(record);
        if self.blocks.len() >= WRITE_BYTES { self.flush() } else { Ok(()) }
    }

    /// Ends the snapshot and gives it its name, durably.
    pub(super) fn publish(mut self) -> Result<Published, Error> {
        self.flush()?;
        self.file.write_end()?;
        self.file.publish()?;
        let generation = self.file.name().generation;
        Ok(Published { generation, bytes: self.file.bytes(), covers: self.covers })
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.file.write(&mut self.blocks)?;
        self.blocks.clear();
        if self.file.undurable_bytes() >= SYNC_EVERY_BYTES { self.file.sync() } else { Ok(()) }
    }
}

/// A snapshot that is on disk under its name.
pub(super) struct Published {
    pub generation: u64,
    pub bytes: u64,
    pub covers: Backlog,
}
