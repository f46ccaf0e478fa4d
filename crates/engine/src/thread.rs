//! The threads that run the engine, and the handle that others hold.
//!
//! One thread owns the engine: it takes its inbox in one go, applies it, writes what is not much, and has the second wait
//! for the disk. While that waits, the next operations are applied: they share the next wait. A third keeps the
//! ledger, now and then.
//!
//! The engine's own thread syncs, too, if that holds up nobody: to wake the other one and to be woken takes as long as half
//! a sync. Not if a timer is near, not on a disk that was slow the last time, and not a few messages, since the next one may
//! be a message that a consumer waits for. Where they come by the hundred, those that share the next sync make up for it.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};
use tidegate_core::Nanos;
use tidegate_limiter::Clock;
use tidegate_store::disk::Disk;

use crate::engine::{Engine, Job, Port, Ticket, Verdict};
use crate::journal_thread::{Done, Errand, JournalThread};
use crate::keeper::Keeper;
use crate::op::Submission;

/// What arrives at the engine.
enum Message<P: Port> {
    Submission(Submission<P::Reply, P::Sink>),
    Verdict(Ticket, Verdict),
    Done(Done<P::Disk>),
}

struct Inbox<P: Port> {
    messages: Vec<Message<P>>,
    stopping: bool,
    /// Whether the engine waits, and has to be woken.
    asleep: bool,
    /// Somebody gave back to a limit that is waited for.
    nudged: bool,
}

struct Shared<P: Port> {
    inbox: Mutex<Inbox<P>>,
    arrived: Condvar,
}

impl<P: Port> Shared<P> {
    fn post(&self, message: Message<P>) -> Result<(), Message<P>> {
        let mut inbox = self.inbox.lock();
        if inbox.stopping && matches!(message, Message::Submission(_)) {
            return Err(message);
        }
        inbox.messages.push(message);
        self.wake(inbox);
        Ok(())
    }

    /// Has the engine look at limits that were given back to.
    fn nudge(&self) {
        let mut inbox = self.inbox.lock();
        inbox.nudged = true;
        self.wake(inbox);
    }

    fn wake(&self, mut inbox: MutexGuard<'_, Inbox<P>>) {
        if std::mem::take(&mut inbox.asleep) {
            drop(inbox);
            self.arrived.notify_one();
        }
    }
}

/// The way to a running engine. Clones lead to the same one.
pub struct Handle<P: Port> {
    shared: Arc<Shared<P>>,
}

impl<P: Port> Clone for Handle<P> {
    fn clone(&self) -> Handle<P> {
        Handle { shared: self.shared.clone() }
    }
}

impl<P: Port> Handle<P> {
    /// Sends operations. They come back if the engine has stopped.
    pub fn submit(
        &self,
        submission: Submission<P::Reply, P::Sink>,
    ) -> Result<(), Submission<P::Reply, P::Sink>> {
        self.shared.post(Message::Submission(submission)).map_err(|message| match message {
            Message::Submission(submission) => submission,
            Message::Verdict(..) | Message::Done(_) => unreachable!("what was posted comes back"),
        })
    }

    /// Answers a question of the engine.
    pub fn answer(&self, ticket: Ticket, verdict: Verdict) {
        // An engine that has stopped has no more questions.
        self.shared.post(Message::Verdict(ticket, verdict)).ok();
    }
}

/// A running engine.
pub struct Running<P: Port> {
    handle: Handle<P>,
    thread: JoinHandle<()>,
    /// Dropped when the ledger is to be written for the last time.
    keep: Sender<()>,
    keeper: JoinHandle<()>,
}

