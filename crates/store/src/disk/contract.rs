//! What a disk is to the store: one flat directory of files that are read and written at offsets.
//!
//! What was written, created, renamed or removed may be lost, in part and in any order, until it is synced:
//! bytes and length of a file by [`DiskFile::sync`], names by [`Disk::sync_dir`].

use std::fmt;
use std::io;
use std::path::PathBuf;

/// One directory, and the files in it by name. Clones are the same directory.
pub trait Disk: Clone + fmt::Debug + Send + Sync + 'static {
    /// An open file.
    type File: DiskFile;

    /// Creates the file `name` to read and write, or empties it.
    fn create(&self, name: &str) -> io::Result<Self::File>;
    /// Opens the file `name` to read and write.
    fn open(&self, name: &str) -> io::Result<Self::File>;
    /// The names of all files, in no order.
    fn list(&self) -> io::Result<Vec<String>>;
    /// Deletes the file `name`. Whoever has it open goes on reading it.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Gives the file `from` the name `to`, in place of whatever has that name.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Makes every creation, rename and removal so far durable.
    fn sync_dir(&self) -> io::Result<()>;
    /// Where `name` is, for messages to people.
    fn path(&self, name: &str) -> PathBuf;
}

/// An open file. All calls are at an offset, so a file can be shared by threads.
pub trait DiskFile: fmt::Debug + Send + Sync + 'static {
    /// Fills `buffer` from the bytes at `offset`; an error if the file ends before.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;
    /// Writes all of `bytes` at `offset`. After an error some of them may have been written.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// Puts the bytes and the length on disk. After an error nobody knows what is there.
    fn sync(&self) -> io::Result<()>;
    /// How long the file is.
    fn size(&self) -> io::Result<u64>;
    /// Cuts the file, or continues it with zeros.
    fn set_size(&self, bytes: u64) -> io::Result<()>;
    /// Makes sure that the first `bytes` can be written without running out of space. The file is that long
    /// afterwards, with zeros where nothing was written.
    fn reserve(&self, bytes: u64) -> io::Result<()>;
}
