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
    /// Decisions in a second, if it is not all that the issue names.
    pub rate: Option<u32>,
}

impl Plan {
    /// Some half an hour.
    pub const FULL: Plan = Plan {
        repeats: 3,
        lasting: Duration::from_secs(20),
        saturated_lasting: Duration::from_secs(20),
        capacity_lasting: Duration::from_secs(3),
        entities: 10_000,
        rate: None,
    };
    /// Some three minutes, once everything is built and installed.
    pub const QUICK: Plan = Plan {
        repeats: 1,
        lasting: Duration::from_secs(4),
        saturated_lasting: Duration::from_secs(10),
        capacity_lasting: Duration::from_secs(1),
        entities: 1_000,
        rate: None,
    };

    /// Those of these rates that are wanted.
    pub fn rates(&self, all: impl IntoIterator<Item = u32>) -> Vec<u32> {
        all.into_iter().filter(|rate| self.rate.is_none_or(|wanted| wanted == *rate)).collect()
    }
}