impl<P: Port> Running<P> {
    /// Starts the threads.
    pub fn start(engine: Engine<P>, keeper: Keeper<P::Disk>, clock: Clock) -> std::io::Result<Running<P>> {
        let inbox = Inbox { messages: Vec::new(), stopping: false, asleep: false, nudged: false };
        let shared = Arc::new(Shared { inbox: Mutex::new(inbox), arrived: Condvar::new() });
        let nudged = shared.clone();
        engine.ledger().on_freed(Box::new(move || nudged.nudge()));
        let (keep, kept) = channel();
        let keeper_clock = clock.clone();
        let keeper = std::thread::Builder::new()
            .name("keeper".to_owned())
            .spawn(move || keep_ledger(keeper, &keeper_clock, &kept))?;
        let done = shared.clone();
        let journal = JournalThread::start(clock.clone(), move |finished| {
            // The engine outlives that thread.
            done.post(Message::Done(finished)).ok();
        })?;
        let inner = shared.clone();
        let thread = std::thread::Builder::new().name("engine".to_owned()).spawn(move || {
            sharpen_timers();
            Loop { engine, shared: inner, clock, journal, stopping: false, taken: Vec::new() }.run();
        })?;
        Ok(Running { handle: Handle { shared }, thread, keep, keeper })
    }

    /// The way to it.
    pub fn handle(&self) -> Handle<P> {
        self.handle.clone()
    }

    /// Takes nothing more, writes what there is, and ends.
    pub fn stop(self) {
        let mut inbox = self.handle.shared.inbox.lock();
        inbox.stopping = true;
        inbox.asleep = false;
        drop(inbox);
        self.handle.shared.arrived.notify_one();
        if self.thread.join().is_err() {
            tracing::error!("the engine had panicked; what it had answered is on disk");
        }
        drop(self.keep);
        if self.keeper.join().is_err() {
            tracing::error!("the keeper of the ledger had panicked; its last changes may be lost");
        }
    }
}

/// Keeps the ledger until the engine has stopped, and writes it for the last time.
fn keep_ledger<D: Disk>(mut keeper: Keeper<D>, clock: &Clock, stopped: &Receiver<()>) {
    loop {
        let wait = keeper.next_due().saturating_sub(clock.now());
        let stop = stopped.recv_timeout(Duration::from_nanos(wait)) == Err(RecvTimeoutError::Disconnected);
        let now = clock.now();
        let kept = if stop { keeper.flush(now) } else { keeper.tick(now) };
        if let Err(error) = kept {
            fatal(&format!("the disk did not confirm what was written of the ledger: {error}"));
        }
        if stop {
            return;
        }
    }
}

/// About what it takes a thread to be woken. The last of a wait is spent looking at the clock: a limit of 5,000/s with a
/// burst of 1 loses whatever time its token waits to be taken. An operation that arrives meanwhile waits as long.
const WAKE_NS: u64 = 30_000;

/// A timer that fires 50 us late, as threads have it by default, would cost a limit of 5,000/s a fifth of its rate.
fn sharpen_timers() {
    if let Err(error) = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1)) {
        tracing::debug!(%error, "timers stay as sharp as the system has them");
    }
}

/// The engine's own thread writes no more than this.
const FEW_BYTES: usize = 256 * 1024;

/// It syncs if there are at least so many or nobody takes messages, the disk took less than this for the last sync, and nothing
/// is due within so long: a quick disk is slow at times, and who is parked at a limit is not to wait for that.
const SOME_BYTES: usize = 16 * 1024;
const QUICK_DISK_NS: u64 = 500_000;
const CALM_NS: u64 = 20_000_000;

struct Loop<P: Port> {
    engine: Engine<P>,
    shared: Arc<Shared<P>>,
    clock: Clock,
    journal: JournalThread<P::Disk>,
    stopping: bool,
    taken: Vec<Message<P>>,
}

impl<P: Port> Loop<P> {
    fn run(mut self) {
        while self.wait() {
            let now = self.clock.now();
            let mut taken = std::mem::take(&mut self.taken);
            for message in taken.drain(..) {
                match message {
                    Message::Submission(submission) => self.engine.submit(submission, now),
                    Message::Verdict(ticket, verdict) => self.engine.verdict(ticket, verdict, now),
                    Message::Done(done) => self.done(done, now),
                }
            }
            self.taken = taken;
            self.turn(now);
        }
        self.wind_up();
    }

