//! How much of everything: a full run to be believed, a quick one within a minute.

use std::time::Duration;

/// The size of a run.
pub struct Plan {
    /// Rounds over all workloads.
    pub repeats: usize,
    /// How long each load lasts.
    pub lasting: Duration,
    /// How long the paced load lasts.
    pub paced_lasting: Duration,
    /// Numbers of live keys at which memory is measured.
    pub live_keys: &'static [u64],
    /// How long a library decides at a stretch, before it is another's turn.
    pub library_stretch: Duration,
}

impl Plan {
    /// Some ten minutes.
    pub const FULL: Plan = Plan {
        repeats: 3,
        lasting: Duration::from_secs(3),
        paced_lasting: Duration::from_secs(5),
        live_keys: &[1_000_000, 10_000_000],
        library_stretch: Duration::from_millis(300),
    };
    /// Within a minute, once the server and its peers are built.
    pub const QUICK: Plan = Plan {
        repeats: 1,
        lasting: Duration::from_millis(500),
        paced_lasting: Duration::from_millis(1500),
        live_keys: &[1_000_000],
        library_stretch: Duration::from_millis(60),
    };
}
