//! Which thread runs the jobs of a queue.

use std::collections::HashMap;

use tidegate_core::Nanos;

/// A job whose scripts took longer than this in all, and longer than [`SLOW_CALL_NS`] each, is slow. One call that was
/// merely interrupted by another thread does not make a busy queue slow.
const SLOW_JOB_NS: u64 = 5_000_000;
/// Some fifty times what a hook takes.
const SLOW_CALL_NS: u64 = 100_000;
/// How long a queue stays with the slow ones after its last slow job.
const SLOW_FOR_NS: u64 = 60_000_000_000;

/// What a job's scripts took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Load {
    /// Calls of scripts.
    pub calls: u64,
    /// Time in them.
    pub wall_ns: u64,
}

impl Load {
    fn is_slow(self) -> bool {
        self.wall_ns > SLOW_JOB_NS && self.wall_ns > self.calls.saturating_mul(SLOW_CALL_NS)
    }
}

/// Where queues run. A queue changes threads only while it has no job under way, or has them handed on in order: its
/// jobs never overtake one another.
#[derive(Debug)]
pub struct Routes {
    /// Threads for queues that behave; the slow one comes after them.
    homes: usize,
    queues: HashMap<u64, Route>,
}

#[derive(Debug)]
struct Route {
    thread: usize,
    pending: usize,
    slow_until: Option<Nanos>,
    /// Forgotten while jobs were under way.
    gone: bool,
}

/// Where to send a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// The thread to run it.
    pub thread: usize,
    /// The thread that had the queue until now, and may forget it.
    pub left: Option<usize>,
}

impl Routes {
    /// For `homes` threads and a slow one.
    pub fn new(homes: usize) -> Self {
        Self { homes: homes.max(1), queues: HashMap::new() }
    }

    /// The thread of slow queues.
    pub fn slow(&self) -> usize {
        self.homes
    }

    fn home(&self, queue: u64) -> usize {
        // Keys may be counted up in steps; the high half of a product with an odd constant spreads them.
        let spread = (u128::from(queue) * 0x9E37_79B9_7F4A_7C15) ^ (u128::from(queue) << 32);
        ((spread >> 32) as u64 % self.homes as u64) as usize
    }

    /// A job comes in.
    pub fn enter(&mut self, queue: u64, now: Nanos) -> Way {
        let (home, slow) = (self.home(queue), self.slow());
        let new = Route { thread: home, pending: 0, slow_until: None, gone: false };
        let route = self.queues.entry(queue).or_insert(new);
        route.gone = false;
        let mut left = None;
        if route.pending == 0 {
            let thread = if route.slow_until.is_some_and(|until| now < until) { slow } else { home };
            left = (thread != route.thread).then_some(route.thread);
            route.thread = thread;
        }
        route.pending += 1;
        Way { thread: route.thread, left }
    }

    /// Whether `thread` hands the queue's next job on to the slow thread instead of running it.
    pub fn hands_on(&self, queue: u64, thread: usize) -> bool {
        thread != self.slow() && self.queues.get(&queue).is_some_and(|route| route.slow_until.is_some())
    }

    /// A job has run.
    pub fn leave(&mut self, queue: u64, load: Load, now: Nanos) {
        let Some(route) = self.queues.get_mut(&queue) else { return };
        route.pending = route.pending.saturating_sub(1);
        if load.is_slow() {
            route.slow_until = Some(now.saturating_add(SLOW_FOR_NS));
        }
        let past = route.slow_until.is_none_or(|until| now >= until);
        // One that is on the slow thread is kept until its way home, or its sandbox there would be too.
        if route.pending == 0 && (route.gone || past && route.thread != self.homes) {
            self.queues.remove(&queue);
        }
    }

    /// The queue is gone; what is still under way runs.
    pub fn forget(&mut self, queue: u64) {
        if let Some(route) = self.queues.get_mut(&queue) {
            route.slow_until = None;
            route.gone = true;
            if route.pending == 0 {
                self.queues.remove(&queue);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOW: Load = Load { calls: 3, wall_ns: 30_000_000 };
    const QUICK: Load = Load { calls: 100, wall_ns: 200_000 };
    /// A thousand calls of which one was interrupted.
    const INTERRUPTED: Load = Load { calls: 1000, wall_ns: 12_000_000 };

    #[test]
    fn a_queue_stays_on_its_thread_and_queues_spread() {
        let mut routes = Routes::new(4);
        let mut jobs = [0; 5];
        for queue in 0..1000 {
            let way = routes.enter(queue, 0);
            assert_eq!(way, routes.enter(queue, 1));
            jobs[way.thread] += 1;
        }
        assert_eq!(jobs[4], 0, "nobody is slow");
        assert!(jobs[..4].iter().all(|&jobs| jobs > 150), "{jobs:?}");
    }

    #[test]
    fn a_slow_queue_moves_for_a_minute() {
        let mut routes = Routes::new(1);
        assert_eq!(routes.enter(7, 0), Way { thread: 0, left: None });
        routes.leave(7, SLOW, 5);
        assert_eq!(routes.enter(7, 6), Way { thread: 1, left: Some(0) });
        routes.leave(7, QUICK, 7);
        assert_eq!(routes.enter(7, 5 + SLOW_FOR_NS), Way { thread: 0, left: Some(1) });
        routes.leave(7, QUICK, 5 + SLOW_FOR_NS);
        assert!(routes.queues.is_empty(), "nothing is kept of a queue that behaves");
    }

    #[test]
    fn jobs_that_wait_are_handed_on_in_order() {
        let mut routes = Routes::new(1);
        for _ in 0..3 {
            assert_eq!(routes.enter(7, 0).thread, 0);
        }
        routes.leave(7, SLOW, 1);
        assert!(routes.hands_on(7, 0));
        assert!(!routes.hands_on(7, 1), "the slow thread runs it");
        assert_eq!(routes.enter(7, 2).thread, 0, "behind the two that wait there");
        for now in 3..6 {
            routes.leave(7, QUICK, now);
        }
        assert_eq!(routes.enter(7, 6), Way { thread: 1, left: Some(0) });
    }

    #[test]
    fn a_busy_queue_is_not_slow() {
        assert!(SLOW.is_slow());
        assert!(!QUICK.is_slow());
        assert!(!INTERRUPTED.is_slow());
    }

    #[test]
    fn a_queue_that_is_gone_leaves_nothing() {
        let mut routes = Routes::new(1);
        routes.enter(7, 0);
        routes.leave(7, SLOW, 1);
        routes.forget(7);
        assert!(routes.queues.is_empty());
        assert_eq!(routes.enter(7, 2), Way { thread: 0, left: None });
    }
}
