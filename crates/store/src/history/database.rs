//! The history on disk.

use super::add::{self, Minute};
use super::audit::{self, AuditEvent, AuditQuery, AuditRow};
use super::forget::{self, Retention};
use super::roll_up;
use super::tables::{self, VERSION};
use super::usage::{self, Usage, UsageQuery};
use crate::Error;
use crate::database::{Database, Kind};
use crate::disk::Disk;
use redb::{ReadableDatabase, WriteTransaction};
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

const KIND: Kind = Kind {
    name: "history.redb",
    temp: "history.redb.tmp",
    cache_bytes: 32 << 20,
    create: tables::create,
    refused: |path, action, reason| Error::History { action, path, reason: Box::new(reason) },
};

/// Usage and audit on disk.
pub struct History {
    database: Database,
    /// How often minutes began to be handed over, and were: odd while they are.
    turns: AtomicU64,
}

/// Minutes are being handed over, until this is dropped.
#[must_use = "what is handed over is in neither place, until this is dropped"]
pub struct Turn<'a>(&'a AtomicU64);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl History {
    /// Opens the history on `disk`, or makes an empty one. A file that is no history is set aside, for the server can do
    /// without; then there is a line for its log.
    pub fn open<D: Disk>(disk: &D) -> Result<(History, Vec<String>), Error> {
        let (database, lines) = match try_open(disk) {
            Err(Error::History { reason, .. }) if !is_io(&reason) => {
                let line = set_aside(disk, &reason)?;
                (try_open(disk)?, vec![line])
            }
            opened => (opened?, Vec::new()),
        };
        match database.with("read", tables::version)? {
            0..=VERSION => Ok((History { database, turns: AtomicU64::new(0) }, lines)),
            version => Err(Error::Newer { path: database.path, version, known: VERSION }),
        }
    }

    /// Minutes begin to be handed over: whoever adds up what is here and what is not yet looks at [`turns`] for it.
    ///
    /// [`turns`]: History::turns
    pub fn begin_turn(&self) -> Turn<'_> {
        self.turns.fetch_add(1, Ordering::SeqCst);
        Turn(&self.turns)
    }

    /// Changes whenever minutes are handed over, and is odd while they are: two reads of two places between which it
    /// stayed the same, and even, have missed no minute and counted none twice.
    pub fn turns(&self) -> u64 {
        self.turns.load(Ordering::SeqCst)
    }

    /// Adds minutes that have passed, and events. All of it is on disk when this returns, or nothing is added. A
    /// minute of a bucket that was added before is ignored. Cheapest with all the minutes that there are in one call.
    pub fn add(&self, minutes: &[Minute<'_>], audit: &[AuditRow<'_>]) -> Result<(), Error> {
        if minutes.is_empty() && audit.is_empty() {
            return Ok(());
        }
        self.write(|transaction| {
            if !minutes.is_empty() {
                add::add(transaction, minutes)?;
                add::note_newest(transaction, minutes)?;
            }
            audit::add(transaction, audit)?;
            Ok(1)
        })?;
        Ok(())
    }

    /// The newest minute that was added: it has passed, whatever the wall says.
    pub fn newest_minute(&self) -> Result<Option<u32>, Error> {
        self.database.with("read", tables::newest_minute)
    }

    /// What was used.
    pub fn usage(&self, query: &UsageQuery<'_>) -> Result<Usage, Error> {
        self.database.with("read", |database| usage::usage(&database.begin_read()?, query))
    }

    /// Who changed what, newest first.
    pub fn audit(&self, query: &AuditQuery<'_>) -> Result<Vec<AuditEvent>, Error> {
        self.database.with("read", |database| audit::audit(&database.begin_read()?, query))
    }

    /// Housekeeping, to be called every minute or so: brings the sums of hours, days and months up to date, and forgets
    /// what is past its time. Looks at some `budget_rows` rows, and says whether there is more to do.
    pub fn forget(&self, retention: &Retention, now_ms: u64, budget_rows: usize) -> Result<bool, Error> {
        let now = u32::try_from(now_ms / 60_000).unwrap_or(u32::MAX);
        let taken = self.write(|transaction| {
            let taken = roll_up::roll_up(transaction, now, budget_rows)?.min(budget_rows);
            Ok(taken + forget::forget(transaction, retention, now_ms, budget_rows - taken)?)
        })?;
        Ok(taken >= budget_rows)
    }

    /// Forgets all of a namespace, at most `budget_rows` rows, and says whether there is more to do.
    pub fn forget_namespace(&self, namespace: &str, budget_rows: usize) -> Result<bool, Error> {
        let taken =
            self.write(|transaction| forget::forget_namespace(transaction, namespace, budget_rows))?;
        Ok(taken >= budget_rows)
    }

    /// Makes a change that says how many rows it is about; none is no change.
    fn write(
        &self,
        act: impl FnOnce(&WriteTransaction) -> Result<usize, redb::Error>,
    ) -> Result<usize, Error> {
        self.database.with("write", |database| {
            let mut transaction = database.begin_write()?;
            // Costs a second sync, and spares reading all of a large file when a crash is followed by a start.
            transaction.set_quick_repair(true);
            let rows = act(&transaction)?;
            match rows {
                0 => transaction.abort()?,
                _ => transaction.commit()?,
            }
            Ok(rows)
        })
    }
}

impl fmt::Debug for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("History").field("path", &self.database.path).finish_non_exhaustive()
    }
}

fn try_open<D: Disk>(disk: &D) -> Result<Database, Error> {
    let database = Database::open(disk, KIND)?;
    database.with("read", tables::version)?;
    Ok(database)
}

/// Whether the system is to blame, and not what is in the file.
fn is_io(reason: &redb::Error) -> bool {
    match reason {
        redb::Error::Io(reason) => reason.kind() != io::ErrorKind::InvalidData,
        redb::Error::PreviousIo => true,
        _ => false,
    }
}

fn set_aside<D: Disk>(disk: &D, reason: &redb::Error) -> Result<String, Error> {
    let taken = disk.list().map_err(Error::at(disk, "list", &""))?;
    let mut names = (1u32..).map(|n| format!("{}.corrupt-{n}", KIND.name));
    let kept_as = names.find(|name| !taken.contains(name)).expect("a directory holds fewer than 2^32 names");
    disk.rename(KIND.name, &kept_as).map_err(Error::at(disk, "rename", &KIND.name))?;
    disk.sync_dir().map_err(Error::sync(disk, KIND.name))?;
    Ok(format!("{} cannot be used ({reason}); it is kept as {kept_as}, and a new one begins", KIND.name))
}
