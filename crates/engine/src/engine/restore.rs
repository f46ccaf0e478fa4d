//! The ledger as an earlier run left it: what users have set is in the catalog, how full things are in the book.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tidegate_core::bucket::Bucket;
use tidegate_core::ledger::name::DEFAULT_RESOURCE;
use tidegate_core::limit::Parts;
use tidegate_core::{Limit, NANOS_PER_S, Nanos};
use tidegate_ledger::{Kept, Ledger};
use tidegate_store::Error;
use tidegate_store::book::{Book, BookOptions};
use tidegate_store::catalog::{Catalog, Change, OldLimits, Table};
use tidegate_store::disk::Disk;
use tidegate_store::history::History;

use super::edit::row;
use super::keys::set_key;
use super::namespaces;
use super::state::Options;
use crate::directory::Directory;
use crate::keeper::{self, Keeper, Purged};

const MINUTE_NS: Nanos = 60 * NANOS_PER_S;

/// Rows that are handed to the ledger in one go.
const ROWS: usize = 1024;

/// The ledger, and who keeps it.
pub(super) struct Restored<D: Disk> {
    pub(super) ledger: Arc<Ledger>,
    pub(super) keeper: Keeper<D>,
    pub(super) purged: Purged,
    /// When it was written last.
    pub(super) newest: Nanos,
    /// For the log.
    pub(super) lines: Vec<String>,
}

/// Reads all of it.
pub(super) fn ledger<D: Disk>(
    disk: &D,
    catalog: &Catalog,
    directory: &Directory,
    options: &Options,
    salt: u64,
    now: Nanos,
) -> Result<Restored<D>, Error> {
    let ledger = Arc::new(Ledger::new(options.ledger.clone()));
    // What is set is in the table where that is, and comes from there when it is needed.
    if !ledger.is_remote() {
        rows(catalog, &ledger, now)?;
    }
    catalog.load_rows(Table::Namespaces, |namespace, _, value| {
        directory.set_deleted(namespace, Some(namespaces::deleted_at_ms(value)));
    })?;
    catalog.load_rows(Table::Manifests, |namespace, _, value| {
        directory.set_manifest(namespace, Some(value.to_vec()));
    })?;
    let (mut strange, mut newest) = (0, 0);
    let book_options = BookOptions { salt, ..BookOptions::default() };
    let (book, report) = Book::open(disk.clone(), book_options, |record| match keeper::time_of(record) {
        Some(time) => newest = time,
        None => strange += u64::from(!ledger.restore(record, now)),
    })?;
    let (history, said) = History::open(disk)?;
    // A minute that is in the history is over: it would not count what is used in it again.
    let over = history.newest_minute()?.map_or(0, |minute| (u64::from(minute) + 1) * MINUTE_NS);
    newest = newest.max(over);
    let mut lines = report.lines();
    lines.extend(said);
    if strange > 0 {
        lines.push(format!("{strange} records of the book mean nothing to this server, and are left out"));
    }
    let purged: Purged = Arc::new(Mutex::new(Vec::new()));
    let mut keeper =
        Keeper::new(ledger.clone(), book, Arc::new(history), purged.clone(), &options.keeper, now);
    if let Some(old) = catalog.old()? {
        upgrade(catalog, &ledger, &mut keeper, &old, now)?;
        lines.push("the catalog was of version 1, and is of version 2 now".to_owned());
    }
    Ok(Restored { ledger, keeper, purged, newest, lines })
}

/// Entities first: limits are about them.
fn rows(catalog: &Catalog, ledger: &Ledger, now: Nanos) -> Result<(), Error> {
    let mut kept: Vec<Kept> = Vec::with_capacity(ROWS);
    let mut take = |row: Option<Kept>| {
        let done = row.is_none();
        kept.extend(row);
        if done || kept.len() >= ROWS {
            if let Err(refused) = ledger.apply(&kept, now) {
                tracing::error!("some entities or limits of the catalog cannot be used: {refused}");
            }
            kept.clear();
        }
    };
    catalog.load_rows(Table::Entities, |space, id, json| {
        take(Some(Kept::Entity { space: space.to_owned(), id: id.to_vec(), json: Some(json.to_vec()) }));
    })?;
    catalog.load_rows(Table::Scopes, |space, key, json| {
        take(Some(Kept::Scope { space: space.to_owned(), key: key.to_vec(), json: Some(json.to_vec()) }));
    })?;
    take(None);
    Ok(())
}

/// Limits of version 1 were named by namespace and throttle key; now they are terms of entities. Levels go to the book
/// before the catalog forgets them: a crash in between begins again.
fn upgrade<D: Disk>(
    catalog: &Catalog,
    ledger: &Ledger,
    keeper: &mut Keeper<D>,
    old: &OldLimits,
    now: Nanos,
) -> Result<(), Error> {
    let levels: HashMap<&[u8], &[u8]> =
        old.levels.iter().map(|(name, level)| (&name[..], &level[..])).collect();
    let mut changes: Vec<Change> = Vec::new();
    for (name, rate) in &old.limits {
        let parts = Parts { burst: rate.burst, count: rate.count, period_ns: rate.period_ns.into() };
        let (Some((namespace, key)), Ok(limit)) = (split(name), Limit::new(parts)) else { continue };
        let Ok(space) = ledger.space(namespace) else { continue };
        let Ok(edit) = set_key(ledger, namespace, key, Some(limit)) else { continue };
        let Ok(plan) = ledger.plan(space, &edit, now) else { continue };
        if ledger.apply(&plan.kept, now).is_err() {
            continue;
        }
        let bucket = levels.get(&name[..]).and_then(|level| Bucket::from_bytes(level, &limit, now));
        if let (Some(bucket), Some(found)) = (bucket, ledger.key(space, key, now)) {
            // Whole tokens: what is left of one is not worth a format. An upgrade that begins again finds them taken.
            let taken = found.tokens.saturating_sub(bucket.tokens(&limit));
            ledger.decide_key(space, key, u64::try_from(taken).unwrap_or(0), now);
        }
        changes.extend(plan.kept.iter().map(row));
    }
    for (name, until) in &old.closed {
        if let Some((namespace, key)) = split(name)
            && let Ok(space) = ledger.space(namespace)
        {
            // A key that cannot be closed any more is open.
            ledger.close_until(space, key, DEFAULT_RESOURCE, *until, now).ok();
        }
    }
    keeper.write_book(now)?;
    catalog.upgrade(&changes)
}

/// Namespace and key.
fn split(name: &[u8]) -> Option<(&str, &[u8])> {
    let end = name.iter().position(|byte| *byte == 0)?;
    Some((std::str::from_utf8(&name[..end]).ok()?, &name[end + 1..]))
}
