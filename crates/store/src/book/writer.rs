//! The book of a running server: appends to the log, and the change from one generation to the next.
//!
//! What happens if the process dies between any two steps is in `docs/internals/book.md`; each of them is a test.

use super::block::Blocks;
use super::file::NewFile;
use super::header::Header;
use super::recover;
use super::report::BookReport;
use super::snapshot::Snapshot;
use crate::Error;
use crate::disk::Disk;
use crate::generations::{FileName, Kind, Series};

/// Logs that recovery may have to read before a snapshot is due, however short they are.
const MAX_LOGS: u64 = 16;
/// What is kept for the next attempt when the disk does not take it.
const MAX_PENDING_BYTES: usize = 64 << 20;

/// Settings of a [`Book`].
#[derive(Clone, Copy, Debug)]
pub struct BookOptions {
    /// A log shorter than this calls for no snapshot.
    pub min_log_bytes: u64,
    /// Anything that callers cannot guess, new for each start: it keeps a record from posing as others where recovery
    /// looks for the next readable one.
    pub salt: u64,
}

impl Default for BookOptions {
    fn default() -> BookOptions {
        BookOptions { min_log_bytes: 4 << 20, salt: 0 }
    }
}

/// What the newest snapshot lacks, and a new one would cover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Backlog {
    pub logs: u64,
    pub log_bytes: u64,
    /// Files found damaged, and records dropped because the disk did not take them: state that may be in memory alone.
    pub faults: u64,
}

impl Backlog {
    fn less(self, covered: Backlog) -> Backlog {
        Backlog {
            logs: self.logs.saturating_sub(covered.logs),
            log_bytes: self.log_bytes.saturating_sub(covered.log_bytes),
            faults: self.faults.saturating_sub(covered.faults),
        }
    }
}

/// A damaged file that is still needed under its name, until a snapshot replaces it.
#[derive(Clone, Debug)]
pub(super) struct Damaged {
    pub name: FileName,
    pub kept_as: String,
}

/// Records of somebody else's state on disk. Has no thread and no clock: its owner drives it.
#[derive(Debug)]
pub struct Book<D: Disk> {
    pub(super) disk: D,
    pub(super) options: BookOptions,
    /// Of the log that is open, or else of the next one.
    pub(super) generation: u64,
    /// None until something is synced, and after a failed write.
    pub(super) log: Option<NewFile<D>>,
    /// Appended, and not on disk for certain.
    pub(super) pending: Blocks,
    pub(super) snapshot_bytes: u64,
    pub(super) backlog: Backlog,
    pub(super) damaged: Vec<Damaged>,
}

impl<D: Disk> Book<D> {
    /// Recovers what is on `disk` and continues from there. Records are handed to `replay` in the order in which they
    /// were appended, some of them more than once; the last one about a thing counts, and which that is its owner knows.
    pub fn open(
        disk: D,
        options: BookOptions,
        mut replay: impl FnMut(&[u8]),
    ) -> Result<(Book<D>, BookReport), Error> {
        recover::recover(disk, options, &mut replay)
    }

    /// Adds a record of at most 16 MiB, in memory. It is safe when a [`sync`](Book::sync) after it has returned.
    pub fn append(&mut self, record: &[u8]) {
        self.pending.push(record);
    }

    /// What was appended and is not on disk, in bytes.
    pub fn pending_bytes(&self) -> usize {
        self.pending.len()
    }

    /// Puts all that was appended on disk. Costs nothing if there is nothing.
    ///
    /// After an error it is kept, and the next sync writes it again, to a new log, since nobody knows what the old one
    /// ends in. So no error is fatal, and the first `Ok` says that everything is there. When more than 64 MiB are
    /// kept they are dropped; then a snapshot is due, and only when that is finished everything is there.
    pub fn sync(&mut self) -> Result<(), Error> {
        let flushed = self.flush();
        if flushed.is_err() && self.pending.len() > MAX_PENDING_BYTES {
            self.pending.clear();
            self.backlog.faults += 1;
        }
        flushed
    }

    /// Whether a snapshot is due: the logs have outgrown the last one, or something is safe in memory only. Says so
    /// until one is finished. On a full disk that may take a while, so pause between attempts.
    pub fn wants_snapshot(&self) -> bool {
        let Backlog { logs, log_bytes, faults } = self.backlog;
        let is_long = log_bytes > self.options.min_log_bytes.max(self.snapshot_bytes.saturating_mul(2));
        is_long || logs > MAX_LOGS || faults > 0
    }

    /// Starts a snapshot, and a new log with it. Write everything that counts to it, in any order, each record as it is
    /// at that moment. Go on appending and syncing meanwhile: those records are read after the snapshot. One at a time.
    pub fn begin_snapshot(&mut self) -> Result<Snapshot<D>, Error> {
        // What was appended before is older than the snapshot, and must not be read after it.
        self.flush()?;
        let sealed = self.log.take().map_or(Ok(()), |mut log| log.write_end());
        self.generation += 1;
        sealed?;
        Snapshot::create(&self.disk, &self.header(Kind::Snapshot), self.backlog)
    }

    /// Makes the snapshot durable and then clears away what it replaces: older generations are deleted, and damaged
    /// files among them renamed. If that fails the snapshot counts all the same, and the next one, or the next start,
    /// clears away the rest.
    pub fn finish_snapshot(&mut self, snapshot: Snapshot<D>) -> Result<(), Error> {
        let published = snapshot.publish()?;
        self.snapshot_bytes = published.bytes;
        self.backlog = self.backlog.less(published.covers);
        self.clear_before(published.generation)
    }

    fn flush(&mut self) -> Result<(), Error> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let flushed = self.try_flush();
        match flushed {
            Ok(()) => self.pending.clear(),
            Err(_) => {
                self.log = None;
                self.generation += 1;
            }
        }
        flushed
    }

    fn try_flush(&mut self) -> Result<(), Error> {
        let header = self.header(Kind::Log);
        let log = match &mut self.log {
            Some(log) => log,
            none => {
                let mut log = NewFile::create(&self.disk, &header)?;
                // It is there from here on, whatever comes of it.
                self.backlog.logs += 1;
                log.publish()?;
                self.backlog.log_bytes += log.bytes();
                none.insert(log)
            }
        };
        let before = log.bytes();
        log.write(&mut self.pending)?;
        self.backlog.log_bytes += log.bytes() - before;
        log.sync()
    }

    fn header(&self, kind: Kind) -> Header {
        Header {
            name: FileName { series: Series::Book, generation: self.generation, kind },
            salt: self.options.salt,
        }
    }

    fn clear_before(&mut self, generation: u64) -> Result<(), Error> {
        for file in self.disk.list().map_err(Error::at(&self.disk, "list", &""))? {
            let Some(name) = Series::Book.parse(&file).filter(|name| name.generation < generation) else {
                continue;
            };
            match self.damaged.iter().find(|damaged| damaged.name == name) {
                Some(damaged) => self
                    .disk
                    .rename(&file, &damaged.kept_as)
                    .map_err(Error::at(&self.disk, "rename", &file))?,
                None => self.disk.remove(&file).map_err(Error::at(&self.disk, "delete", &file))?,
            }
        }
        Ok(())
    }
}
