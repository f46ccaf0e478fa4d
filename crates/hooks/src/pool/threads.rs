//! The threads and the way to them.

use std::io;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use tidegate_core::Nanos;

use super::routes::{Routes, Way};
use super::sandboxes::Sandboxes;
use super::worker::{Task, Worker};

/// A batch of calls for one queue. It hands its answers on by itself.
pub type Job = Box<dyn FnOnce(&mut Sandboxes) + Send>;

/// The threads that run scripts. Jobs that wait are bounded by whoever waits for them: each connection or engine batch
/// has one under way.
#[derive(Debug)]
pub struct Pool {
    routes: Arc<Mutex<Routes>>,
    tasks: Vec<Sender<Task>>,
    threads: Vec<JoinHandle<()>>,
    started: Instant,
}

impl Pool {
    /// Starts `threads` threads, of which the last one is for slow queues; at least two.
    pub fn new(threads: usize) -> io::Result<Self> {
        let homes = threads.max(2) - 1;
        let started = Instant::now();
        let routes = Arc::new(Mutex::new(Routes::new(homes)));
        let (tasks, inboxes): (Vec<_>, Vec<_>) = (0..=homes).map(|_| mpsc::channel()).unzip();
        let mut pool = Self { routes, tasks, threads: Vec::new(), started };
        for (number, inbox) in inboxes.into_iter().enumerate() {
            // The slow thread hands nothing on; a sender to itself would keep it from ending.
            let slow = pool.tasks.last().filter(|_| number != homes).cloned();
            let worker = Worker { number, inbox, slow, routes: Arc::clone(&pool.routes), started };
            let name = if number == homes { "hooks-slow".to_owned() } else { format!("hooks-{number}") };
            pool.threads.push(thread::Builder::new().name(name).spawn(move || worker.run())?);
        }
        Ok(pool)
    }

    /// Runs a job on the thread of its queue, after those that came before it. A job that panics is dropped, and its
    /// queue starts afresh.
    pub fn run(&self, queue_key: u64, job: Job) {
        // Sent while the table is locked: two jobs of a queue are sent in the order in which they entered.
        let mut routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner);
        let Way { thread, left } = routes.enter(queue_key, self.now());
        if let Some(left) = left {
            self.send(left, Task::Forget(queue_key));
        }
        self.send(thread, Task::Run(queue_key, job));
    }

    /// The queue is gone, or has no hooks any more: its sandbox goes after the jobs that wait.
    pub fn forget(&self, queue_key: u64) {
        let mut routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner);
        routes.forget(queue_key);
        for thread in 0..self.tasks.len() {
            self.send(thread, Task::Forget(queue_key));
        }
    }

    fn send(&self, thread: usize, task: Task) {
        // A thread ends only with the pool.
        if self.tasks[thread].send(task).is_err() {
            debug_assert!(false, "a hook thread has ended");
        }
    }

    fn now(&self) -> Nanos {
        u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// Runs what waits, and ends the threads.
impl Drop for Pool {
    fn drop(&mut self) {
        self.tasks.clear();
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                debug_assert!(false, "a hook thread has panicked");
            }
        }
    }
}
