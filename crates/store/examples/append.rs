//! What it costs to keep keys: CPU per record for flushing, for a snapshot, and for coming back.
//!
//! `cargo run --release -p tidegate-store --example append -- [DIR]`; without DIR, in a temporary directory.

use rustix::time::{ClockId, clock_gettime};
use std::error::Error;
use std::path::Path;
use std::time::Duration;
use tidegate_core::Tat;
use tidegate_store::DataDir;
use tidegate_store::keys::{KeyRecord, KeyStore, Options};

const RECORDS_PER_FLUSH: usize = 100_000;
const FLUSHES: usize = 50;
const SNAPSHOT_RECORDS: usize = 10_000_000;
/// As many as a server takes from its table under one lock.
const SNAPSHOT_CHUNK: usize = 1_000;

/// CPU of this process and time on the wall, between two points.
struct Stopwatch {
    cpu: Duration,
    wall: Duration,
}

impl Stopwatch {
    fn start() -> Stopwatch {
        Stopwatch { cpu: read(ClockId::ProcessCPUTime), wall: read(ClockId::Monotonic) }
    }

    fn print(&self, what: &str, records: usize) {
        let cpu = read(ClockId::ProcessCPUTime) - self.cpu;
        let wall = read(ClockId::Monotonic) - self.wall;
        let cpu_ns = cpu.as_nanos() as f64 / records as f64;
        println!(
            "{what:<36} {records:>9} records  {cpu_ns:>6.1} ns CPU each  {:>7.1} ms",
            wall.as_secs_f64() * 1e3
        );
    }
}

fn read(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args_os().nth(1) {
        Some(path) => measure(Path::new(&path)),
        None => measure(tempfile::tempdir()?.path()),
    }
}

fn measure(path: &Path) -> Result<(), Box<dyn Error>> {
    let records: Vec<_> = (0..RECORDS_PER_FLUSH as u64).map(record).collect();
    let dir = DataDir::open(path)?;
    let (mut store, _) = KeyStore::open(&dir, [7; 16], Options::default(), |_| ())?;

    let watch = Stopwatch::start();
    for flush in 0..FLUSHES {
        store.append(&records, flush as u64)?;
    }
    watch.print("append", FLUSHES * RECORDS_PER_FLUSH);
    store.sync()?;

    let watch = Stopwatch::start();
    for flush in 0..FLUSHES {
        store.append(&records, flush as u64)?;
        store.sync()?;
    }
    watch.print("append and sync, per 100,000", FLUSHES * RECORDS_PER_FLUSH);

    let watch = Stopwatch::start();
    let mut writer = store.begin_snapshot(FLUSHES as u64)?;
    for _ in 0..SNAPSHOT_RECORDS / SNAPSHOT_CHUNK {
        writer.write(&records[..SNAPSHOT_CHUNK])?;
    }
    store.finish_snapshot(writer, FLUSHES as u64)?;
    watch.print("snapshot", SNAPSHOT_RECORDS);
    drop(store);

    let watch = Stopwatch::start();
    let mut sum = 0;
    KeyStore::open(&dir, [7; 16], Options::default(), |records| {
        sum += records.iter().map(|record| u64::from(record.tat.rem)).sum::<u64>();
    })?;
    watch.print("recovery", SNAPSHOT_RECORDS);
    println!("(sum of remainders: {sum})");
    Ok(())
}

fn record(n: u64) -> KeyRecord {
    let hash = u128::from(n.wrapping_mul(0x9E37_79B9_7F4A_7C15)) << 64 | u128::from(n);
    KeyRecord { hash, tat: Tat { ns: n << 20, rem: n as u32 } }
}
