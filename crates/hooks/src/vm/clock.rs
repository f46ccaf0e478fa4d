//! The time that a script takes.

use std::sync::LazyLock;
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

/// The two clocks of a thread, in nanoseconds.
///
/// The wall clock is cheap to read, and goes on while the machine runs something else. On a busy machine that is often more
/// than a script may take, so nobody is stopped by it alone: a script never waits, and what it takes is processor time.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Never goes back.
    pub wall: fn() -> u64,
    /// The processor time of this thread. Reading it is a system call.
    pub processor: fn() -> u64,
}

impl Default for Clock {
    fn default() -> Self {
        Self { wall, processor }
    }
}

fn wall() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    u64::try_from(START.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

fn processor() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let (seconds, nanos) =
        (u64::try_from(time.tv_sec).unwrap_or(0), u64::try_from(time.tv_nsec).unwrap_or(0));
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}
