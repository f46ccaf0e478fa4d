//! The disk under all of them: how long does it take until 4 KB more of a file are on it?

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::load::Outcome;
use crate::load::outcome::Latency;
use crate::peers::process::folder;
use crate::row::Figures;

/// A file that is appended to.
pub struct Disk {
    file: File,
    /// Removed at the end.
    _dir: TempDir,
    requests: u64,
    elapsed: Duration,
    latency: Latency,
}

impl Disk {
    /// An empty file beside the data of the servers.
    pub fn open() -> Result<Disk> {
        let dir = folder()?;
        let file = OpenOptions::new().create_new(true).append(true).open(dir.path().join("appended"));
        let file = file.context("cannot create a file")?;
        Ok(Disk { file, _dir: dir, requests: 0, elapsed: Duration::ZERO, latency: Latency::new()? })
    }

    /// Appends and syncs for that long, one after the other.
    pub fn append(&mut self, lasting: Duration) -> Result<()> {
        let (block, start) = ([7_u8; 4096], Instant::now());
        while start.elapsed() < lasting {
            let began = Instant::now();
            self.file.write_all(&block).and_then(|()| self.file.sync_data()).context("cannot write")?;
            self.latency.record(began.elapsed(), 1);
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
        let mut disk = Disk::open().unwrap();
        disk.append(Duration::from_millis(2)).unwrap();
        disk.append(Duration::from_millis(2)).unwrap();
        let figures = disk.figures();
        assert!(figures.ops_per_s.unwrap() > 0.0 && figures.p50_us.unwrap() > 0.0);
        assert_eq!(figures.cpu_us_per_op, None);
    }
}
