//! The thread that waits for the disk, as the engine sees it: what it was sent, and how quick the disk is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};

use tidegate_limiter::Clock;
use tidegate_store::disk::Disk;

use crate::engine::{Chores, Job, Rest, Synced, Written};
use crate::thread::fatal;

/// What the thread is sent.
pub(crate) enum Errand<D: Disk> {
    /// A job, with all that is left to do of it.
    Job(Job<D>),
    /// The rest of a job that was written elsewhere.
    Rest(Rest<D>),
    /// The chores of a job that was synced elsewhere.
    Chores(Chores<D>),
}

/// What the thread tells.
pub(crate) enum Done<D: Disk> {
    Written(Written<D>),
    Synced(Synced<D>),
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
    is_tidying: AtomicBool,
    last_sync_ns: AtomicU64,
}

impl<D: Disk> JournalThread<D> {
    /// Starts it. What it has done is handed to `done`, before its chores.
    pub fn start(clock: Clock, done: impl Fn(Done<D>) + Send + 'static) -> std::io::Result<JournalThread<D>> {
        let known = Arc::new(Known {
            clock,
            errands: AtomicU32::new(0),
            is_tidying: AtomicBool::new(false),
            last_sync_ns: AtomicU64::new(0),
        });
        let ((errands, waiting), told) = (channel(), known.clone());
        std::thread::Builder::new().name("journal".to_owned()).spawn(move || {
            while let Ok(errand) = waiting.recv() {
                told.run(errand, &done);
                told.errands.fetch_sub(1, Ordering::Release);
            }
        })?;
        Ok(JournalThread { errands, known })
    }

    /// Sends it something to do.
    pub fn send(&self, errand: Errand<D>) {
        self.known.errands.fetch_add(1, Ordering::Relaxed);
        if matches!(errand, Errand::Chores(_)) {
            self.known.is_tidying.store(true, Ordering::Relaxed);
        }
        if self.errands.send(errand).is_err() {
            fatal("the thread that writes the journal is gone");
        }
    }

    /// Syncs on the caller's thread: the one that sends, while the other [is idle](JournalThread::is_idle).
    pub fn sync_here(&self, rest: Rest<D>) -> Synced<D> {
        debug_assert!(self.is_idle(), "two threads sync the journal");
        self.known.sync(rest)
    }

    /// Whether it is done with all that it was sent.
    pub fn is_idle(&self) -> bool {
        self.known.errands.load(Ordering::Acquire) == 0
    }

    /// Whether it does chores, or is about to: they may keep others from writing.
    pub fn is_tidying(&self) -> bool {
        self.known.is_tidying.load(Ordering::Acquire)
    }

    /// How long the last sync took, whoever ran it.
    pub fn last_sync_ns(&self) -> u64 {
        self.known.last_sync_ns.load(Ordering::Relaxed)
    }
}

impl Known {
    fn run<D: Disk>(&self, errand: Errand<D>, done: impl Fn(Done<D>)) {
        let rest = match errand {
            Errand::Chores(chores) => return self.tidy(chores),
            Errand::Rest(rest) => Some(rest),
            Errand::Job(job) => {
                let written = job.write();
                let rest = written.rest();
                done(Done::Written(written));
                rest
            }
        };
        if let Some(rest) = rest {
            let synced = self.sync(rest);
            let chores = synced.chores();
            self.is_tidying.store(chores.are_due(), Ordering::Release);
            done(Done::Synced(synced));
            self.tidy(chores);
        }
    }

    fn sync<D: Disk>(&self, rest: Rest<D>) -> Synced<D> {
        let began = self.clock.now();
        let synced = rest.run();
        self.last_sync_ns.store(self.clock.now().saturating_sub(began), Ordering::Relaxed);
        synced
    }

    fn tidy<D: Disk>(&self, chores: Chores<D>) {
        if let Err(error) = chores.run() {
            fatal(&format!("the disk did not confirm what was tidied up: {error}"));
        }
        self.is_tidying.store(false, Ordering::Release);
    }
}
