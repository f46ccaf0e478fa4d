//! The log: changed keys, in the order in which they were flushed.
//!
//! Invariant: when [`Log::append`] returns `Ok`, all of its blocks are with the system and whole. After an
//! error the file may end in half a block, and must not be written again; its owner starts another.

use super::file::NewFile;
use super::header::Header;
use super::record::KeyRecord;
use crate::Error;
use crate::dir::DataDir;

/// The log that is being written.
pub(crate) struct Log {
    file: NewFile,
}

impl Log {
    /// Creates an empty log, which is on disk when this returns.
    pub fn create(dir: &DataDir, header: &Header) -> Result<Log, Error> {
        let mut file = NewFile::create(dir, header)?;
        file.publish()?;
        Ok(Log { file })
    }

    /// Adds records. They outlive the process from now on, and the machine from the next sync.
    pub fn append(&mut self, records: &[KeyRecord], now_ns: u64) -> Result<(), Error> {
        self.file.write(records, now_ns)?;
        self.file.flush()
    }

    /// Puts what was appended on disk. Costs nothing if it is there already.
    pub fn sync(&mut self) -> Result<(), Error> {
        if self.file.is_durable() { Ok(()) } else { self.file.sync() }
    }

    /// Ends the log, durably. The end vouches for all that is before it, so that damage to a sealed log is
    /// never taken for a write that a crash cut short.
    pub fn seal(mut self, now_ns: u64) -> Result<(), Error> {
        self.sync()?;
        self.file.write_end(now_ns);
        self.file.sync()
    }

    pub fn bytes(&self) -> u64 {
        self.file.bytes()
    }

    #[cfg(all(test, target_os = "linux"))]
    pub fn fill_the_disk(&mut self) {
        self.file.fill_the_disk();
    }
}
