//! How much of everything.

use std::time::Duration;

/// The size of a run.
pub struct Plan {
    /// Rounds over all workloads.
    pub repeats: usize,
    /// How long each load lasts.
    pub lasting: Duration,
    /// How long a limit is watched that is asked for more than it has.
    pub saturated_lasting: Duration,
    /// How long the emulator is asked as fast as it goes.
    pub capacity_lasting: Duration,
    /// Entities where the issue says 10,000.
    pub entities: u64,
}

impl Plan {
    /// Some half an hour.
    pub const FULL: Plan = Plan {
        repeats: 3,
        lasting: Duration::from_secs(20),
        saturated_lasting: Duration::from_secs(20),
        capacity_lasting: Duration::from_secs(3),
        entities: 10_000,
    };
    /// Some three minutes, once everything is built and installed.
    pub const QUICK: Plan = Plan {
        repeats: 1,
        lasting: Duration::from_secs(4),
        saturated_lasting: Duration::from_secs(10),
        capacity_lasting: Duration::from_secs(1),
        entities: 1_000,
    };
}
