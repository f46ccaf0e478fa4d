//! What the catalog costs with many entities: CPU per row for writing them, and the time until a start has read them.
//!
//! `cargo run --release -p tidegate-store --example catalog_cost -- [DIR]`; without DIR, in a temporary directory.

use rustix::time::{ClockId, clock_gettime};
use std::error::Error;
use std::path::Path;
use std::time::Duration;
use tidegate_store::DataDir;
use tidegate_store::catalog::{Catalog, Change, Table};
use tidegate_store::disk::RealDisk;

/// A build for debugging measures nothing, and only shows that this runs.
const LESS: usize = if cfg!(debug_assertions) { 50 } else { 1 };
const ENTITIES: usize = 1_000_000 / LESS;
const PER_COMMIT: usize = 10_000;
const SINGLE: usize = 200;

/// CPU of this process and time on the wall, between two points.
struct Stopwatch {
    cpu: Duration,
    wall: Duration,
}

impl Stopwatch {
    fn start() -> Stopwatch {
        Stopwatch { cpu: read(ClockId::ProcessCPUTime), wall: read(ClockId::Monotonic) }
    }

    fn print(&self, what: &str, rows: usize) {
        let cpu = read(ClockId::ProcessCPUTime) - self.cpu;
        let wall = read(ClockId::Monotonic) - self.wall;
        let cpu_us = cpu.as_secs_f64() * 1e6 / rows as f64;
        println!(
            "{what:<40} {rows:>9} rows  {cpu_us:>8.2} us CPU each  {:>8.1} ms",
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
    let disk = RealDisk::open(&DataDir::open(path)?, "queue")?;
    let catalog = Catalog::open(&disk)?;
    let watch = Stopwatch::start();
    for from in (0..ENTITIES).step_by(PER_COMMIT) {
        let changes: Vec<_> = (from..from + PER_COMMIT).map(|n| put(n, 1)).collect();
        catalog.commit(&changes)?;
    }
    watch.print("put, 10,000 per commit", ENTITIES);

    let watch = Stopwatch::start();
    for n in 0..SINGLE {
        catalog.commit(&[put(n * 4_999 % ENTITIES, 2)])?;
    }
    watch.print("put, 1 per commit", SINGLE);
    drop(catalog);

    let watch = Stopwatch::start();
    let catalog = Catalog::open(&disk)?;
    watch.print("open", 1);
    load(&catalog)?;
    let watch = Stopwatch::start();
    catalog.commit(&[Change::ClearNamespace { namespace: "default".into() }])?;
    watch.print("clear the namespace", ENTITIES);
    Ok(())
}

fn load(catalog: &Catalog) -> Result<(), Box<dyn Error>> {
    let watch = Stopwatch::start();
    let (mut rows, mut bytes) = (0, 0);
    catalog.load_rows(Table::Entities, |_, key, value| {
        rows += 1;
        bytes += key.len() + value.len();
    })?;
    watch.print("load", rows);
    println!("    {} bytes of keys and values each", bytes / rows.max(1));
    Ok(())
}

fn put(n: usize, version: u32) -> Change {
    let value = format!(
        r#"{{"id":"project-{n:07}","parent":"org-{:04}","cascade":true,"version":{version},"created_at_ms":1709212029123,"updated_at_ms":1709212029123}}"#,
        n % 1_000
    );
    Change::PutRow {
        table: Table::Entities,
        namespace: "default".into(),
        key: format!("project-{n:07}").into_bytes(),
        value: value.into_bytes(),
    }
}
