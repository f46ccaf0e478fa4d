//! The database's storage on one of our disks, so that the simulator can pull the plug on it, too.

use crate::disk::DiskFile;
use redb::StorageBackend;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// One open file, as redb wants it.
#[derive(Debug)]
pub(super) struct DiskBackend<F: DiskFile> {
    file: F,
    /// Set by a sync that fails. What is on disk then nobody knows, and redb's own error does not tell it from others.
    sync_failed: Arc<AtomicBool>,
}

impl<F: DiskFile> DiskBackend<F> {
    pub fn new(file: F, sync_failed: Arc<AtomicBool>) -> DiskBackend<F> {
        DiskBackend { file, sync_failed }
    }
}

impl<F: DiskFile> StorageBackend for DiskBackend<F> {
    fn len(&self) -> io::Result<u64> {
        self.file.size()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read_at(out, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_size(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        let synced = self.file.sync();
        if synced.is_err() {
            self.sync_failed.store(true, Ordering::Release);
        }
        synced
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.file.write_at(data, offset)
    }
}
