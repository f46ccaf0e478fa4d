//! What is brought to disk while the engine goes on: a batch is written, after which its messages can be delivered, and
//! then perhaps synced, after which its senders are answered.

use std::sync::Arc;

use tidegate_store::Error;
use tidegate_store::disk::Disk;
use tidegate_store::journal::Batch;

/// Records to be written, and perhaps synced. Jobs are written one after the other; the next may be while one is synced.
pub struct Job<D: Disk> {
    pub(super) batch: Option<Arc<Batch<D>>>,
    /// Its number, or that of the last one before it.
    pub(super) number: u64,
    /// Whether it has been written before.
    pub(super) is_written: bool,
    pub(super) sync: bool,
}

/// A job that was written, or could not be.
pub struct Written<D: Disk> {
    pub(super) job: Job<D>,
    pub(super) result: Result<(), Error>,
}

/// The rest of a job: what was written is to be on disk.
pub struct Rest<D: Disk>(Option<Arc<Batch<D>>>);

/// A job that is on disk, or nobody knows whether it is.
pub struct Synced<D: Disk> {
    batch: Option<Arc<Batch<D>>>,
    pub(super) result: Result<(), Error>,
}

impl<D: Disk> Job<D> {
    /// Whether it was written before, and is only to be synced.
    pub fn is_written(&self) -> bool {
        self.is_written
    }

    /// How many bytes it writes, or has written.
    pub(crate) fn bytes(&self) -> usize {
        self.batch.as_ref().map_or(0, |batch| batch.bytes())
    }

    /// Whether all that is left to write are a few bytes, of a file that is there: it takes no time to speak of.
    pub(crate) fn is_quick(&self, few_bytes: usize) -> bool {
        let is_plain = || self.batch.as_ref().is_none_or(|batch| batch.is_plain());
        self.is_written || self.bytes() <= few_bytes && is_plain()
    }

    /// Writes.
    pub fn write(self) -> Written<D> {
        let result = match &self.batch {
            Some(batch) if !self.is_written => batch.write(),
            _ => Ok(()),
        };
        Written { job: self, result }
    }
}

impl<D: Disk> Written<D> {
    /// Whether it is written. If not, it is tried again.
    pub fn is_written(&self) -> bool {
        self.result.is_ok()
    }

    /// What is left to do of it.
    pub fn rest(&self) -> Option<Rest<D>> {
        (self.is_written() && self.job.sync).then(|| Rest(self.job.batch.clone()))
    }
}

impl<D: Disk> Rest<D> {
    /// Waits for the disk.
    pub fn run(self) -> Synced<D> {
        let result = self.0.as_ref().map_or(Ok(()), |batch| batch.sync());
        Synced { batch: self.0, result }
    }
}

impl<D: Disk> Synced<D> {
    /// What is left to do when the engine has heard of it: nobody waits for that.
    pub fn chores(&self) -> Chores<D> {
        Chores(self.batch.clone().filter(|_| self.result.is_ok()))
    }
}

/// Segments to remove, and space to reserve.
pub struct Chores<D: Disk>(Option<Arc<Batch<D>>>);

impl<D: Disk> Chores<D> {
    /// Whether there are any.
    pub(crate) fn are_due(&self) -> bool {
        self.0.as_ref().is_some_and(|batch| batch.wants_reclaim())
    }

    /// Does them. What fails is tried again with the next batch; an error is one after which only a restart tells
    /// what is on disk.
    pub fn run(self) -> Result<(), Error> {
        let Some(batch) = self.0 else { return Ok(()) };
        match batch.reclaim() {
            Err(error) if error.is_fatal() => return Err(error),
            Err(error) => tracing::warn!("the journal cannot be tidied up for now: {error}"),
            Ok(()) => {}
        }
        Ok(())
    }
}
