//! CPU time of a process or thread: user and system together.
//!
//! Read from the kernel's CPU clock of the process. It counts nanoseconds and keeps the time of threads that
//! have ended, where `/proc/PID/stat` counts ticks of 10 ms, too coarse for a run of a second, and the
//! `schedstat` files forget a thread when it ends.

use std::io;
use std::time::Duration;

use anyhow::{Context, Result};

/// The CPU clock of another process.
#[derive(Clone, Copy, Debug)]
pub struct CpuClock(libc::clockid_t);

impl CpuClock {
    /// The clock of that process.
    pub fn of(pid: u32) -> Result<CpuClock> {
        let pid = libc::pid_t::try_from(pid).context("not a process id")?;
        let mut clock = 0;
        // SAFETY: the one pointer is to a live local of the type asked for.
        let code = unsafe { libc::clock_getcpuclockid(pid, &raw mut clock) };
        if code != 0 {
            return Err(io::Error::from_raw_os_error(code)).context("no CPU clock for the process");
        }
        Ok(CpuClock(clock))
    }

    /// The clock of the thread that reads it.
    pub fn of_this_thread() -> CpuClock {
        CpuClock(libc::CLOCK_THREAD_CPUTIME_ID)
    }

    /// CPU time used so far. Fails once the process has ended and was waited for.
    pub fn read(self) -> Result<Duration> {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the one pointer is to a live local of the type asked for.
        let code = unsafe { libc::clock_gettime(self.0, &raw mut time) };
        if code != 0 {
            return Err(io::Error::last_os_error()).context("the process is gone");
        }
        Ok(Duration::new(time.tv_sec.cast_unsigned(), u32::try_from(time.tv_nsec).unwrap_or(0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_moves_both_clocks() {
        let clocks = [CpuClock::of(std::process::id()).unwrap(), CpuClock::of_this_thread()];
        let before = clocks.map(|clock| clock.read().unwrap());
        let mut sum = 0_u64;
        for i in 0..100_000_u64 {
            sum = std::hint::black_box(sum ^ i);
        }
        for (clock, before) in clocks.into_iter().zip(before) {
            assert!(clock.read().unwrap() > before);
        }
    }
}
