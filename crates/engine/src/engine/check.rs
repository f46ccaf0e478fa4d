//! What the simulator looks at, which nobody else can see.

use tidegate_core::Nanos;
use tidegate_core::queue::{MessageId, State};
use tidegate_ledger::BucketName;

use super::port::Port;
use super::state::Engine;

/// Somebody was paid for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paid {
    /// Which message; or the number of an acquire in line, which a message may have had that a crash has lost.
    pub message: MessageId,
    /// When.
    pub at: Nanos,
    /// Whether it is an acquire.
    pub is_acquire: bool,
}

impl<P: Port> Engine<P> {
    /// Walks all of the scheduler and asserts what must hold.
    pub fn check(&self) {
        self.scheduler.check();
    }

    /// Every message and every acquire in line that was paid for since the last call.
    pub fn take_paid(&mut self) -> Vec<Paid> {
        std::mem::take(&mut self.limits.paid)
    }

    /// The slots that deliveries hold which are not over.
    pub fn slots_held(&self) -> Vec<(BucketName, u32)> {
        let is_out = |id: MessageId| {
            let state = self.scheduler.describe(id).map(|message| message.state);
            matches!(state, Some(State::Leased(_)))
        };
        let grants = self.limits.grants().filter(|(id, _)| is_out(**id));
        grants.flat_map(|(_, grant)| grant.slots()).collect()
    }
}