    fn turn(&mut self, mut now: Nanos) {
        // What this thread syncs itself, when there is nothing else to do.
        let mut own = None;
        loop {
            if let Some(job) = self.engine.turn(now) {
                if !self.may_write(&job) {
                    own.take().into_iter().for_each(|rest| self.journal.send(Errand::Rest(rest)));
                    return self.journal.send(Errand::Job(job));
                }
                let may_wait = self.may_wait(&job, now);
                let written = job.write();
                let rest = written.rest();
                self.done(Done::Written(written), now);
                match rest {
                    Some(rest) if may_wait => own = Some(rest),
                    Some(rest) => self.journal.send(Errand::Rest(rest)),
                    None => {}
                }
            } else if let Some(rest) = own.take() {
                let synced = self.journal.sync_here(rest);
                let chores = synced.chores();
                now = self.clock.now();
                self.done(Done::Synced(synced), now);
                if chores.are_due() {
                    self.journal.send(Errand::Chores(chores));
                }
            } else {
                return self.check();
            }
        }
    }

    fn done(&mut self, done: Done<P::Disk>, now: Nanos) {
        match done {
            Done::Written(written) => self.engine.written(written, now),
            Done::Synced(synced) => self.engine.synced(synced),
        }
        self.check();
    }

    fn check(&self) {
        if let Some(reason) = self.engine.doomed() {
            fatal(reason);
        }
    }

    /// Whether the engine itself writes a job: it is not for long.
    fn may_write(&self, job: &Job<P::Disk>) -> bool {
        !self.stopping && job.is_quick(FEW_BYTES) && !self.journal.is_tidying()
    }

    /// Whether the engine itself waits for the disk: nobody waits for anything else meanwhile, and it is not for long.
    fn may_wait(&self, job: &Job<P::Disk>, now: Nanos) -> bool {
        self.journal.is_idle()
            && self.journal.last_sync_ns() < QUICK_DISK_NS
            && (job.bytes() >= SOME_BYTES || !self.engine.has_consumers())
            && self.engine.next_due().is_none_or(|due| due > now + CALM_NS)
    }

    /// Waits until there is something to do, and takes it. False when the engine is to end.
    fn wait(&mut self) -> bool {
        let mut inbox = self.shared.inbox.lock();
        loop {
            if !inbox.messages.is_empty() || std::mem::take(&mut inbox.nudged) {
                std::mem::swap(&mut self.taken, &mut inbox.messages);
                return true;
            }
            if inbox.stopping {
                return false;
            }
            let due = self.engine.next_due();
            let wait = due.map(|due| due.saturating_sub(self.clock.now()));
            match wait {
                Some(0) => return true,
                Some(ns) if ns <= WAKE_NS => MutexGuard::unlocked(&mut inbox, || self.watch(ns)),
                Some(ns) => {
                    inbox.asleep = true;
                    self.shared.arrived.wait_for(&mut inbox, Duration::from_nanos(ns - WAKE_NS));
                }
                None => {
                    inbox.asleep = true;
                    self.shared.arrived.wait(&mut inbox);
                }
            }
            inbox.asleep = false;
        }
    }

    /// Waits by looking at the clock: for less time than it takes to be woken.
    fn watch(&self, ns: u64) {
        let due = self.clock.now() + ns;
        while self.clock.now() < due {
            std::hint::spin_loop();
        }
    }

    /// Waits for the disk, until everything that was applied is on it.
    fn wind_up(&mut self) {
        self.stopping = true;
        self.engine.stop(self.clock.now());
        while self.engine.has_unwritten() {
            let now = self.clock.now();
            self.turn(now);
            let mut inbox = self.shared.inbox.lock();
            while inbox.messages.is_empty() {
                inbox.asleep = true;
                self.shared.arrived.wait(&mut inbox);
            }
            std::mem::swap(&mut self.taken, &mut inbox.messages);
            drop(inbox);
            for message in std::mem::take(&mut self.taken) {
                if let Message::Done(done) = message {
                    self.done(done, now);
                }
            }
        }
    }
}

/// Ends the process: it recovers at its next start.
pub(crate) fn fatal(reason: &str) -> ! {
    tracing::error!("{reason}; the process ends, and recovers from its journal at the next start");
    std::process::abort()
}
