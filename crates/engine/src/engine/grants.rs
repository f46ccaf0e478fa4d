//! What a delivery holds of entities' limits, and how that ends with it.

use tidegate_core::Nanos;
use tidegate_core::queue::MessageId;

#[cfg(feature = "check")]
use super::check::{Paid, Pay};
use super::port::Port;
use super::state::Engine;
use crate::op::Cost;

/// How a delivery has ended, for the limits it was paid from. Slots come back either way.
#[derive(Clone, Copy, Debug)]
pub(super) enum Spent<'a> {
    /// What it took.
    AsTaken,
    /// This much, where it says so.
    Really(&'a Cost),
    /// Nothing: it never ran.
    Nothing,
}

impl<P: Port> Engine<P> {
    /// A delivery has ended.
    pub(super) fn end_grant(&mut self, message: MessageId, spent: Spent<'_>, now: Nanos) {
        let Some(grant) = self.limits.take_grant(message) else { return };
        let ledger = self.limits.ledger();
        match spent {
            Spent::Nothing => {
                ledger.release_grant(grant, now);
                #[cfg(feature = "check")]
                self.limits.paid.push(Paid { message, at: now, pay: Pay::Undone });
            }
            Spent::Really(cost) if !cost.is_empty() => {
                let cost: Vec<(&str, u64)> = cost.iter().map(|(limit, amount)| (&**limit, *amount)).collect();
                ledger.settle_grant(grant, &cost, now);
            }
            Spent::AsTaken | Spent::Really(_) => ledger.keep_grant(grant, now),
        }
    }

    /// Buckets that somebody gave back to, or whose terms have changed: those who wait there look again.
    pub(super) fn hear_freed(&mut self) {
        let mut freed = std::mem::take(&mut self.freed);
        self.limits.ledger().take_freed(&mut freed);
        for bucket in freed.drain(..) {
            if let Some(limit) = self.limits.known(&bucket) {
                self.scheduler.bucket_changed(limit);
            }
        }
        self.freed = freed;
    }
}
