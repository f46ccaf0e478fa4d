//! The disk of the machine: a subdirectory of the data directory.

use super::contract::{Disk, DiskFile};
use crate::Error;
use crate::dir::DataDir;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::Arc;

/// Only the user of the server: messages are nobody else's business.
const DIR_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// A subdirectory of the data directory. Holds the lock of that as long as it lives.
#[derive(Clone, Debug)]
pub struct RealDisk {
    held: Arc<Held>,
}

#[derive(Debug)]
struct Held {
    _dir: DataDir,
    path: PathBuf,
    /// The directory itself, to sync its entries.
    entries: File,
}

impl RealDisk {
    /// The subdirectory `name` of `dir`, created for this user alone if it does not exist.
    pub fn open(dir: &DataDir, name: &str) -> Result<RealDisk, Error> {
        let path = dir.join(name);
        if !path.is_dir() {
            DirBuilder::new().mode(DIR_MODE).create(&path).map_err(Error::io("create", &path))?;
            dir.sync()?;
        }
        let entries = File::open(&path).map_err(Error::io("open", &path))?;
        Ok(RealDisk { held: Arc::new(Held { _dir: dir.clone(), path, entries }) })
    }
}

impl Disk for RealDisk {
    type File = RealFile;

    fn create(&self, name: &str) -> io::Result<RealFile> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true).mode(FILE_MODE);
        Ok(RealFile(options.open(self.path(name))?))
    }

    fn open(&self, name: &str) -> io::Result<RealFile> {
        Ok(RealFile(OpenOptions::new().read(true).write(true).open(self.path(name))?))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.held.path)? {
            let entry = entry?;
            // A name that is not UTF-8 is none of ours.
            if let (true, Ok(name)) = (entry.file_type()?.is_file(), entry.file_name().into_string()) {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path(name))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path(from), self.path(to))
    }

    fn sync_dir(&self) -> io::Result<()> {
        self.held.entries.sync_all()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.held.path.join(name)
    }
}

/// An open file of a [`RealDisk`].
#[derive(Debug)]
pub struct RealFile(File);

impl DiskFile for RealFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read_exact_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn set_size(&self, bytes: u64) -> io::Result<()> {
        self.0.set_len(bytes)
    }

    fn reserve(&self, bytes: u64) -> io::Result<()> {
        match fallocate(&self.0, FallocateFlags::empty(), 0, bytes) {
            // Some file systems cannot. A full disk is then noticed by the write that does not fit.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            reserved => Ok(reserved?),
        }
    }
}
