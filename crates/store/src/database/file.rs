//! The database file.

use super::backend::DiskBackend;
use crate::Error;
use crate::disk::{Disk, DiskFile, write_again};
use redb::DatabaseError;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What tells one database from another.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    /// The name of the file, and the one it has while it is made.
    pub name: &'static str,
    pub temp: &'static str,
    pub cache_bytes: usize,
    /// Makes the tables of a new database, in one transaction.
    pub create: fn(&redb::Database) -> Result<(), redb::Error>,
    /// What to say when the database refuses: the path, what was tried, and its reason.
    pub refused: fn(PathBuf, &'static str, redb::Error) -> Error,
}

/// An open database. Readers do not wait for one another, nor for the writer.
pub(crate) struct Database {
    state: Mutex<State>,
    reopen: Box<dyn Fn() -> Result<redb::Database, Error> + Send + Sync>,
    pub path: PathBuf,
    refused: fn(PathBuf, &'static str, redb::Error) -> Error,
    sync_failed: Arc<AtomicBool>,
}

struct State {
    database: Option<Arc<redb::Database>>,
    /// After an error redb refuses everything until it is opened again.
    is_broken: bool,
}

impl Database {
    /// Opens the database on `disk`, or makes an empty one.
    pub fn open<D: Disk>(disk: &D, kind: Kind) -> Result<Database, Error> {
        let names = disk.list().map_err(Error::at(disk, "list", &""))?;
        let sync_failed = Arc::new(AtomicBool::new(false));
        if !names.iter().any(|name| name == kind.name) {
            create(disk, kind, &sync_failed)?;
        }
        let database = first(disk, kind, &sync_failed)?;
        let (disk, flag) = (disk.clone(), sync_failed.clone());
        let path = disk.path(kind.name);
        let reopen = Box::new(move || {
            let file = disk.open(kind.name).map_err(Error::at(&disk, "open", &kind.name))?;
            let opened = start(file, kind, &flag, true);
            opened.map_err(|reason| (kind.refused)(disk.path(kind.name), "open", reason.into()))
        });
        let state = State { database: Some(Arc::new(database)), is_broken: false };
        Ok(Database { state: Mutex::new(state), reopen, path, refused: kind.refused, sync_failed })
    }

    /// Uses the database. After an error the next use opens it again.
    pub fn with<T>(
        &self,
        action: &'static str,
        act: impl FnOnce(&redb::Database) -> Result<T, redb::Error>,
    ) -> Result<T, Error> {
        self.check_sync()?;
        let database = self.current()?;
        act(&database).map_err(|reason| {
            drop(database);
            self.state.lock().unwrap_or_else(PoisonError::into_inner).is_broken = true;
            match self.check_sync() {
                Err(fatal) => fatal,
                Ok(()) => (self.refused)(self.path.clone(), action, reason),
            }
        })
    }

    fn current(&self) -> Result<Arc<redb::Database>, Error> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // Two of them must never have the file open at a time. If somebody still reads, redb refuses once more.
        if state.is_broken && state.database.as_ref().is_none_or(|database| Arc::strong_count(database) == 1)
        {
            state.database = None;
            state.database = Some(Arc::new((self.reopen)()?));
            state.is_broken = false;
        }
        Ok(state.database.clone().expect("a database that is not broken is open"))
    }

    fn check_sync(&self) -> Result<(), Error> {
        match self.sync_failed.load(Ordering::Acquire) {
            false => Ok(()),
            true => {
                Err(Error::Sync { path: self.path.clone(), reason: io::Error::other("a sync of it failed") })
            }
        }
    }
}

/// Makes an empty database under a temporary name, and gives it its own when all of it is on disk.
fn create<D: Disk>(disk: &D, kind: Kind, sync_failed: &Arc<AtomicBool>) -> Result<(), Error> {
    let in_context = |action| Error::at(disk, action, &kind.temp);
    let file = disk.create(kind.temp).map_err(in_context("create"))?;
    let made = start(file, kind, sync_failed, true).map_err(redb::Error::from);
    let made = made.and_then(|database| (kind.create)(&database));
    made.map_err(|reason| (kind.refused)(disk.path(kind.temp), "create", reason))?;
    let file = disk.open(kind.temp).map_err(in_context("open"))?;
    // The database wrote to it when it was closed, too.
    file.sync().map_err(Error::sync(disk, kind.temp))?;
    disk.rename(kind.temp, kind.name).map_err(in_context("rename"))?;
    disk.sync_dir().map_err(Error::sync(disk, kind.name))
}

/// Opens a database that an earlier process left. If that did not close it, a sync may have failed, and what is read may
/// be in memory alone: then it is written again first, all of it. A database that was closed is on disk.
fn first<D: Disk>(disk: &D, kind: Kind, sync_failed: &Arc<AtomicBool>) -> Result<redb::Database, Error> {
    let open = || disk.open(kind.name).map_err(Error::at(disk, "open", &kind.name));
    let refused = |reason: DatabaseError| (kind.refused)(disk.path(kind.name), "open", reason.into());
    match start(open()?, kind, sync_failed, false) {
        Err(DatabaseError::RepairAborted) => {
            let file = open()?;
            write_again(&file, file.size().map_err(Error::at(disk, "look at", &kind.name))?)
                .map_err(Error::at(disk, "write", &kind.name))?;
            file.sync().map_err(Error::sync(disk, kind.name))?;
            start(file, kind, sync_failed, true).map_err(refused)
        }
        opened => opened.map_err(refused),
    }
}

fn start<F: DiskFile>(
    file: F,
    kind: Kind,
    sync_failed: &Arc<AtomicBool>,
    may_repair: bool,
) -> Result<redb::Database, DatabaseError> {
    let backend = DiskBackend::new(file, sync_failed.clone());
    let mut builder = redb::Database::builder();
    builder.set_cache_size(kind.cache_bytes);
    if !may_repair {
        builder.set_repair_callback(|repair| repair.abort());
    }
    builder.create_with_backend(backend)
}

/// The first string behind `string` and all that begin with it and a zero byte: where the rows of a namespace end.
pub(crate) fn next_string(string: &str) -> String {
    format!("{string}\0")
}
