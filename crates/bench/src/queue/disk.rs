//! The disk under all of them: how long does it take until 4 KB of a file are on it?
//!
//! Without the time in which the machine ran something else: on a busy one, a thread that wakes up after its sync waits for
//! the next tick, some milliseconds, which is not the disk's time and would make any server look good beside it.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::load::Outcome;
use crate::load::outcome::Latency;
use crate::peers::process::folder;
use crate::row::Figures;
use crate::run_delay::RunDelay;

/// Where each block goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// To the end of the file, which grows: the file system has to write down the new length as well.
    End,
    /// Over bytes that are there: only the block itself has to reach the disk.
    Inside,
}

/// When the next block is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Right after the last one.
    AtOnce,
    /// So long after the last one was due. A machine that idles in between takes longer: its cores have to wake up.
    Every(Duration),
}

const BLOCK_LEN: usize = 4096;
/// Blocks that are there to be written over.
const BLOCKS: u64 = 1024;

#[expect(clippy::disallowed_methods, reason = "nothing else tells that it is time")]
fn wait_until(due: Instant) {
    std::thread::sleep(due.saturating_duration_since(Instant::now()));
}

/// A file that is written to.
pub struct Disk {
    file: File,
    place: Place,
    pace: Pace,
    /// Removed at the end.
    _dir: TempDir,
    requests: u64,
    elapsed: Duration,
    latency: Latency,
}

impl Disk {
    /// A file beside the data of the servers.
    pub fn open(place: Place, pace: Pace) -> Result<Disk> {
        let dir = folder()?;
        let mut file = File::create_new(dir.path().join("written")).context("cannot create a file")?;
        if place == Place::Inside {
            let room = vec![0; BLOCK_LEN * BLOCKS as usize];
            file.write_all(&room).and_then(|()| file.sync_all()).context("cannot write")?;
        }
        let (requests, elapsed, latency) = (0, Duration::ZERO, Latency::new()?);
        Ok(Disk { file, place, pace, _dir: dir, requests, elapsed, latency })
    }

    /// Writes and syncs for that long, one block after the other.
    pub fn write(&mut self, lasting: Duration) -> Result<()> {
        let run_delay = RunDelay::of_this_thread()?;
        let (block, start) = ([7_u8; BLOCK_LEN], Instant::now());
        let mut due = Duration::ZERO;
        while start.elapsed() < lasting {
            if let Pace::Every(interval) = self.pace {
                wait_until(start + due);
                due += interval;
            }
            let (delayed, began) = (run_delay.read(), Instant::now());
            let at = match self.place {
                Place::End => self.requests,
                Place::Inside => self.requests % BLOCKS,
            };
            let written = self.file.write_all_at(&block, at * BLOCK_LEN as u64);
            written.and_then(|()| self.file.sync_data()).context("cannot write")?;
            let took = began.elapsed();
            let delayed = run_delay.read().saturating_sub(delayed);
            self.latency.record(took.saturating_sub(delayed), 1);
            self.requests += 1;
        }
        self.elapsed += start.elapsed();
        Ok(())
    }

    /// What all of that came to.
    pub fn figures(self) -> Figures {
        let outcome = Outcome { requests: self.requests, elapsed: self.elapsed, latency: self.latency };
        Figures { cpu_us_per_op: None, ..outcome.figures(Duration::ZERO) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sync_takes_time() {
        let paced = Pace::Every(Duration::from_millis(1));
        for (place, pace) in [(Place::End, Pace::AtOnce), (Place::Inside, Pace::AtOnce), (Place::End, paced)]
        {
            let mut disk = Disk::open(place, pace).unwrap();
            disk.write(Duration::from_millis(2)).unwrap();
            disk.write(Duration::from_millis(2)).unwrap();
            let figures = disk.figures();
            assert!(figures.ops_per_s.unwrap() > 0.0 && figures.p50_us.unwrap() > 0.0);
            assert_eq!(figures.cpu_us_per_op, None);
        }
    }
}
