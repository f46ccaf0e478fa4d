//! The tables of the database, and how changes get into them.

use super::change::{CatalogState, Change, OldLimits, StoredRate, Table};
use super::rows;
use crate::database::next_string;
use redb::{
    Database, Error, ReadOnlyTable, ReadTransaction, ReadableDatabase, ReadableTable, TableDefinition,
    TableError, WriteTransaction,
};
use tidegate_core::queue::QueueId;

/// The format written by this server, and the newest one that it reads.
pub const VERSION: u32 = 2;

pub(super) type Bytes = &'static [u8];

const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
const QUEUES: TableDefinition<'_, u32, Bytes> = TableDefinition::new("queues");
/// Version 1: burst, count, period in ns.
const LIMITS: TableDefinition<'_, Bytes, (u64, u64, u64)> = TableDefinition::new("limits");
const CLOSED: TableDefinition<'_, Bytes, u64> = TableDefinition::new("closed");
const LEVELS: TableDefinition<'_, Bytes, Bytes> = TableDefinition::new("levels");
/// Namespace and key.
const CONFIG: TableDefinition<'_, (&str, &str), Bytes> = TableDefinition::new("config");

const META_VERSION: &str = "version";
const META_NEXT_QUEUE: &str = "next_queue";
const META_RUNS: &str = "runs";

/// Makes the tables of a new database, in one transaction.
pub(super) fn create(database: &Database) -> Result<(), Error> {
    let transaction = database.begin_write()?;
    {
        let mut meta = transaction.open_table(META)?;
        meta.insert(META_VERSION, u64::from(VERSION))?;
        meta.insert(META_NEXT_QUEUE, 1)?;
        transaction.open_table(QUEUES)?;
        transaction.open_table(CONFIG)?;
        for table in Table::ALL {
            transaction.open_table(rows::definition(table))?;
        }
    }
    Ok(transaction.commit()?)
}

/// The version that the database says it has.
pub(super) fn version(database: &Database) -> Result<u32, Error> {
    let meta = database.begin_read()?.open_table(META)?;
    Ok(meta.get(META_VERSION)?.map_or(0, |version| u32::try_from(version.value()).unwrap_or(u32::MAX)))
}

/// Counts a run, and says how many there were before.
pub(super) fn count_run(database: &Database) -> Result<u64, Error> {
    let transaction = database.begin_write()?;
    let runs = {
        let mut meta = transaction.open_table(META)?;
        let runs = meta.get(META_RUNS)?.map_or(0, |runs| runs.value());
        meta.insert(META_RUNS, runs + 1)?;
        runs
    };
    transaction.commit()?;
    Ok(runs)
}

/// Everything but the rows.
pub(super) fn load(database: &Database) -> Result<CatalogState, Error> {
    let read = database.begin_read()?;
    let next_queue = read.open_table(META)?.get(META_NEXT_QUEUE)?.map_or(1, |next| next.value());
    Ok(CatalogState {
        queues: collect(&read, QUEUES, |id, definition| (QueueId(id), definition.to_vec()))?,
        next_queue: QueueId(u32::try_from(next_queue).unwrap_or(u32::MAX)),
        config: collect(&read, CONFIG, |(namespace, key), value| {
            (namespace.into(), key.into(), value.to_vec())
        })?,
    })
}

/// What only version 1 has, if the database is one.
pub(super) fn old(database: &Database) -> Result<Option<OldLimits>, Error> {
    match version(database)? {
        0..=1 => Ok(Some(old_limits(&database.begin_read()?)?)),
        _ => Ok(None),
    }
}

fn old_limits(read: &ReadTransaction) -> Result<OldLimits, Error> {
    let rate = |(burst, count, period_ns)| StoredRate { burst, count, period_ns };
    Ok(OldLimits {
        limits: collect(read, LIMITS, |name, stored| (name.to_vec(), rate(stored)))?,
        levels: collect(read, LEVELS, |name, level| (name.to_vec(), level.to_vec()))?,
        closed: collect(read, CLOSED, |name, until| (name.to_vec(), until))?,
    })
}

/// Makes changes, drops the tables of version 1, and says that this is the present version: all or nothing.
pub(super) fn upgrade(database: &Database, changes: &[Change]) -> Result<(), Error> {
    let transaction = database.begin_write()?;
    changes.iter().try_for_each(|change| apply(&transaction, change))?;
    for table in Table::ALL {
        transaction.open_table(rows::definition(table))?;
    }
    transaction.delete_table(LIMITS)?;
    transaction.delete_table(CLOSED)?;
    transaction.delete_table(LEVELS)?;
    transaction.open_table(META)?.insert(META_VERSION, u64::from(VERSION))?;
    Ok(transaction.commit()?)
}

/// A table, unless the database is of a version that lacks it.
pub(super) fn open<K: redb::Key + 'static, V: redb::Value + 'static>(
    read: &ReadTransaction,
    table: TableDefinition<'_, K, V>,
) -> Result<Option<ReadOnlyTable<K, V>>, Error> {
    match read.open_table(table) {
        Ok(table) => Ok(Some(table)),
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        Err(reason) => Err(reason.into()),
    }
}

fn collect<K: redb::Key + 'static, V: redb::Value + 'static, T>(
    read: &ReadTransaction,
    table: TableDefinition<'_, K, V>,
    row: impl Fn(K::SelfType<'_>, V::SelfType<'_>) -> T,
) -> Result<Vec<T>, Error> {
    let mut rows = Vec::new();
    if let Some(table) = open(read, table)? {
        for entry in table.iter()? {
            let (key, value) = entry?;
            rows.push(row(key.value(), value.value()));
        }
    }
    Ok(rows)
}

/// Makes one change in an open transaction.
pub(super) fn apply(transaction: &WriteTransaction, change: &Change) -> Result<(), Error> {
    match change {
        Change::PutQueue { id, definition } => {
            transaction.open_table(QUEUES)?.insert(id.0, &definition[..])?;
            let mut meta = transaction.open_table(META)?;
            let next = meta.get(META_NEXT_QUEUE)?.map_or(1, |next| next.value());
            meta.insert(META_NEXT_QUEUE, next.max(u64::from(id.0) + 1))?;
        }
        Change::RemoveQueue { id } => {
            transaction.open_table(QUEUES)?.remove(id.0)?;
        }
        Change::SetConfig { namespace, key, value } => {
            transaction.open_table(CONFIG)?.insert((&namespace[..], &key[..]), &value[..])?;
        }
        Change::RemoveConfig { namespace, key } => {
            transaction.open_table(CONFIG)?.remove((&namespace[..], &key[..]))?;
        }
        Change::PutRow { table, namespace, key, value } => {
            let key = (&namespace[..], &key[..]);
            transaction.open_table(rows::definition(*table))?.insert(key, &value[..])?;
        }
        Change::RemoveRow { table, namespace, key } => {
            transaction.open_table(rows::definition(*table))?.remove((&namespace[..], &key[..]))?;
        }
        Change::ClearNamespace { namespace } => {
            rows::clear(transaction, namespace)?;
            let end = next_string(namespace);
            let range = (&namespace[..], "")..(&end[..], "");
            transaction.open_table(CONFIG)?.retain_in(range, |_, _| false)?;
        }
    }
    Ok(())
}
