//! A snapshot being written: every live key, in any order, while the log goes on beside it.

use super::file::NewFile;
use super::header::Header;
use super::record::KeyRecord;
use super::store::Backlog;
use crate::Error;
use crate::dir::DataDir;

/// How much is written between two syncs, so that neither a log's sync nor the last one of the snapshot has to
/// wait for hundreds of megabytes.
const SYNC_EVERY_BYTES: u64 = 4 << 20;

/// Takes the records of one snapshot. Dropped before it is finished, it leaves nothing behind.
pub struct SnapshotWriter {
    file: NewFile,
    now_ns: u64,
    covers: Backlog,
}

impl SnapshotWriter {
    /// Starts a snapshot that will stand in for `covers`.
    pub(crate) fn create(
        dir: &DataDir,
        header: &Header,
        now_ns: u64,
        covers: Backlog,
    ) -> Result<SnapshotWriter, Error> {
        Ok(SnapshotWriter { file: NewFile::create(dir, header)?, now_ns, covers })
    }

    /// Adds the state of some keys, as it is now. From time to time this waits for the disk, for at most
    /// 4 MiB and this call's records.
    pub fn write(&mut self, records: &[KeyRecord]) -> Result<(), Error> {
        self.file.write(records, self.now_ns)?;
        if self.file.undurable_bytes() >= SYNC_EVERY_BYTES { self.file.sync() } else { Ok(()) }
    }

    /// Ends the snapshot and gives it its name, durably.
    pub(crate) fn publish(mut self, now_ns: u64) -> Result<Published, Error> {
        self.file.write_end(now_ns);
        self.file.publish()?;
        Ok(Published {
            generation: self.file.name().generation,
            bytes: self.file.bytes(),
            covers: self.covers,
        })
    }

    #[cfg(all(test, target_os = "linux"))]
    pub(crate) fn fill_the_disk(&mut self) {
        self.file.fill_the_disk();
    }
}

/// A snapshot that is on disk under its name.
pub(crate) struct Published {
    pub generation: u64,
    pub bytes: u64,
    pub covers: Backlog,
}
