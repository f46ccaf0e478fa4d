//! One thread of the pool.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tidegate_core::Nanos;

use super::routes::Routes;
use super::sandboxes::Sandboxes;
use super::threads::Job;

/// What a thread is asked to do.
pub enum Task {
    Run(u64, Job),
    Forget(u64),
}

pub struct Worker {
    pub number: usize,
    pub inbox: Receiver<Task>,
    /// The slow thread, if this is another one.
    pub slow: Option<Sender<Task>>,
    pub routes: Arc<Mutex<Routes>>,
    pub started: Instant,
}

impl Worker {
    /// Works until the pool is dropped.
    pub fn run(self) {
        let mut sandboxes = Sandboxes::default();
        while let Ok(task) = self.inbox.recv() {
            match task {
                Task::Run(queue, job) => self.run_or_hand_on(&mut sandboxes, queue, job),
                Task::Forget(queue) => sandboxes.forget(queue),
            }
        }
    }

    fn run_or_hand_on(&self, sandboxes: &mut Sandboxes, queue: u64, job: Job) {
        let hands_on =
            self.routes.lock().unwrap_or_else(PoisonError::into_inner).hands_on(queue, self.number);
        if let Some(slow) = self.slow.as_ref().filter(|_| hands_on) {
            sandboxes.forget(queue);
            // The slow thread ends after all that can hand on to it.
            if slow.send(Task::Run(queue, job)).is_err() {
                debug_assert!(false, "the slow hook thread has ended");
            }
            return;
        }
        // Whatever a job leaves behind when it panics is thrown away with its sandbox.
        if catch_unwind(AssertUnwindSafe(|| job(sandboxes))).is_err() {
            sandboxes.forget(queue);
        }
        let load = sandboxes.take_load(queue);
        let mut routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner);
        routes.leave(queue, load, self.now());
    }

    fn now(&self) -> Nanos {
        u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}
