//! What is counted of acquires.

use tidegate_ledger::{Acquired, Granted};

use super::Counter;

/// How acquires ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acquires {
    /// Taken.
    pub granted: u64,
    /// Taken although the store is unavailable.
    pub degraded: u64,
    /// Not now.
    pub denied: u64,
    /// Not like this.
    pub refused: u64,
}

impl Acquires {
    /// Counts one. True if it was granted.
    #[inline]
    pub fn count(&mut self, acquired: &Acquired) -> bool {
        let (counter, granted) = match acquired {
            Acquired::Granted(Granted { degraded: true, .. }) => (&mut self.degraded, true),
            Acquired::Granted(_) => (&mut self.granted, true),
            Acquired::Denied(_) | Acquired::Undecided(_) => (&mut self.denied, false),
        };
        *counter += 1;
        granted
    }
}

/// The acquires of one door.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct AcquireMetrics {
    granted: Counter,
    degraded: Counter,
    denied: Counter,
    refused: Counter,
}

impl AcquireMetrics {
    /// Adds those of a batch.
    pub fn add(&self, acquires: &Acquires) {
        self.granted.add(acquires.granted);
        self.degraded.add(acquires.degraded);
        self.denied.add(acquires.denied);
        self.refused.add(acquires.refused);
    }

    /// By outcome.
    pub(super) fn outcomes(&self) -> [(&'static str, u64); 4] {
        let Self { granted, degraded, denied, refused } = self;
        [
            ("granted", granted.get()),
            ("degraded", degraded.get()),
            ("denied", denied.get()),
            ("refused", refused.get()),
        ]
    }
}
