//! A keys file being written: under a temporary name until it is published, and gone if it never is.

use super::block::{self, Stamp};
use super::header::Header;
use super::record::KeyRecord;
use crate::Error;
use crate::dir::{DataDir, Rename};
use crate::generations::FileName;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

/// What is written at once. Enough that the cost of the call is lost in the cost of the bytes.
const BUFFER_BYTES: usize = 256 * 1024;

/// A keys file open for writing. Everything the store writes goes through here.
pub(crate) struct NewFile {
    dir: DataDir,
    name: FileName,
    file: File,
    seed: u32,
    buffer: Vec<u8>,
    is_published: bool,
    has_failed: bool,
    /// Written to the system or waiting in `buffer`.
    bytes: u64,
    /// Of these, on disk for certain.
    durable_bytes: u64,
}

impl NewFile {
    /// Starts the file that `header` is for.
    pub fn create(dir: &DataDir, header: &Header) -> Result<NewFile, Error> {
        let name = header.name;
        let file = dir.create_file(&name.temp())?;
        let mut new = NewFile {
            dir: dir.clone(),
            name,
            file,
            seed: header.seed(),
            buffer: Vec::new(),
            is_published: false,
            has_failed: false,
            bytes: 0,
            durable_bytes: 0,
        };
        new.buffer.extend_from_slice(&header.encode());
        new.bytes = new.buffer.len() as u64;
        Ok(new)
    }

    pub fn name(&self) -> FileName {
        self.name
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn is_durable(&self) -> bool {
        self.durable_bytes == self.bytes
    }

    /// Bytes that the next sync has to wait for.
    pub fn undurable_bytes(&self) -> u64 {
        self.bytes - self.durable_bytes
    }

    /// Adds records, as blocks. Some of them may stay in memory until the next [`flush`](NewFile::flush).
    pub fn write(&mut self, records: &[KeyRecord], now_ns: u64) -> Result<(), Error> {
        for records in records.chunks(block::MAX_RECORDS) {
            self.put_block(records, now_ns);
            if self.buffer.len() >= BUFFER_BYTES {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Adds the block that says that the file is whole. It stays in memory until the next flush.
    pub fn write_end(&mut self, now_ns: u64) {
        self.put_block(&[], now_ns);
    }

    fn put_block(&mut self, records: &[KeyRecord], now_ns: u64) {
        let before = self.buffer.len();
        let stamp = Stamp { now_ns, durable_bytes: self.durable_bytes };
        block::encode(records, stamp, self.seed, &mut self.buffer);
        self.bytes += (self.buffer.len() - before) as u64;
    }

    /// Hands everything to the system, so that it outlives this process, if not the machine.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.attempt("write", |file, buffer| file.write_all(buffer))?;
        self.buffer.clear();
        Ok(())
    }

    /// Puts everything on disk.
    pub fn sync(&mut self) -> Result<(), Error> {
        self.flush()?;
        self.attempt("sync", |file, _| file.sync_data())?;
        self.durable_bytes = self.bytes;
        Ok(())
    }

    /// Does something to the file, unless it has failed before: then nobody knows what it ends in, and it must
    /// neither be written nor published.
    fn attempt(
        &mut self,
        action: &'static str,
        act: impl FnOnce(&mut File, &[u8]) -> io::Result<()>,
    ) -> Result<(), Error> {
        let result = match self.has_failed {
            true => Err(io::Error::other("an earlier write to it failed")),
            false => act(&mut self.file, &self.buffer),
        };
        self.has_failed = result.is_err();
        result.map_err(|reason| Error::io(action, &self.path())(reason))
    }

    /// Puts everything on disk and then gives the file its name, durably.
    pub fn publish(&mut self) -> Result<(), Error> {
        self.sync()?;
        self.dir.rename(Rename { from: &self.name.temp(), to: &self.name.to_string() })?;
        self.is_published = true;
        self.dir.sync()
    }

    fn path(&self) -> PathBuf {
        self.dir.join(&if self.is_published { self.name.to_string() } else { self.name.temp() })
    }

    /// Lets every further write fail, as on a full disk.
    #[cfg(all(test, target_os = "linux"))]
    pub fn fill_the_disk(&mut self) {
        self.file = File::options().write(true).open("/dev/full").unwrap();
    }
}

impl Drop for NewFile {
    /// A file without its name is of no use, and on a full disk its space is.
    fn drop(&mut self) {
        if !self.is_published {
            // If it cannot be removed now, the next recovery tries again and says why it cannot.
            self.dir.remove(&self.name.temp()).unwrap_or_default();
        }
    }
}
