//! One timer per connection, moved only when it has to be.
//!
//! A busy connection's deadline moves with every request. Re-arming a timer each time would cost more than
//! the decision, so a later deadline only is noted; when the old one fires, the timer is set to the new.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

/// See the module.
pub struct Deadline {
    due: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Deadline {
    /// No deadline.
    pub fn none() -> Deadline {
        Deadline { due: None, timer: None }
    }

    /// Due this many milliseconds from now; 0 is never.
    pub fn set(&mut self, after_ms: u64) {
        if after_ms == 0 {
            self.due = None;
            return;
        }
        let due = Instant::now() + Duration::from_millis(after_ms);
        self.due = Some(due);
        match &mut self.timer {
            Some(timer) if timer.deadline() > due => timer.as_mut().reset(due),
            Some(_) => (),
            None => self.timer = Some(Box::pin(sleep_until(due))),
        }
    }

    /// Ready once the deadline has passed.
    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            let (Some(due), Some(timer)) = (self.due, &mut self.timer) else { return Poll::Pending };
            match timer.as_mut().poll(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(()) if Instant::now() >= due => return Poll::Ready(()),
                Poll::Ready(()) => timer.as_mut().reset(due),
            }
        }
    }
}
