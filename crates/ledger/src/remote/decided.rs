//! Waiting for what is undecided.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::ledger::Ledger;

use super::want::{AccountKey, Undecided};

/// Ready as soon as all that was missing has been loaded or drawn, or could not be.
pub struct Decided {
    ledger: Arc<Ledger>,
    missing: Vec<AccountKey>,
}

impl Ledger {
    /// Waits until it makes sense to ask again.
    pub fn decided(self: &Arc<Self>, undecided: Undecided) -> Decided {
        Decided { ledger: Arc::clone(self), missing: undecided.missing }
    }
}

impl Future for Decided {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        loop {
            let Decided { ledger, missing } = &mut *self;
            let (Some(key), Some(remote)) = (missing.last(), &ledger.remote) else { return Poll::Ready(()) };
            // First the waker, then the look: whoever ends the wait clears the flag before waking.
            remote.waiting.lock().entry(key.clone()).or_default().push(context.waker().clone());
            if ledger.is_open(key) {
                return Poll::Pending;
            }
            missing.pop();
        }
    }
}
