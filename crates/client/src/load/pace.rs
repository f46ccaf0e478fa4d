//! When the next batch goes out, and whether there is one.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until};

use super::{Pace, Plan, Stop};

/// How far ahead of its time a batch is waited for actively: the runtime's timers tick in milliseconds, which is
/// far too coarse for thousands of batches per second.
const SPIN: Duration = Duration::from_millis(2);

/// What is left to do, shared by all connections.
#[derive(Debug)]
pub(super) struct Budget {
    left: AtomicU64,
    end: Option<Instant>,
}

impl Budget {
    pub(super) fn new(stop: Stop, start: Instant) -> Budget {
        match stop {
            Stop::Requests(requests) => Budget { left: AtomicU64::new(requests), end: None },
            // A duration that no clock can hold is as good as none.
            Stop::After(duration) => {
                Budget { left: AtomicU64::new(u64::MAX), end: start.checked_add(duration) }
            }
        }
    }

    /// Takes up to `most` requests; 0 means that it is enough.
    pub(super) fn claim(&self, most: usize) -> usize {
        if self.end.is_some_and(|end| Instant::now() >= end) {
            return 0;
        }
        let most = most as u64;
        let take = |left: u64| Some(left - left.min(most));
        let before = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        before.map_or(0, |left| left.min(most) as usize)
    }

    /// Waits until `due`, or until time is up.
    async fn wait(&self, due: Instant) {
        let due = self.end.map_or(due, |end| due.min(end));
        if due.saturating_duration_since(Instant::now()) > SPIN {
            sleep_until(due - SPIN).await;
        }
        while Instant::now() < due {
            yield_now().await;
        }
    }
}

/// The times at which one connection of an open loop sends.
#[derive(Debug)]
pub(super) struct Schedule {
    due: Instant,
    interval: Duration,
}

impl Schedule {
    /// The schedule of connection `index`, if there is one. Connections take turns.
    pub(super) fn new(plan: &Plan, index: usize, start: Instant) -> Option<Schedule> {
        let Pace::Open { rate_per_s } = plan.pace else { return None };
        let batches = |n: usize| Duration::from_secs_f64((n * plan.pipeline) as f64 / rate_per_s as f64);
        Some(Schedule { due: start + batches(index), interval: batches(plan.connections) })
    }

    /// Waits for the time of the next batch, and says when that was.
    pub(super) async fn next(&mut self, budget: &Budget) -> Instant {
        let due = self.due;
        self.due += self.interval;
        budget.wait(due).await;
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_gives_exactly_what_it_has() {
        let budget = Budget::new(Stop::Requests(20), Instant::now());
        assert_eq!([16, 16, 16].map(|most| budget.claim(most)), [16, 4, 0]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_budget_of_time_ends() {
        let budget = Budget::new(Stop::After(Duration::from_secs(5)), Instant::now());
        assert_eq!(budget.claim(16), 16);
        // Time is up long before the batch is due: the wait ends then.
        tokio::time::advance(Duration::from_secs(5)).await;
        budget.wait(Instant::now() + Duration::from_secs(1000)).await;
        assert_eq!(budget.claim(16), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn an_open_loop_keeps_its_times_when_it_is_late() {
        let start = Instant::now();
        let pace = Pace::Open { rate_per_s: 1_000 };
        let plan = Plan { pace, connections: 2, pipeline: 10, ..Plan::default() };
        let budget = Budget::new(plan.stop, start);
        let mut second = Schedule::new(&plan, 1, start).unwrap();

        tokio::time::advance(Duration::from_millis(100)).await;
        let mut due_ms = Vec::new();
        for _ in 0..3 {
            due_ms.push((second.next(&budget).await - start).as_millis());
        }
        assert_eq!(due_ms, [10, 30, 50]);
    }
}
