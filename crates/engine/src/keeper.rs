//! Keeps the ledger on disk: what has changed goes to the book every interval, minutes that have passed and the audit
//! go to the history. Leases that have run out are ended on the way.
//!
//! Nobody waits for it, so a crash forgets at most one interval, and a stop forgets nothing. A disk that takes nothing
//! stops nothing but this: the ledger is told, and says `store_unavailable` where that is wanted.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::json;
use tidegate_core::Nanos;
use tidegate_ledger::{ClosedMinute, Event, Ledger};
use tidegate_store::Error;
use tidegate_store::book::Book;
use tidegate_store::disk::Disk;
use tidegate_store::history::{AuditRow, History, Minute, Retention};

use crate::settings::NANOS_PER_MS;
use crate::trim::trim;

/// Leases that are ended in one go.
const MOST_EXPIRED: usize = 10_000;
/// Accounts that are looked at for being idle, per flush.
const SWEPT: usize = 4096;
/// Rows of the history that are forgotten in one go, and how often.
const FORGOTTEN: usize = 10_000;
const FORGET_EVERY_NS: u64 = 60_000 * NANOS_PER_MS;
/// Bytes of a long drain that are written in between.
const MANY_BYTES: usize = 8 << 20;
/// Minutes that are told to the history in one go, or wait for one that takes nothing. Each go writes most of that
/// minute's pages again, so that few large ones are cheaper.
const MANY_MINUTES: usize = 1 << 18;
/// Minutes after which what they needed is given back to the system.
const LARGE_MINUTE: usize = 1 << 16;
/// Room for minutes that is kept from one flush to the next.
const FEW_MINUTES: usize = 1 << 12;

/// See the module.
pub struct Keeper<D: Disk> {
    ledger: Arc<Ledger>,
    book: Book<D>,
    history: Arc<History>,
    retention: Retention,
    interval_ns: u64,
    flushed_at: Nanos,
    forget_at: Nanos,
    minutes: Vec<ClosedMinute>,
    events: Vec<Event>,
    /// Namespaces whose history is to be dropped.
    purged: Purged,
}

/// Namespaces that were purged, and whose history is still there.
pub type Purged = Arc<Mutex<Vec<String>>>;

/// How the ledger is kept.
#[derive(Clone, Debug)]
pub struct KeeperOptions {
    /// How often what has changed is written.
    pub interval_ms: u64,
    /// For how long usage and audit are kept.
    pub retention: Retention,
}

impl Default for KeeperOptions {
    fn default() -> KeeperOptions {
        KeeperOptions { interval_ms: 200, retention: Retention::default() }
    }
}

impl<D: Disk> Keeper<D> {
    /// A keeper of what was read from `book`.
    pub fn new(
        ledger: Arc<Ledger>,
        book: Book<D>,
        history: Arc<History>,
        purged: Purged,
        options: &KeeperOptions,
        now: Nanos,
    ) -> Keeper<D> {
        Keeper {
            ledger,
            book,
            history,
            retention: options.retention,
            interval_ns: options.interval_ms * NANOS_PER_MS,
            flushed_at: now,
            forget_at: now,
            minutes: Vec::new(),
            events: Vec::new(),
            purged,
        }
    }

    /// What was used, and who changed what.
    pub fn history(&self) -> &Arc<History> {
        &self.history
    }

    /// Ends leases that have run out, and flushes if it is time. An error is one after which only a restart tells what
    /// is on disk.
    pub fn tick(&mut self, now: Nanos) -> Result<(), Error> {
        self.ledger.expire(now, MOST_EXPIRED);
        match now >= self.flush_due() {
            true => self.flush(now),
            false => Ok(()),
        }
    }

    /// When there is something to do.
    pub fn next_due(&self) -> Nanos {
        self.flush_due().min(self.ledger.next_expiry().unwrap_or(Nanos::MAX))
    }

    fn flush_due(&self) -> Nanos {
        self.flushed_at.saturating_add(self.interval_ns)
    }

    /// Writes what has changed.
    pub fn flush(&mut self, now: Nanos) -> Result<(), Error> {
        self.flushed_at = now;
        // What was used and changed goes to the table where there is one, by whoever talks to it.
        let remote = self.ledger.is_remote();
        let told = if remote { Ok(()) } else { self.tell_history(now) };
        // Minutes first: one that is in the history already is not counted again, one that is in neither is lost. So if
        // the history takes nothing, the book stays as it is, and knows them.
        let kept = if told.is_ok() { self.write_book(now) } else { Ok(()) };
        self.ledger.sweep(now, SWEPT);
        let ok = survived("the history", told)? & survived("the book", kept)?;
        if !remote {
            self.ledger.set_available(ok);
        }
        if ok && now >= self.forget_at {
            let more = survived_or("old usage and audit", self.forget(now), false)?;
            self.forget_at = if more { now } else { now.saturating_add(FORGET_EVERY_NS) };
        }
        Ok(())
    }

