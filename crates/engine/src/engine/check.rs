//! What the simulator looks at, which nobody else can see.

use tidegate_core::Nanos;
use tidegate_core::queue::{MessageId, State};
use tidegate_ledger::BucketName;

use super::port::Port;
use super::state::Engine;

/// What limits were told of a message, or of an acquire in line.
#[derive(Clone, Copy, Debug)]
pub struct Paid {
    /// Which.
    pub message: MessageId,
    /// When.
    pub at: Nanos,
    /// What.
    pub pay: Pay,
}

/// See [`Paid`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pay {
    /// A message was paid for.
    Message,
    /// An acquire in line was. After a crash it may have the id of a message that is lost.
    Acquire,
    /// What a message has paid is given back: it never ran.
    Undone,
}

impl<P: Port> Engine<P> {
    /// Walks all of the scheduler and asserts what must hold.
    pub fn check(&self) {
        self.scheduler.check();
    }

    /// Who was paid for since the last call, and for whom that was undone, in order.
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
