//! A book file being written: under a temporary name until it is published, and gone if it never is.

use super::block::Blocks;
use super::header::{HEADER_BYTES, Header};
use crate::Error;
use crate::disk::{Disk, DiskFile};
use crate::generations::FileName;
use std::io;

/// A book file open for writing. Everything that the book writes goes through here.
#[derive(Debug)]
pub(crate) struct NewFile<D: Disk> {
    disk: D,
    name: FileName,
    file: D::File,
    seed: u32,
    is_published: bool,
    has_failed: bool,
    /// Written to the system.
    bytes: u64,
    /// Of these, on disk for certain.
    durable_bytes: u64,
}

impl<D: Disk> NewFile<D> {
    /// Starts the file that `header` is for.
    pub fn create(disk: &D, header: &Header) -> Result<NewFile<D>, Error> {
        let name = header.name;
        let temp = name.temp();
        let file = disk.create(&temp).map_err(Error::at(disk, "create", &temp))?;
        let mut new = NewFile {
            disk: disk.clone(),
            name,
            file,
            seed: header.seed(),
            is_published: false,
            has_failed: false,
            bytes: HEADER_BYTES as u64,
            durable_bytes: 0,
        };
        new.attempt("write", |file| file.write_at(&header.encode(), 0))?;
        Ok(new)
    }

    pub fn name(&self) -> FileName {
        self.name
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes that the next sync has to wait for.
    pub fn undurable_bytes(&self) -> u64 {
        self.bytes - self.durable_bytes
    }

    /// Hands blocks to the system, so that they outlive this process, if not the machine.
    pub fn write(&mut self, blocks: &mut Blocks) -> Result<(), Error> {
        let (seed, offset) = (self.seed, self.bytes);
        let bytes = blocks.seal(seed, self.durable_bytes);
        self.attempt("write", |file| file.write_at(bytes, offset))?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Ends the file, durably. The end vouches for all that is before it, so that damage is never taken for a write
    /// that a crash cut short.
    pub fn write_end(&mut self) -> Result<(), Error> {
        self.sync()?;
        let mut end = Blocks::default();
        end.push_end();
        self.write(&mut end)?;
        self.sync()
    }

    /// Puts everything on disk. Costs nothing if it is there already.
    pub fn sync(&mut self) -> Result<(), Error> {
        if self.undurable_bytes() > 0 {
            self.attempt("sync", DiskFile::sync)?;
            self.durable_bytes = self.bytes;
        }
        Ok(())
    }

    /// Puts everything on disk and then gives the file its name, durably.
    pub fn publish(&mut self) -> Result<(), Error> {
        self.sync()?;
        let temp = self.name.temp();
        self.disk.rename(&temp, &self.name.to_string()).map_err(Error::at(&self.disk, "rename", &temp))?;
        self.is_published = true;
        self.disk.sync_dir().map_err(Error::at(&self.disk, "sync the name of", &self.name))
    }

    /// Does something to the file, unless it has failed before: then nobody knows what it ends in, and it must
    /// neither be written nor published.
    fn attempt(
        &mut self,
        action: &'static str,
        act: impl FnOnce(&D::File) -> io::Result<()>,
    ) -> Result<(), Error> {
        let result = match self.has_failed {
            true => Err(io::Error::other("an earlier write to it failed")),
            false => act(&self.file),
        };
        self.has_failed = result.is_err();
        let name = if self.is_published { self.name.to_string() } else { self.name.temp() };
        result.map_err(Error::at(&self.disk, action, &name))
    }
}

impl<D: Disk> Drop for NewFile<D> {
    /// A file without its name is of no use, and on a full disk its space is.
    fn drop(&mut self) {
        if !self.is_published {
            // If it cannot be removed now, the next recovery tries again and says why it cannot.
            self.disk.remove(&self.name.temp()).unwrap_or_default();
        }
    }
}
