//! How much of everything: a full run to be believed, a quick one within a minute.

use std::time::Duration;

/// The size of a run.
pub struct Plan {
    /// Rounds over all workloads.
    pub repeats: usize,
    /// Entities where the issue says a million.
    pub entities: u64,
    /// How long each load lasts.
    pub lasting: Duration,
    /// How long decisions are watched one by one.
    pub steady_lasting: Duration,
}

impl Plan {
    /// Some ten minutes.
    pub const FULL: Plan = Plan {
        repeats: 3,
        entities: 1_000_000,
        lasting: Duration::from_secs(3),
        steady_lasting: Duration::from_secs(5),
    };
    /// Within a minute, once the server is built and its peer installed.
    pub const QUICK: Plan = Plan {
        repeats: 1,
        entities: 100_000,
        lasting: Duration::from_secs(1),
        steady_lasting: Duration::from_secs(2),
    };

    /// The number of entities as the table names it.
    pub fn entities_name(&self) -> String {
        match self.entities {
            entities if entities.is_multiple_of(1_000_000) => format!("{}M entities", entities / 1_000_000),
            entities => format!("{}k entities", entities / 1_000),
        }
    }
}
