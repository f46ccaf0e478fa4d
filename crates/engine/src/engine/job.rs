//! What is brought to disk while the engine goes on.

use std::sync::Arc;

use tidegate_store::Error;
use tidegate_store::disk::Disk;
use tidegate_store::journal::Batch;

/// Records to be written, and perhaps synced. Runs on a thread of its own.
pub struct Job<D: Disk> {
    pub(super) batch: Option<Arc<Batch<D>>>,
    /// Whether it has been written before.
    pub(super) written: bool,
    pub(super) sync: bool,
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

/// How a job went, for whoever runs the engine by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobOutcome {
    /// It is on disk as far as it has to be.
    Done,
    /// The disk takes nothing; it is tried again.
    NotWritten,
    /// Nobody knows what is on disk: the engine is [doomed](super::Engine::doomed).
    Fatal,
}

impl<D: Disk> JobDone<D> {
    /// How it went.
    pub fn outcome(&self) -> JobOutcome {
        match &self.result {
            Ok(()) => JobOutcome::Done,
            Err(Failed::Write(_)) => JobOutcome::NotWritten,
            Err(Failed::Sync(_)) => JobOutcome::Fatal,
        }
    }
}

impl<D: Disk> Job<D> {
    /// How many bytes it writes.
    pub(crate) fn bytes(&self) -> usize {
        self.batch.as_ref().map_or(0, |batch| batch.bytes())
    }

    /// Whether it does nothing but bring records to disk.
    pub(crate) fn is_plain(&self) -> bool {
        self.sync
    }

    /// Writes, and waits for the disk if it has to.
    pub fn run(self) -> JobDone<D> {
        let result = self.write();
        JobDone { job: self, result }
    }

    fn write(&self) -> Result<(), Failed> {
        let Some(batch) = &self.batch else { return Ok(()) };
        if !self.written {
            batch
                .write()
                .map_err(|error| if error.is_fatal() { Failed::Sync(error) } else { Failed::Write(error) })?;
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
