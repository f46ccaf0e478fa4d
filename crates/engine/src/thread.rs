//! The two threads that run the engine, and the handle that others hold.
//!
//! One thread owns the engine: it takes its inbox in one go, applies it, and sends what has been written to the
//! other, which waits for the disk. While that waits, the next operations are applied: they share the next wait.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};
use tidegate_core::Nanos;
use tidegate_limiter::Clock;

use crate::engine::{Engine, Job, JobDone, Port, Ticket, Verdict};
use crate::op::Submission;

/// What arrives at the engine.
enum Message<P: Port> {
    Submission(Submission<P::Reply, P::Sink>),
    Verdict(Ticket, Verdict),
    Committed(JobDone<P::Disk>),
}

struct Inbox<P: Port> {
    messages: Vec<Message<P>>,
    stopping: bool,
    /// Whether the engine waits, and has to be woken.
    asleep: bool,
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
        if std::mem::take(&mut inbox.asleep) {
            drop(inbox);
            self.arrived.notify_one();
        }
        Ok(())
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
            Message::Verdict(..) | Message::Committed(_) => unreachable!("what was posted comes back"),
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
}

impl<P: Port> Running<P> {
    /// Starts the threads.
    pub fn start(engine: Engine<P>, clock: Clock) -> std::io::Result<Running<P>> {
        let inbox = Inbox { messages: Vec::new(), stopping: false, asleep: false };
        let shared = Arc::new(Shared { inbox: Mutex::new(inbox), arrived: Condvar::new() });
        let (jobs, waiting) = std::sync::mpsc::channel::<Job<P::Disk>>();
        let done = shared.clone();
        std::thread::Builder::new().name("journal".to_owned()).spawn(move || {
            while let Ok(job) = waiting.recv() {
                let finished = job.run();
                let chores = finished.chores();
                // The engine outlives this thread.
                done.post(Message::Committed(finished)).ok();
                if let Err(error) = chores.run() {
                    fatal(&format!("the disk did not confirm a removal: {error}"));
                }
            }
        })?;
        let (inner, clock) = (shared.clone(), clock);
        let thread = std::thread::Builder::new().name("engine".to_owned()).spawn(move || {
            sharpen_timers();
            Loop { engine, shared: inner, clock, jobs, taken: Vec::new() }.run();
        })?;
        Ok(Running { handle: Handle { shared }, thread })
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

struct Loop<P: Port> {
    engine: Engine<P>,
    shared: Arc<Shared<P>>,
    clock: Clock,
    jobs: std::sync::mpsc::Sender<Job<P::Disk>>,
    taken: Vec<Message<P>>,
}

impl<P: Port> Loop<P> {
    fn run(mut self) {
        while self.wait() {
            let now = self.clock.now();
            for message in self.taken.drain(..) {
                match message {
                    Message::Submission(submission) => self.engine.submit(submission, now),
                    Message::Verdict(ticket, verdict) => self.engine.verdict(ticket, verdict, now),
                    Message::Committed(done) => self.engine.committed(done, now),
                }
            }
            self.turn(now);
        }
        self.wind_up();
    }

    fn turn(&mut self, now: Nanos) {
        let job = self.engine.turn(now);
        if let Some(reason) = self.engine.doomed() {
            fatal(reason);
        }
        if let Some(job) = job
            && self.jobs.send(job).is_err()
        {
            fatal("the thread that writes the journal is gone");
        }
    }

    /// Waits until there is something to do, and takes it. False when the engine is to end.
    fn wait(&mut self) -> bool {
        let mut inbox = self.shared.inbox.lock();
        loop {
            if !inbox.messages.is_empty() {
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
            for message in self.taken.drain(..) {
                if let Message::Committed(done) = message {
                    self.engine.committed(done, now);
                }
            }
            if let Some(reason) = self.engine.doomed() {
                fatal(reason);
            }
        }
    }
}

/// Ends the process: it recovers at its next start.
fn fatal(reason: &str) -> ! {
    tracing::error!("{reason}; the process ends, and recovers from its journal at the next start");
    std::process::abort()
}
