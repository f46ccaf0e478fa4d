//! The catalog on disk.

use super::change::{CatalogState, Change, OldLimits, Table};
use super::rows;
use super::tables::{self, VERSION};
use crate::Error;
use crate::database::{Database, Kind};
use crate::disk::Disk;
use std::fmt;

const KIND: Kind = Kind {
    name: "catalog.redb",
    temp: "catalog.redb.tmp",
    // The owner has everything in memory; the database needs its cache for writing only.
    cache_bytes: 4 << 20,
    create: tables::create,
    refused: |path, action, reason| Error::Catalog { action, path, reason: Box::new(reason) },
};

/// Queues, limits and settings on disk.
pub struct Catalog {
    database: Database,
}

impl Catalog {
    /// Opens the catalog on `disk`, or makes an empty one. A file that cannot be read is an error, for without it
    /// nobody knows the queues.
    pub fn open<D: Disk>(disk: &D) -> Result<Catalog, Error> {
        let database = Database::open(disk, KIND)?;
        match database.with("read", tables::version)? {
            0..=VERSION => Ok(Catalog { database }),
            version => Err(Error::Newer { path: database.path, version, known: VERSION }),
        }
    }

    /// All that is in it, but for rows.
    pub fn load(&self) -> Result<CatalogState, Error> {
        self.database.with("read", tables::load)
    }

    /// Hands over the rows of a table, in the order of their keys: namespace, key, value. They are never in memory all
    /// at once.
    pub fn load_rows(&self, table: Table, row: impl FnMut(&str, &[u8], &[u8])) -> Result<(), Error> {
        self.database.with("read", |database| rows::load(database, table, row))
    }

    /// What has to be carried over if this is a catalog of version 1: then call [`upgrade`](Catalog::upgrade).
    pub fn old(&self) -> Result<Option<OldLimits>, Error> {
        self.database.with("read", tables::old)
    }

    /// Makes a catalog of version 1 one of version 2: makes the changes, which carry over what [`old`](Catalog::old)
    /// told, and drops that. All or nothing, and on disk when this returns.
    pub fn upgrade(&self, changes: &[Change]) -> Result<(), Error> {
        self.database.with("write", |database| tables::upgrade(database, changes))
    }

    /// Counts this run, and says how many there were before. On disk when this returns.
    pub fn count_run(&self) -> Result<u64, Error> {
        self.database.with("write", tables::count_run)
    }

    /// Makes all the changes, in order, or none. They are on disk when this returns.
    pub fn commit(&self, changes: &[Change]) -> Result<(), Error> {
        if changes.is_empty() {
            return Ok(());
        }
        self.database.with("write", |database| {
            let transaction = database.begin_write()?;
            changes.iter().try_for_each(|change| tables::apply(&transaction, change))?;
            Ok(transaction.commit()?)
        })
    }
}

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalog").field("path", &self.database.path).finish_non_exhaustive()
    }
}
