//! The data directory: created if need be, and held by one process at a time.
//!
//! Invariant: while a [`DataDir`] or anything that was opened in it lives, the lock is held. The system frees
//! it when the process ends, however it ends, so there is no stale lock to clean up.

use crate::Error;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The file that carries the lock. It stays empty.
const LOCK: &str = "lock";

/// Only the user of the server: the files hold the secret that keys are hashed with.
const DIR_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// An open, locked data directory. Clones share the lock.
#[derive(Clone, Debug)]
pub struct DataDir {
    held: Arc<Held>,
}

#[derive(Debug)]
struct Held {
    path: PathBuf,
    /// The directory itself, to sync its entries.
    entries: File,
    /// Locked until dropped.
    _lock: File,
}

/// One entry of the directory.
pub(crate) struct Entry {
    pub name: String,
    pub is_file: bool,
}

impl DataDir {
    /// Opens `path`, creating it for this user alone if it does not exist, and locks it.
    pub fn open(path: &Path) -> Result<DataDir, Error> {
        create(path)?;
        let lock_path = path.join(LOCK);
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(FILE_MODE)
            .open(&lock_path)
            .map_err(Error::io("open", &lock_path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Error::InUse { path: path.to_owned() }),
            Err(TryLockError::Error(reason)) => return Err(Error::io("lock", &lock_path)(reason)),
        }
        let entries = File::open(path).map_err(Error::io("open", path))?;
        Ok(DataDir { held: Arc::new(Held { path: path.to_owned(), entries, _lock: lock }) })
    }

    /// Where it is, as it was given.
    pub fn path(&self) -> &Path {
        &self.held.path
    }

    /// The path of `name` in this directory.
    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.held.path.join(name)
    }

    /// What is in the directory. A name that is not UTF-8 is none of ours, and is left out.
    pub(crate) fn entries(&self) -> Result<Vec<Entry>, Error> {
        let path = self.path();
        let mut entries = Vec::new();
        for entry in fs::read_dir(path).map_err(Error::io("list", path))? {
            let entry = entry.map_err(Error::io("list", path))?;
            let kind = entry.file_type().map_err(Error::io("look at", &entry.path()))?;
            if let Ok(name) = entry.file_name().into_string() {
                entries.push(Entry { name, is_file: kind.is_file() });
            }
        }
        Ok(entries)
    }

    /// Creates the file `name` for writing, or empties it.
    pub(crate) fn create_file(&self, name: &str) -> Result<File, Error> {
        let path = self.join(name);
        OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(FILE_MODE)
            .open(&path)
            .map_err(Error::io("create", &path))
    }

    /// Gives the file another name, in place of whatever has that name.
    pub(crate) fn rename(&self, rename: Rename<'_>) -> Result<(), Error> {
        let from = self.join(rename.from);
        fs::rename(&from, self.join(rename.to)).map_err(Error::io("rename", &from))
    }

    /// Deletes the file `name`.
    pub(crate) fn remove(&self, name: &str) -> Result<(), Error> {
        let path = self.join(name);
        fs::remove_file(&path).map_err(Error::io("delete", &path))
    }

    /// Makes every creation, rename and removal so far durable.
    pub(crate) fn sync(&self) -> Result<(), Error> {
        self.held.entries.sync_all().map_err(Error::io("sync", self.path()))
    }
}

/// A change of name.
pub(crate) struct Rename<'a> {
    pub from: &'a str,
    pub to: &'a str,
}

/// Creates the directory unless it is there, and makes its own entry durable.
fn create(path: &Path) -> Result<(), Error> {
    if path.is_dir() {
        return Ok(());
    }
    let in_context = Error::io("create the data directory", path);
    let create = || {
        DirBuilder::new().recursive(true).mode(DIR_MODE).create(path)?;
        match path.canonicalize()?.parent() {
            Some(parent) => File::open(parent)?.sync_all(),
            None => Ok(()),
        }
    };
    create().map_err(in_context)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_new_directory_belongs_to_its_user_alone() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("a/b");
        let _dir = DataDir::open(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, DIR_MODE);
        assert_eq!(fs::metadata(path.join(LOCK)).unwrap().permissions().mode() & 0o777, FILE_MODE);
    }

    #[test]
    fn a_second_opener_is_refused_by_name_until_the_first_is_gone() {
        let temp = tempfile::tempdir().unwrap();
        let first = DataDir::open(temp.path()).unwrap();
        let clone = first.clone();
        drop(first);
        let refusal = DataDir::open(temp.path()).unwrap_err();
        assert!(matches!(&refusal, Error::InUse { .. }));
        let said = refusal.to_string();
        assert!(said.contains(temp.path().to_str().unwrap()), "{said}");
        drop(clone);
        DataDir::open(temp.path()).unwrap();
    }

    #[test]
    fn a_path_that_is_a_file_is_a_clear_error() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("file");
        fs::write(&path, "mine").unwrap();
        let error = DataDir::open(&path).unwrap_err();
        let said = error.to_string();
        assert!(said.contains(path.to_str().unwrap()), "{said}");
        assert!(error.hint().contains("directory"), "{}", error.hint());
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    }
}
