//! What a connection waits for from its client, and since when.
//!
//! Marking is a store into a cell; only [`Activity::overdue`] has a timer, and it is set again when it fires rather
//! than on every request.

use std::cell::Cell;

use tokio::time::{Instant, sleep_until};

use super::patience::Patience;

/// What ran out of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overdue {
    /// The head of a request had begun and did not end.
    Head,
    /// Nothing was asked for too long.
    Idle,
}

/// The state of one connection.
#[derive(Debug)]
pub struct Activity {
    patience: Patience,
    waiting: Cell<Overdue>,
    since: Cell<Instant>,
    open: Cell<usize>,
}

impl Activity {
    /// A connection that has just been accepted.
    pub fn new(patience: Patience) -> Activity {
        Activity {
            patience,
            waiting: Cell::new(Overdue::Idle),
            since: Cell::new(Instant::now()),
            open: Cell::new(0),
        }
    }

    /// Bytes came in: if nothing was under way, a request has begun.
    pub fn bytes_arrived(&self) {
        if self.open.get() == 0 && self.waiting.get() == Overdue::Idle {
            self.request_began();
        }
    }

    /// The beginning of a request is there.
    pub fn request_began(&self) {
        self.wait_for(Overdue::Head);
    }

    /// A request was handed to the server. While one is open, nothing is expected of the client.
    pub fn request_opened(&self) {
        self.open.set(self.open.get() + 1);
    }

    /// A request was answered.
    pub fn request_closed(&self) {
        self.open.set(self.open.get() - 1);
        if self.open.get() == 0 {
            self.await_request();
        }
    }

    /// Nothing is under way: the next request may take its time to begin.
    pub fn await_request(&self) {
        self.wait_for(Overdue::Idle);
    }

    fn wait_for(&self, what: Overdue) {
        self.waiting.set(what);
        self.since.set(Instant::now());
    }

    /// Returns when the client has taken too long.
    pub async fn overdue(&self) -> Overdue {
        loop {
            let now = Instant::now();
            let deadline = self.deadline();
            if deadline.is_some_and(|deadline| deadline <= now) {
                return self.waiting.get();
            }
            // What the connection waits for may change unseen while this sleeps, so it never sleeps past the
            // shortest deadline that could be set meanwhile.
            let soonest = now + self.patience.request;
            sleep_until(deadline.map_or(soonest, |deadline| deadline.min(soonest))).await;
        }
    }

    fn deadline(&self) -> Option<Instant> {
        if self.open.get() > 0 {
            return None;
        }
        match self.waiting.get() {
            Overdue::Head => Some(self.since.get() + self.patience.request),
            Overdue::Idle => self.patience.idle.map(|idle| self.since.get() + idle),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const PATIENCE: Patience =
        Patience { request: Duration::from_secs(10), idle: Some(Duration::from_secs(60)) };

    /// What is overdue, and after how many seconds on a clock that runs only while everyone waits.
    async fn overdue_after(activity: &Activity) -> (Overdue, u64) {
        let start = Instant::now();
        let what = activity.overdue().await;
        (what, start.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_connection_is_idle() {
        assert_eq!(overdue_after(&Activity::new(PATIENCE)).await, (Overdue::Idle, 60));
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_has_begun_must_end() {
        let activity = Activity::new(PATIENCE);
        activity.bytes_arrived();
        assert_eq!(overdue_after(&activity).await, (Overdue::Head, 10));
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_begins_in_mid_sleep_is_seen_in_time() {
        let activity = Activity::new(PATIENCE);
        let begin = async {
            tokio::time::sleep(Duration::from_secs(3)).await;
            activity.bytes_arrived();
            tokio::time::sleep(Duration::from_secs(3)).await;
            // Dribbling on does not buy time.
            activity.bytes_arrived();
        };
        let (overdue, ()) = tokio::join!(overdue_after(&activity), begin);
        assert_eq!(overdue, (Overdue::Head, 13));
    }

    #[tokio::test(start_paused = true)]
    async fn an_open_request_is_not_the_clients_delay() {
        let activity = Activity::new(PATIENCE);
        activity.request_opened();
        let close = async {
            tokio::time::sleep(Duration::from_secs(600)).await;
            activity.request_closed();
        };
        let (overdue, ()) = tokio::join!(overdue_after(&activity), close);
        assert_eq!(overdue, (Overdue::Idle, 660));
    }

    #[tokio::test(start_paused = true)]
    async fn without_an_idle_timeout_only_heads_are_hurried() {
        let activity = Activity::new(Patience { idle: None, ..PATIENCE });
        let begin = async {
            tokio::time::sleep(Duration::from_secs(86_400)).await;
            activity.bytes_arrived();
        };
        let (overdue, ()) = tokio::join!(overdue_after(&activity), begin);
        assert_eq!(overdue, (Overdue::Head, 86_410));
    }
}
