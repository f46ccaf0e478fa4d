//! Who may produce and who may consume, so that consumers ask only for what is there and producers do not run away.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Counts of one load, shared by its threads.
pub struct Window {
    counts: Mutex<Counts>,
    /// More may be sent.
    room: Condvar,
    /// There is something to consume.
    goods: Condvar,
    bounds: Bounds,
    start: Instant,
}

/// How many messages may be produced and not acknowledged: a few at first, and one more for each that was acknowledged, so
/// that a slow server is not left with a backlog that takes longer than the load itself.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// At first.
    pub first: usize,
    /// At most.
    pub most: usize,
}

#[derive(Default)]
struct Counts {
    /// Sent, confirmed or not.
    sent: usize,
    /// Confirmed to a producer.
    produced: usize,
    /// Promised to a consumer, which may have received them.
    claimed: usize,
    acked: usize,
    producers: usize,
    last_ack: Duration,
    failed: bool,
}

impl Counts {
    /// Whether all is consumed and nothing more will come.
    fn is_over(&self) -> bool {
        self.producers == 0 && self.acked == self.produced
    }
}

impl Window {
    /// For so many producers.
    pub fn new(producers: usize, bounds: Bounds) -> Window {
        let counts = Mutex::new(Counts { producers, ..Counts::default() });
        Window { counts, room: Condvar::new(), goods: Condvar::new(), bounds, start: Instant::now() }
    }

    /// A thread that panicked has failed the load anyway.
    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_while(&self, woken: &Condvar, waits: impl Fn(&Counts) -> bool) -> MutexGuard<'_, Counts> {
        let wait = woken.wait_while(self.lock(), |counts| !counts.failed && waits(counts));
        wait.unwrap_or_else(PoisonError::into_inner)
    }

    fn wake_all(&self) {
        self.room.notify_all();
        self.goods.notify_all();
    }

    /// Waits until so many more may be sent. False when the load has failed.
    pub fn may_send(&self, count: usize) -> bool {
        let Bounds { first, most } = self.bounds;
        let is_full = |counts: &Counts| counts.sent + count > counts.acked + most.min(first + counts.acked);
        let mut counts = self.wait_while(&self.room, is_full);
        counts.sent += count;
        // Whoever is woken wakes the next one.
        if !is_full(&counts) {
            self.room.notify_one();
        }
        !counts.failed
    }

    /// So many were confirmed: one consumer more has something to do.
    pub fn produced(&self, count: usize) {
        self.lock().produced += count;
        self.goods.notify_one();
    }

    /// A producer has ended.
    pub fn producer_ended(&self) {
        self.lock().producers -= 1;
        self.wake_all();
    }

    /// Waits until there is something to consume, and promises up to so many. None when everything has been consumed.
    pub fn claim(&self, most: usize) -> Option<usize> {
        let mut counts =
            self.wait_while(&self.goods, |counts| counts.produced == counts.claimed && !counts.is_over());
        let claim = (counts.produced - counts.claimed).min(most);
        counts.claimed += claim;
        if counts.produced > counts.claimed {
            self.goods.notify_one();
        }
        (claim > 0 && !counts.failed).then_some(claim)
    }

    /// So many of a claim were acknowledged; the others are for somebody else.
    pub fn acked(&self, count: usize, claim: usize) {
        let now = self.start.elapsed();
        let mut counts = self.lock();
        counts.acked += count;
        counts.claimed -= claim - count;
        counts.last_ack = now;
        let (is_over, returns) = (counts.is_over(), count < claim);
        drop(counts);
        self.room.notify_one();
        if is_over {
            self.goods.notify_all();
        } else if returns {
            self.goods.notify_one();
        }
    }

    /// Ends the load early.
    pub fn fail(&self) {
        self.lock().failed = true;
        self.wake_all();
    }

    /// How long the load has been under way.
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Messages that were acknowledged, and when the last was.
    pub fn outcome(&self) -> (usize, Duration) {
        let counts = self.lock();
        (counts.acked, counts.last_ack)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_for_what_is_there() {
        let window = Window::new(1, Bounds { first: 300, most: 300 });
        assert!(window.may_send(100) && window.may_send(50));
        window.produced(150);
        assert_eq!(window.claim(100), Some(100));
        assert_eq!(window.claim(100), Some(50));
        // Another consumer holds ten of them: somebody else will have to ask.
        window.acked(40, 50);
        assert_eq!(window.claim(100), Some(10));
        window.acked(10, 10);
        window.acked(100, 100);
        window.producer_ended();
        assert_eq!(window.claim(100), None);
        assert_eq!(window.outcome().0, 150);
    }

    #[test]
    fn a_full_window_opens_with_an_acknowledgement() {
        let window = Window::new(1, Bounds { first: 100, most: 200 });
        assert!(window.may_send(100));
        window.produced(100);
        std::thread::scope(|scope| {
            let sender = scope.spawn(|| window.may_send(100));
            assert_eq!(window.claim(100), Some(100));
            window.acked(100, 100);
            assert!(sender.join().unwrap());
        });
        // A hundred were acknowledged: two hundred may now be under way.
        assert!(window.may_send(100));
    }

    #[test]
    fn a_failure_lets_everybody_go() {
        let window = Window::new(1, Bounds { first: 100, most: 100 });
        assert!(window.may_send(100));
        std::thread::scope(|scope| {
            let (sender, consumer) =
                (scope.spawn(|| window.may_send(100)), scope.spawn(|| window.claim(100)));
            window.fail();
            assert!(!sender.join().unwrap());
            assert_eq!(consumer.join().unwrap(), None);
        });
    }
}
