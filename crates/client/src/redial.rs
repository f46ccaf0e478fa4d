//! From one connection to the next.
//!
//! A connection is opened when a call needs it, not before: an idle client does not come back to a server that
//! closes idle connections. After a failed attempt there is a pause, in which calls fail at once with the
//! reason; the pause grows with each failure up to [`PAUSE_MAX`]. So a server that is down costs its callers
//! nothing but an error, and one that comes back is not met by every client in the same instant.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use tokio::time::timeout;

use crate::Error;
use crate::call::{Call, Inbox};
use crate::link::{CALLS_READ, Link, Target};
use crate::pipeline::{End, Pipeline};

const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(2);
const REFUSED_AT_ONCE: usize = 64;

/// Serves calls over `link` and its successors until every client is dropped.
pub(crate) async fn serve(mut link: Link, target: Target, mut inbox: Inbox) {
    let mut waiting = Vec::new();
    loop {
        let pipeline = Pipeline::new(link, &target.options);
        match pipeline.serve(&mut inbox, &mut waiting).await {
            End::ClientsGone => return,
            End::Broken => {}
        }
        match reopen(&target, &mut inbox, &mut waiting).await {
            Some(reopened) => link = reopened,
            None => return,
        }
    }
}

/// Waits for a call and opens a connection for it. The call is left in `waiting`. `None` if every client is gone.
async fn reopen(target: &Target, inbox: &mut Inbox, waiting: &mut Vec<Call>) -> Option<Link> {
    let mut backoff = Backoff::default();
    loop {
        if inbox.take(waiting, 1).await == 0 {
            return None;
        }
        let error = match Link::open(target, CALLS_READ).await {
            Ok(link) => return Some(link),
            Err(error) => unsent(error),
        };
        for call in waiting.drain(..) {
            call.fail(&error);
        }
        // The time-out is the pause, and its end is what we wait for.
        if timeout(backoff.pause(), refuse_all(inbox, &error)).await.is_ok() {
            return None;
        }
    }
}

/// Answers every call with `error`, until every client is gone.
async fn refuse_all(inbox: &mut Inbox, error: &Error) {
    let mut calls = Vec::new();
    while inbox.take(&mut calls, REFUSED_AT_ONCE).await > 0 {
        calls.drain(..).for_each(|call| call.fail(error));
    }
}

/// The error of an attempt to connect, as told to calls that were never sent: they were certainly not counted.
pub(crate) fn unsent(error: Error) -> Error {
    use std::io::{Error as IoError, ErrorKind};
    match error {
        Error::Timeout => IoError::new(ErrorKind::TimedOut, "the connection took too long to open").into(),
        Error::Disconnected => {
            IoError::new(ErrorKind::ConnectionReset, "the connection was closed as soon as it was opened")
                .into()
        }
        Error::Io(_) | Error::Refused { .. } | Error::Protocol { .. } => error,
    }
}

/// Pauses that double, each shortened by up to a half at random so that clients spread out.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    failures: u32,
}

impl Backoff {
    pub(crate) fn pause(&mut self) -> Duration {
        let full = PAUSE_MIN.saturating_mul(1 << self.failures.min(16)).min(PAUSE_MAX);
        self.failures = self.failures.saturating_add(1);
        // The standard library's hash seeds are random enough for this, and cost no dependency.
        let random = RandomState::new().hash_one(self.failures) % 1000;
        full.mul_f64(0.5 + random as f64 / 2000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let mut backoff = Backoff::default();
        let full_ms = [50, 100, 200, 400, 800, 1600, 2000, 2000];
        for full in full_ms.map(Duration::from_millis) {
            let pause = backoff.pause();
            assert!(full / 2 <= pause && pause <= full, "{pause:?} for {full:?}");
        }
        backoff.failures = u32::MAX;
        assert!(backoff.pause() <= PAUSE_MAX);
    }
}
