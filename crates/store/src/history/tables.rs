//! The tables of the database.

use redb::{Database, Error, ReadableDatabase, TableDefinition};

/// The format written by this server, and the newest one that it reads.
pub const VERSION: u32 = 1;

/// Net amount, and events.
pub(super) type UsageValue = (i64, u64);
/// By [key](super::key).
pub(super) type UsageTable = TableDefinition<'static, &'static [u8], UsageValue>;

pub(super) const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
pub(super) const MINUTES: UsageTable = TableDefinition::new("minutes");
pub(super) const HOURS: UsageTable = TableDefinition::new("hours");
pub(super) const DAYS: UsageTable = TableDefinition::new("days");
pub(super) const MONTHS: UsageTable = TableDefinition::new("months");
/// By namespace: the quarter of an hour that is being summed up, and the bucket up to which it is.
pub(super) const ROLLED: TableDefinition<'_, &str, (u32, &[u8])> = TableDefinition::new("rolled");
/// By namespace and number: when, about what, and JSON.
pub(super) const AUDIT: TableDefinition<'_, (&str, u64), (u64, &str, &[u8])> = TableDefinition::new("audit");
/// Namespace, subject, number.
pub(super) const AUDIT_SUBJECTS: TableDefinition<'_, (&str, &str, u64), ()> =
    TableDefinition::new("audit_subjects");

const META_VERSION: &str = "version";
/// The number of the next event.
pub(super) const META_NEXT_AUDIT: &str = "next_audit";

/// The newest minute that was added. A history of before has none until one is.
pub(super) const META_NEWEST_MINUTE: &str = "newest_minute";

/// Makes the tables of a new database, in one transaction.
pub(super) fn create(database: &Database) -> Result<(), Error> {
    let transaction = database.begin_write()?;
    {
        let mut meta = transaction.open_table(META)?;
        meta.insert(META_VERSION, u64::from(VERSION))?;
        meta.insert(META_NEXT_AUDIT, 1)?;
        for table in [MINUTES, HOURS, DAYS, MONTHS] {
            transaction.open_table(table)?;
        }
        transaction.open_table(ROLLED)?;
        transaction.open_table(AUDIT)?;
        transaction.open_table(AUDIT_SUBJECTS)?;
    }
    Ok(transaction.commit()?)
}

/// The newest minute that was added.
pub(super) fn newest_minute(database: &Database) -> Result<Option<u32>, Error> {
    let meta = database.begin_read()?.open_table(META)?;
    Ok(meta.get(META_NEWEST_MINUTE)?.and_then(|minute| u32::try_from(minute.value()).ok()))
}

/// The version that the database says it has.
pub(super) fn version(database: &Database) -> Result<u32, Error> {
    let meta = database.begin_read()?.open_table(META)?;
    Ok(meta.get(META_VERSION)?.map_or(0, |version| u32::try_from(version.value()).unwrap_or(u32::MAX)))
}
