//! The database behind the catalog: opened, created whole, and opened again after a write that failed.

use super::backend::DiskBackend;
use super::change::{CatalogState, Change};
use super::tables::{self, VERSION};
use crate::Error;
use crate::disk::{Disk, DiskFile, write_again};
use redb::Database;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

const NAME: &str = "catalog.redb";
const TEMP: &str = "catalog.redb.tmp";
/// The owner has everything in memory; the database needs its cache for writing only.
const CACHE_BYTES: usize = 4 << 20;

/// Queues, limits and settings on disk.
pub struct Catalog {
    /// None after a failed write, until the next use opens it again.
    database: Mutex<Option<Database>>,
    reopen: Box<dyn Fn() -> Result<Database, Error> + Send + Sync>,
    path: PathBuf,
    sync_failed: Arc<AtomicBool>,
}

impl Catalog {
    /// Opens the catalog on `disk`, or makes an empty one. A file that cannot be read is an error, for without it
    /// nobody knows the queues.
    pub fn open<D: Disk>(disk: &D) -> Result<Catalog, Error> {
        let names = disk.list().map_err(Error::at(disk, "list", &""))?;
        let sync_failed = Arc::new(AtomicBool::new(false));
        if !names.iter().any(|name| name == NAME) {
            create(disk, &sync_failed)?;
        }
        again(disk)?;
        let (disk, flag) = (disk.clone(), sync_failed.clone());
        let path = disk.path(NAME);
        let reopen = Box::new(move || {
            let file = disk.open(NAME).map_err(Error::at(&disk, "open", &NAME))?;
            start(file, &flag).map_err(|reason| refused(disk.path(NAME), "open", reason))
        });
        let database = reopen()?;
        let catalog = Catalog { database: Mutex::new(Some(database)), reopen, path, sync_failed };
        match catalog.with("read", tables::version)? {
            0..=VERSION => Ok(catalog),
            version => Err(Error::Newer { path: catalog.path, version, known: VERSION }),
        }
    }

    /// All that is in it.
    pub fn load(&self) -> Result<CatalogState, Error> {
        self.with("read", tables::load)
    }

    /// Counts this run, and says how many there were before. On disk when this returns.
    pub fn count_run(&self) -> Result<u64, Error> {
        self.with("write", tables::count_run)
    }

    /// Makes all the changes, in order, or none. They are on disk when this returns.
    pub fn commit(&self, changes: &[Change]) -> Result<(), Error> {
        if changes.is_empty() {
            return Ok(());
        }
        self.with("write", |database| {
            let transaction = database.begin_write()?;
            changes.iter().try_for_each(|change| tables::apply(&transaction, change))?;
            Ok(transaction.commit()?)
        })
    }

    /// Uses the database. After an error it is closed, since redb then refuses everything until it is opened again.
    fn with<T>(
        &self,
        action: &'static str,
        act: impl FnOnce(&Database) -> Result<T, redb::Error>,
    ) -> Result<T, Error> {
        self.check_sync()?;
        let mut guard = self.database.lock().unwrap_or_else(PoisonError::into_inner);
        let database = match guard.take() {
            Some(database) => database,
            None => (self.reopen)()?,
        };
        match act(&database) {
            Ok(done) => {
                *guard = Some(database);
                Ok(done)
            }
            Err(reason) => {
                drop(database);
                self.check_sync()?;
                Err(refused(self.path.clone(), action, reason))
            }
        }
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

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalog").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Makes an empty database under a temporary name, and gives it its own when all of it is on disk.
fn create<D: Disk>(disk: &D, sync_failed: &Arc<AtomicBool>) -> Result<(), Error> {
    let in_context = |action| Error::at(disk, action, &TEMP);
    let file = disk.create(TEMP).map_err(in_context("create"))?;
    let made = start(file, sync_failed).and_then(|database| tables::create(&database));
    made.map_err(|reason| refused(disk.path(TEMP), "create", reason))?;
    let file = disk.open(TEMP).map_err(in_context("open"))?;
    // The database wrote to it when it was closed, too.
    file.sync().map_err(Error::sync(disk, TEMP))?;
    disk.rename(TEMP, NAME).map_err(in_context("rename"))?;
    disk.sync_dir().map_err(Error::sync(disk, NAME))
}

/// Makes sure that what is in the file is on disk, before the database builds on it.
fn again<D: Disk>(disk: &D) -> Result<(), Error> {
    let file = disk.open(NAME).map_err(Error::at(disk, "open", &NAME))?;
    write_again(&file).map_err(Error::at(disk, "write", &NAME))?;
    file.sync().map_err(Error::sync(disk, NAME))
}

fn start<F: DiskFile>(file: F, sync_failed: &Arc<AtomicBool>) -> Result<Database, redb::Error> {
    let backend = DiskBackend::new(file, sync_failed.clone());
    Ok(Database::builder().set_cache_size(CACHE_BYTES).create_with_backend(backend)?)
}

fn refused(path: PathBuf, action: &'static str, reason: redb::Error) -> Error {
    Error::Catalog { action, path, reason: Box::new(reason) }
}
