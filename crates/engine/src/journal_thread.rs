//! The thread that waits for the disk, as the engine sees it: what it was sent, and how quick the disk is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};

use tidegate_limiter::Clock;
use tidegate_store::disk::Disk;

use crate::engine::{Chores, Job, JobDone};
use crate::thread::fatal;

/// What the thread is sent.
pub(crate) enum Errand<D: Disk> {
    /// A job, and then its chores.
    Job(Job<D>),
    /// The chores of a job that was run elsewhere.
    Chores(Chores<D>),
}

/// The way to the thread, which ends when this does.
pub(crate) struct JournalThread<D: Disk> {
    errands: Sender<Errand<D>>,
    known: Arc<Known>,
}

/// What both sides know.
struct Known {
    clock: Clock,
    /// How many errands the thread is not done with.
    errands: AtomicU32,
    last_job_ns: AtomicU64,
}

impl<D: Disk> JournalThread<D> {
    /// Starts it. Each job that it has run is handed to `done`, before its chores.
    pub fn start(
        clock: Clock,
        done: impl Fn(JobDone<D>) + Send + 'static,
    ) -> std::io::Result<JournalThread<D>> {
        let known = Arc::new(Known { clock, errands: AtomicU32::new(0), last_job_ns: AtomicU64::new(0) });
        let ((errands, waiting), told) = (channel(), known.clone());
        std::thread::Builder::new().name("journal".to_owned()).spawn(move || {
            while let Ok(errand) = waiting.recv() {
                let chores = match errand {
                    Errand::Chores(chores) => chores,
                    Errand::Job(job) => {
                        let finished = told.run(job);
                        let chores = finished.chores();
                        done(finished);
                        chores
                    }
                };
                if let Err(error) = chores.run() {
                    fatal(&format!("the disk did not confirm what was tidied up: {error}"));
                }
                told.errands.fetch_sub(1, Ordering::Release);
            }
        })?;
        Ok(JournalThread { errands, known })
    }

    /// Sends it something to do.
    pub fn send(&self, errand: Errand<D>) {
        self.known.errands.fetch_add(1, Ordering::Relaxed);
        if self.errands.send(errand).is_err() {
            fatal("the thread that writes the journal is gone");
        }
    }

    /// Runs a job on the caller's thread: the one that sends, while the other [is idle](JournalThread::is_idle), since
    /// the journal is written by one thread at a time.
    pub fn run_here(&self, job: Job<D>) -> JobDone<D> {
        debug_assert!(self.is_idle(), "two threads write the journal");
        self.known.run(job)
    }

    /// Whether it is done with all that it was sent.
    pub fn is_idle(&self) -> bool {
        self.known.errands.load(Ordering::Acquire) == 0
    }

    /// How long the last job took, whoever ran it.
    pub fn last_job_ns(&self) -> u64 {
        self.known.last_job_ns.load(Ordering::Relaxed)
    }
}

impl Known {
    fn run<D: Disk>(&self, job: Job<D>) -> JobDone<D> {
        let began = self.clock.now();
        let done = job.run();
        self.last_job_ns.store(self.clock.now().saturating_sub(began), Ordering::Relaxed);
        done
    }
}
