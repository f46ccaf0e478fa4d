//! What the history costs: CPU per row of usage for adding it, for summing it up, for forgetting it, and per query.
//!
//! `cargo run --release -p tidegate-store --example history_cost -- [BUCKETS [DIR]]`; 20,000 buckets unless told, without
//! DIR in a temporary directory.

use rustix::time::{ClockId, clock_gettime};
use std::error::Error;
use std::path::Path;
use std::time::Duration;
use tidegate_core::ledger::Window;
use tidegate_store::disk::RealDisk;
use tidegate_store::history::{Minute, Retention, UsageQuery};
use tidegate_store::{DataDir, History};

/// 2024-03-01 00:00.
const FIRST: u32 = 28_487_520;
const MINUTES: u32 = 36;
const MINUTE_MS: u64 = 60_000;
const BUDGET_ROWS: usize = 50_000;

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
            "{what:<40} {rows:>9} rows  {cpu_us:>7.2} us CPU each  {:>8.1} ms",
            wall.as_secs_f64() * 1e3
        );
    }
}

fn read(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let buckets = arguments.next().map_or(Ok(20_000), |buckets| buckets.parse())?;
    match arguments.next() {
        Some(path) => measure(buckets, Path::new(&path)),
        None => measure(buckets, tempfile::tempdir()?.path()),
    }
}

fn measure(buckets: usize, path: &Path) -> Result<(), Box<dyn Error>> {
    let disk = RealDisk::open(&DataDir::open(path)?, "ledger")?;
    let (history, _) = History::open(&disk)?;
    // Two limits each, in the order of a hash table.
    let mut entities: Vec<_> = (0..buckets / 2).map(|n| format!("tenant-{n:07}")).collect();
    entities.sort_by_key(|name| {
        name.bytes().fold(7u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    });
    let rows = |minute| {
        entities.iter().flat_map(move |entity| {
            ["rpm", "tpm"].map(|limit| Minute {
                namespace: "default",
                entity: entity.as_bytes(),
                resource: "gpt-4",
                limit,
                minute,
                amount: 500,
                events: 1,
            })
        })
    };
    let all = buckets / 2 * 2;

    let watch = Stopwatch::start();
    for minute in FIRST..FIRST + MINUTES {
        history.add(&rows(minute).collect::<Vec<_>>(), &[])?;
    }
    watch.print("add, a minute per call", all * MINUTES as usize);

    let watch = Stopwatch::start();
    let now_ms = u64::from(FIRST + MINUTES) * MINUTE_MS;
    let mut longest = Duration::ZERO;
    loop {
        let before = read(ClockId::Monotonic);
        let has_more = history.forget(&Retention::default(), now_ms, BUDGET_ROWS)?;
        longest = longest.max(read(ClockId::Monotonic) - before);
        if !has_more {
            break;
        }
    }
    watch.print("sum up", all * 30);
    println!("    longest call {longest:?}");

    for entity in [Some(entities[0].as_bytes()), None] {
        for window in [Window::Minute, Window::Hour, Window::Month] {
            let query = UsageQuery {
                namespace: "default",
                entity,
                resource: None,
                limit: None,
                window,
                from_ms: 0,
                to_ms: u64::MAX,
                max_rows: 10_000,
            };
            let watch = Stopwatch::start();
            let usage = history.usage(&query)?;
            let whose = if entity.is_some() { "one entity" } else { "all" };
            watch.print(&format!("query of {whose}, {}", window.as_str()), usage.rows.len());
        }
    }

    let retention = Retention { minute_ms: Some(0), ..Retention::default() };
    let watch = Stopwatch::start();
    while history.forget(&retention, now_ms, BUDGET_ROWS)? {}
    watch.print("forget", all * 30);
    drop(history);
    let bytes = std::fs::metadata(path.join("ledger/history.redb"))?.len();
    println!("    {} bytes a row of usage in the file", bytes / (all as u64 * u64::from(MINUTES)));
    let watch = Stopwatch::start();
    History::open(&disk)?;
    watch.print("open", 1);
    Ok(())
}
