//! What the book costs: CPU per record for appending, for a sync, for a snapshot, and for coming back.
//!
//! `cargo run --release -p tidegate-store --example book_cost -- [DIR]`; without DIR, in a temporary directory.

use rustix::time::{ClockId, clock_gettime};
use std::error::Error;
use std::path::Path;
use std::time::Duration;
use tidegate_store::DataDir;
use tidegate_store::book::{Book, BookOptions};
use tidegate_store::disk::RealDisk;

const RECORD_BYTES: usize = 100;
const RECORDS_PER_SYNC: usize = 20_000;
/// A build for debugging measures nothing, and only shows that this runs.
const LESS: usize = if cfg!(debug_assertions) { 20 } else { 1 };
const SYNCS: usize = 50;
const SNAPSHOT_RECORDS: usize = 2_000_000 / LESS;

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
    let disk = RealDisk::open(&DataDir::open(path)?, "ledger")?;
    let (mut book, _) = Book::open(disk.clone(), BookOptions::default(), |_| ())?;
    let mut record = [7; RECORD_BYTES];

    for _ in 0..2 {
        let watch = Stopwatch::start();
        for n in 0..SYNCS * RECORDS_PER_SYNC {
            record[..8].copy_from_slice(&n.to_le_bytes());
            book.append(&record);
            if n % RECORDS_PER_SYNC == 0 {
                book.sync()?;
            }
        }
        book.sync()?;
        watch.print("append and sync, per 20,000", SYNCS * RECORDS_PER_SYNC);
    }

    let watch = Stopwatch::start();
    let mut snapshot = book.begin_snapshot()?;
    for n in 0..SNAPSHOT_RECORDS {
        record[..8].copy_from_slice(&n.to_le_bytes());
        snapshot.write(&record)?;
    }
    book.finish_snapshot(snapshot)?;
    watch.print("snapshot", SNAPSHOT_RECORDS);
    drop(book);

    let watch = Stopwatch::start();
    let (mut records, mut sum) = (0, 0);
    Book::open(disk, BookOptions::default(), |record| {
        records += 1;
        sum += u64::from(record[0]);
    })?;
    watch.print("recovery", records);
    println!("(sum of first bytes: {sum})");
    Ok(())
}
