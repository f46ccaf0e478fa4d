//! What is brought to disk while the engine goes on.

use std::sync::Arc;

use tidegate_store::catalog::{Catalog, Change};
use tidegate_store::journal::Batch;
use tidegate_store::Error;
use tidegate_store::disk::Disk;

use crate::thread::fatal;

/// Records to be written, and perhaps synced. Runs on a thread of its own.
pub struct Job<D: Disk> {
    pub(super) batch: Option<Arc<Batch<D>>>,
    /// Whether it has been written before.
    pub(super) written: bool,
    pub(super) sync: bool,
    pub(super) catalog: Arc<Catalog>,
    /// Levels of limits, which nobody waits for.
    pub(super) changes: Vec<Change>,
}

/// A job that has run, and how it went.
pub struct JobDone<D: Disk> {
    pub(super) job: Job<D>,
    pub(super) result: Result<(), Failed>,
}

/// How a job has failed.
#[derive(Debug)]
pub(super) enum Failed {
    /// Nothing is known to be lost: it can be written again.
    Write(Error),
    /// What the disk holds is not known: only a restart tells.
    Sync(Error),
}

impl<D: Disk> Job<D> {
    /// Writes, and waits for the disk if it has to.
    pub fn run(self) -> JobDone<D> {
        let result = self.write();
        if result.is_ok()
            && !self.changes.is_empty()
            && let Err(error) = self.catalog.commit(&self.changes)
        {
            // The next flush brings newer levels.
            tracing::warn!("levels of limits are not on disk: {error}");
        }
        if result.is_ok()
            && let Some(batch) = &self.batch
            && let Err(error) = batch.reclaim()
        {
            // The next batch tries again; a sync that failed on the way fails that one, too.
            tracing::warn!("segments of the journal are not removed: {error}");
        }
        JobDone { job: self, result }
    }

    fn write(&self) -> Result<(), Failed> {
        let Some(batch) = &self.batch else { return Ok(()) };
        if !self.written {
            batch.write().map_err(|error| if error.is_fatal() { Failed::Sync(error) } else { Failed::Write(error) })?;
        }
        match self.sync {
            true => batch.sync().map_err(Failed::Sync),
            false => Ok(()),
        }
    }
}

impl<D: Disk> JobDone<D> {
    /// What is left to do when the engine has heard of the job: nobody waits for it.
    pub fn chores(&self) -> Chores<D> {
        Chores(self.job.batch.clone().filter(|_| self.result.is_ok() && self.job.sync))
    }
}

/// Segments to remove, and space to reserve.
pub struct Chores<D: Disk>(Option<Arc<Batch<D>>>);

impl<D: Disk> Chores<D> {
    /// Does them. What fails is tried again with the next batch.
    pub fn run(self) {
        let Some(batch) = self.0 else { return };
        match batch.reclaim() {
            Err(error) if error.is_fatal() => fatal(&format!("the disk did not confirm a removal: {error}")),
            Err(error) => tracing::warn!("the journal cannot be tidied up for now: {error}"),
            Ok(()) => {}
        }
    }
}
