//! Where a limit stands, for whoever asked.

use std::sync::Arc;

use tidegate_core::bucket::Ready;
use tidegate_core::ledger::Level;

/// What a limit bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What is taken over time.
    Rate,
    /// What is in flight.
    Concurrency,
}

impl Kind {
    /// As callers read it.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Rate => "rate",
            Kind::Concurrency => "concurrency",
        }
    }
}

/// One limit of one entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Whose.
    pub entity: Arc<[u8]>,
    /// For what.
    pub resource: Arc<str>,
    /// Which.
    pub limit: Arc<str>,
    /// Where it was set.
    pub level: Level,
    /// What it bounds.
    pub kind: Kind,
    /// The burst, or the cap.
    pub capacity: u64,
    /// What is left; negative is debt.
    pub available: i64,
    /// What was asked.
    pub requested: u64,
    /// Whether what was asked was not there.
    pub exceeded: bool,
    /// Whether it never refuses.
    pub soft: bool,
    /// When what was asked could pass.
    pub ready: Ready,
    /// A rate's period; 0 under a cap.
    pub period_ns: u64,
    /// What comes back every period; 0 under a cap.
    pub refill: u64,
    /// Until it is full, if nobody takes; 0 under a cap.
    pub until_full_ns: u64,
}
