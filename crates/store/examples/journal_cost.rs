//! What the journal costs: CPU per message put and deleted, per body read, and the time to start with a million.
//!
//! `cargo run --release -p tidegate-store --example journal_cost -- [DIR]`; without DIR, in a temporary directory.

use rustix::time::{ClockId, clock_gettime};
use std::error::Error;
use std::path::Path;
use std::time::Duration;
use tidegate_core::queue::{MessageId, Place, QueueId};
use tidegate_store::DataDir;
use tidegate_store::disk::RealDisk;
use tidegate_store::journal::{
    Charges, Headers, Journal, JournalOptions, JournalReport, MessageRecord, Pinned, Record, Replayed,
};

const PER_BATCH: u64 = 256;
/// A build for debugging measures nothing, and only shows that this runs.
const LESS: u64 = if cfg!(debug_assertions) { 50 } else { 1 };
const CHURNED: u64 = 500_000 / LESS;
const WAITING: u64 = 1_000_000 / LESS;
const READ: u64 = 300_000 / LESS;
const PAYLOAD: [u8; 1024] = [b'x'; 1024];

/// CPU of this process and time on the wall, between two points.
struct Stopwatch {
    cpu: Duration,
    wall: Duration,
}

impl Stopwatch {
    fn start() -> Stopwatch {
        Stopwatch { cpu: read(ClockId::ProcessCPUTime), wall: read(ClockId::Monotonic) }
    }

    fn print(&self, what: &str, messages: u64) {
        let cpu = read(ClockId::ProcessCPUTime) - self.cpu;
        let wall = read(ClockId::Monotonic) - self.wall;
        println!(
            "{what:<44} {messages:>9} messages  {:>6.3} us CPU each  {:>7.1} ms  {:>8.0} /s",
            cpu.as_secs_f64() * 1e6 / messages as f64,
            wall.as_secs_f64() * 1e3,
            messages as f64 / wall.as_secs_f64(),
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

/// A message like those of the benchmark: one throttle key, one header, 1 KB.
struct Sample {
    charges: Vec<u8>,
    headers: Vec<u8>,
}

impl Sample {
    fn new() -> Sample {
        let charges = Charges::encode([(&b"provider:mail"[..], 1)]);
        let headers = Headers::encode([(&b"tenant"[..], &b"acme"[..])]);
        Sample { charges, headers }
    }

    fn record<'a>(&'a self, n: u64, flow: &'a [u8]) -> Record<'a> {
        Record::Message(MessageRecord {
            id: MessageId(n),
            queue: QueueId(1),
            order: n,
            cost: 1,
            flow,
            charges: Charges::from_encoded(&self.charges),
            headers: Headers::from_encoded(&self.headers),
            payload: &PAYLOAD,
            ..MessageRecord::default()
        })
    }
}

fn open(
    dir: &DataDir,
    visit: impl FnMut(Replayed<'_>),
) -> Result<(Journal<RealDisk>, JournalReport), Box<dyn Error>> {
    let disk = RealDisk::open(dir, "queue")?;
    Ok(Journal::open(disk, JournalOptions::default(), visit)?)
}

/// Writes, and with `is_synced` syncs, what was appended.
fn flush(journal: &mut Journal<RealDisk>, is_synced: bool) -> Result<(), Box<dyn Error>> {
    if let Some(batch) = journal.take_batch() {
        batch.write()?;
        if is_synced {
            batch.sync()?;
        }
        batch.reclaim()?;
    }
    Ok(())
}

fn measure(path: &Path) -> Result<(), Box<dyn Error>> {
    let sample = Sample::new();
    let dir = DataDir::open(path)?;
    let (mut journal, _) = open(&dir, |_| ())?;

    let watch = Stopwatch::start();
    for n in 0..CHURNED {
        let place = journal.append(&sample.record(n, b"tenant-0001"));
        journal.dead(place);
        journal.append(&Record::Gone { id: MessageId(n) });
        if n % PER_BATCH == 0 {
            drop(journal.take_batch());
        }
    }
    watch.print("put and delete, in memory alone", CHURNED);
    drop(journal);

    for is_synced in [false, true, true] {
        let (mut journal, _) = open(&dir, dead_on_arrival)?;
        let watch = Stopwatch::start();
        churn(&mut journal, &sample, is_synced)?;
        let what = if is_synced { "put and delete, written and synced" } else { "put and delete, written" };
        watch.print(what, CHURNED);
        println!("    {:?}", journal.usage());
    }

    let (mut journal, _) = open(&dir, dead_on_arrival)?;
    flush(&mut journal, true)?;
    let mut places: Vec<Place> = Vec::new();
    for n in 0..WAITING {
        places.push(journal.append(&sample.record(n, format!("tenant-{:04}", n % 10_000).as_bytes())));
        if n % (16 * PER_BATCH) == 0 {
            flush(&mut journal, false)?;
        }
    }
    flush(&mut journal, true)?;

    let reader = journal.reader();
    let mut bytes = 0;
    for (what, stride) in [("read, in any order", 7_919), ("read, in order", 1)] {
        let watch = Stopwatch::start();
        for n in 0..READ {
            let body = reader.read(places[(n * stride % WAITING) as usize])?;
            bytes += body.message().payload.len();
        }
        watch.print(what, READ);
    }
    let watch = Stopwatch::start();
    for places in places[..READ as usize].chunks(100) {
        let pins: Vec<_> = places.iter().filter_map(|place| reader.pin(*place)).collect();
        for body in Pinned::read_all(&pins.iter().collect::<Vec<_>>()) {
            bytes += body?.message().payload.len();
        }
    }
    watch.print("read, in order, 100 at a time", READ);
    println!("    ({bytes} bytes of payload)");
    drop((journal, reader));

    for _ in 0..2 {
        let watch = Stopwatch::start();
        let mut waiting = 0;
        let mut flows = 0;
        let (journal, report) = open(&dir, |replayed| {
            if let Record::Message(message) = replayed.record {
                waiting += 1;
                flows += message.flow.len();
            }
        })?;
        watch.print("open", waiting);
        println!("    {:?} {:?} {flows}", journal.usage(), report);
    }
    Ok(())
}

/// For a journal of which nothing is needed any more.
fn dead_on_arrival(replayed: Replayed<'_>) {
    if let Record::Message(_) = replayed.record {
        replayed.space.dead(replayed.place);
    }
}

/// Each message is deleted in the batch after its own.
fn churn(journal: &mut Journal<RealDisk>, sample: &Sample, is_synced: bool) -> Result<(), Box<dyn Error>> {
    let mut before: Vec<(MessageId, Place)> = Vec::new();
    for batch in 0..CHURNED / PER_BATCH {
        for (id, place) in before.drain(..) {
            journal.append(&Record::Gone { id });
            journal.dead(place);
        }
        for n in batch * PER_BATCH..(batch + 1) * PER_BATCH {
            let place = journal.append(&sample.record(n, b"tenant-0001"));
            before.push((MessageId(n), place));
        }
        flush(journal, is_synced)?;
    }
    Ok(())
}
