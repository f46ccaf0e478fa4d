//! Time as the engine is told it, and as it really passes.
//!
//! Every call of the engine has a time of its own, so that the time of a delivery says in which turn it was made.

use tidegate_core::Nanos;

/// Nanoseconds in a millisecond.
pub const MS: Nanos = 1_000_000;
/// Nanoseconds in a second.
pub const SECOND: Nanos = 1_000 * MS;
const START: Nanos = 1_700_000_000 * SECOND;

/// The clock of a simulation.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// What the engine is told. Steps back at a restart only.
    pub now: Nanos,
    /// What has passed since the simulation began. Never steps back.
    pub elapsed: Nanos,
    /// By how much it was set back in all: what was to happen by then happens that much later.
    pub set_back: Nanos,
}

impl Default for Clock {
    fn default() -> Clock {
        Clock { now: START, elapsed: 0, set_back: 0 }
    }
}

impl Clock {
    /// Time for one call.
    pub fn tick(&mut self) -> Nanos {
        self.pass(1);
        self.now
    }

    /// Lets time pass.
    pub fn pass(&mut self, span: Nanos) {
        self.now += span;
        self.elapsed += span;
    }

    /// Lets time pass until then.
    pub fn until(&mut self, at: Nanos) {
        self.pass(at.saturating_sub(self.now));
    }

    /// Somebody has set the clock, while the engine did not run.
    pub fn set(&mut self, now: Nanos) {
        match now.checked_sub(self.now) {
            Some(span) => self.pass(span),
            None => {
                self.set_back += self.now - now;
                self.now = now;
            }
        }
    }
}
