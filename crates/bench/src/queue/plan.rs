//! How much of everything: a full run to be believed, a quick one within a minute.

use std::time::Duration;

/// Bytes of a payload, unless the workload says otherwise.
pub const BODY_LEN: usize = 1024;

/// The size of a run.
pub struct Plan {
    /// Rounds over all workloads.
    pub repeats: usize,
    /// For how long messages are produced at full speed.
    pub lasting: Duration,
    /// Producers, and as many consumers: one after the other, and several that a server can take together. The last is what
    /// the targets are about.
    pub pairs: &'static [usize],
    /// How long the paced load lasts.
    pub paced_lasting: Duration,
    /// How long the disk is measured.
    pub disk_lasting: Duration,
    /// Messages, flows or lanes where the issue says a million.
    pub many: usize,
    /// How long a server is watched while nothing is asked of it.
    pub idle: Duration,
    /// How long a throttled rate is watched.
    pub rate_lasting: Duration,
    /// How long a stretch is where systems are compared in turn.
    pub stretch: Duration,
    /// How many of them each system has in a round.
    pub lives: usize,
    /// How many each side has where two are compared closely.
    pub stretches: usize,
    /// How many each of two builds has.
    pub turns: usize,
}

impl Plan {
    /// Some twenty minutes.
    pub const FULL: Plan = Plan {
        repeats: 3,
        lasting: Duration::from_secs(3),
        pairs: &[1, 4],
        paced_lasting: Duration::from_secs(5),
        disk_lasting: Duration::from_secs(1),
        many: 1_000_000,
        idle: Duration::from_secs(10),
        rate_lasting: Duration::from_secs(5),
        stretch: Duration::from_millis(400),
        lives: 6,
        stretches: 12,
        turns: 60,
    };
    /// Within a minute, once the server and its peers are built and installed.
    pub const QUICK: Plan = Plan {
        repeats: 1,
        lasting: Duration::from_millis(500),
        pairs: &[4],
        paced_lasting: Duration::from_millis(1000),
        disk_lasting: Duration::from_millis(200),
        many: 100_000,
        idle: Duration::from_secs(2),
        rate_lasting: Duration::from_secs(2),
        stretch: Duration::from_millis(300),
        lives: 3,
        stretches: 6,
        turns: 16,
    };
}

/// A number as the table names it.
pub fn count_name(count: usize) -> String {
    match count {
        _ if count.is_multiple_of(1_000_000) => format!("{}M", count / 1_000_000),
        _ if count.is_multiple_of(1_000) => format!("{}k", count / 1_000),
        _ => count.to_string(),
    }
}
