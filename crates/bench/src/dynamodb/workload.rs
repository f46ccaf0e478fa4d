//! The workloads, by the names that `--only` takes.

use super::round::Round;
use super::{capacity, many, one, python, shared};

/// One kind of load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Workload {
    /// What the emulator itself can carry
    Emulator,
    /// One entity at 10 to 10,000 decisions/s, with 1 and 3 nodes
    One,
    /// The same spread over 10,000 entities
    Many,
    /// A limit that is asked for more than it has, by nodes under even and uneven load
    Shared,
    /// zae-limiter on the same emulator
    Python,
}

impl Workload {
    /// All of them, in the order of the report.
    pub const ALL: [Workload; 5] =
        [Workload::Emulator, Workload::One, Workload::Many, Workload::Shared, Workload::Python];

    /// One round of it.
    pub fn run(self, round: &mut Round<'_>) {
        match self {
            Workload::Emulator => capacity::run(round),
            Workload::One => one::run(round),
            Workload::Many => many::run(round),
            Workload::Shared => shared::run(round),
            Workload::Python => python::run(round),
        }
    }
}