    /// Writes what has changed of levels and leases. A sync that fails is made up for by the next: the book keeps what
    /// was appended.
    pub(crate) fn write_book(&mut self, now: Nanos) -> Result<(), Error> {
        let (mut result, book) = (Ok(()), &mut self.book);
        if self.ledger.has_changed() {
            book.append(&time_record(now));
        }
        self.ledger.drain(now, &mut |record| {
            book.append(record);
            if book.pending_bytes() > MANY_BYTES && result.is_ok() {
                result = book.sync();
            }
        });
        result?;
        book.sync()?;
        match book.wants_snapshot() {
            true => self.snapshot(now),
            false => Ok(()),
        }
    }

    fn snapshot(&mut self, now: Nanos) -> Result<(), Error> {
        let mut snapshot = self.book.begin_snapshot()?;
        // What changes from here on goes to the log that follows it.
        let mut result = snapshot.write(&time_record(now));
        self.ledger.read_all(now, &mut |record| {
            if result.is_ok() {
                result = snapshot.write(record);
            }
        });
        result?;
        self.book.finish_snapshot(snapshot)
    }

    /// In parts: a million entities that were used in a minute would take hundreds of megabytes at once.
    fn tell_history(&mut self, now: Nanos) -> Result<(), Error> {
        let (mut more, mut told, history) = (true, 0, self.history.clone());
        while more {
            let _turn = history.begin_turn();
            more = self.ledger.drain_some_minutes(now, MANY_MINUTES, &mut self.minutes);
            self.events.append(&mut self.ledger.drain_audit());
            told += self.minutes.len();
            self.tell_some()?;
        }
        if told >= LARGE_MINUTE {
            trim();
        }
        Ok(())
    }

    fn tell_some(&mut self) -> Result<(), Error> {
        if self.minutes.is_empty() && self.events.is_empty() {
            return Ok(());
        }
        let minutes: Vec<Minute<'_>> = self.minutes.iter().map(minute).collect();
        let told: Vec<Vec<u8>> = self.events.iter().map(document).collect();
        let rows = self.events.iter().zip(&told).map(|(event, json)| AuditRow {
            namespace: &event.space,
            at_ms: event.at_ms,
            subject: &event.subject,
            json,
        });
        let added = self.history.add(&minutes, &rows.collect::<Vec<_>>());
        // What a history does not take waits here, and the rest in the ledger, which counts on in the minutes that it has.
        if added.is_ok() {
            self.minutes.clear();
            self.minutes.shrink_to(FEW_MINUTES);
            self.events.clear();
        }
        added
    }

    /// Drops what has been kept for long enough. True if there is more.
    fn forget(&mut self, now: Nanos) -> Result<bool, Error> {
        let purged = self.purged.lock().last().cloned();
        if let Some(namespace) = purged {
            if !self.history.forget_namespace(&namespace, FORGOTTEN)? {
                self.purged.lock().retain(|other| *other != namespace);
            }
            return Ok(true);
        }
        self.history.forget(&self.retention, now / NANOS_PER_MS, FORGOTTEN)
    }
}

/// The first byte of a record that is none of the ledger's.
const TIME: u8 = 0xff;

/// When the book was written: time goes on from there, whatever the wall says.
fn time_record(now: Nanos) -> [u8; 9] {
    let mut record = [TIME; 9];
    record[1..].copy_from_slice(&now.to_le_bytes());
    record
}

/// The time that a record tells, if that is what it is.
pub(crate) fn time_of(record: &[u8]) -> Option<Nanos> {
    match record {
        [TIME, time @ ..] => Some(Nanos::from_le_bytes(time.try_into().ok()?)),
        _ => None,
    }
}

fn minute(closed: &ClosedMinute) -> Minute<'_> {
    Minute {
        namespace: &closed.space,
        entity: &closed.entity,
        resource: &closed.resource,
        limit: &closed.limit,
        minute: closed.minute,
        amount: closed.amount,
        events: closed.events,
    }
}

/// An event as it is kept and told.
fn document(event: &Event) -> Vec<u8> {
    let Event { at_ms, actor, action, subject, before, after, .. } = event;
    json!({
        "at_ms": at_ms, "actor": actor, "action": action, "subject": subject, "before": before, "after": after,
    })
    .to_string()
    .into_bytes()
}

/// Whether it went well. What only a restart can mend is an error.
fn survived(what: &str, result: Result<(), Error>) -> Result<bool, Error> {
    survived_or(what, result.map(|()| true), false)
}

fn survived_or<T>(what: &str, result: Result<T, Error>, otherwise: T) -> Result<T, Error> {
    match result {
        Ok(done) => Ok(done),
        Err(error) if error.is_fatal() => Err(error),
        Err(error) => {
            tracing::error!("{what} cannot be written: {error}; it is tried again");
            Ok(otherwise)
        }
    }
}
