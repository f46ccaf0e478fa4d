//! What the ledger costs: bytes per entity with two active buckets and a parent, and nanoseconds of processor time per acquire and settle.
//!
//! `cargo run --release -p tidegate-ledger --example ledger_cost [entities]`

use std::time::Instant;

use tidegate_ledger::{
    Acquire, Acquired, Charge, Edit, EntityPatch, Kept, Ledger, Options, Scope, ScopePatch, SpaceId,
};

const START: u64 = 1_700_000_000_000_000_000;
const PARENTS: usize = 1000;
/// A build for debugging measures nothing, and only shows that this runs.
const LESS: usize = if cfg!(debug_assertions) { 50 } else { 1 };

fn main() {
    let entities: usize =
        std::env::args().nth(1).and_then(|arg| arg.parse().ok()).unwrap_or(1_000_000 / LESS);
    let ledger = Ledger::new(Options::default());
    let space = ledger.space("default").expect("there is room for a namespace");
    limit(&ledger, space, &["rpm=100000/minute", "tpm=100000000/minute"]);
    let before = resident();
    load(&ledger, space, entities);
    let loaded = resident();
    println!("{:>8} bytes an entity with a record and a parent", (loaded - before) / entities);

    let ids: Vec<String> = (0..entities).map(name).collect();
    let held = resident();
    let taken = round(&ledger, space, &ids, START, 1);
    println!(
        "{:>8} bytes an entity with two active buckets as well",
        (resident() - before - (held - loaded)) / entities
    );
    println!("{taken:>8.0} ns the first acquire + settle of an entity (two limits, one parent)");
    for round_at in 1..=3u64 {
        let taken = round(&ledger, space, &ids, START + round_at * 1_000_000_000, 7919);
        println!("{taken:>8.0} ns an acquire + settle, entities in no order");
    }
    let hot = &ids[..100.min(entities)];
    let repeated: Vec<String> = (0..1_000_000 / LESS).map(|at| hot[at % hot.len()].clone()).collect();
    println!(
        "{:>8.0} ns an acquire + settle, 100 entities",
        round(&ledger, space, &repeated, START + 9_000_000_000, 1)
    );

    let begun = Instant::now();
    limit(&ledger, space, &["rpm=200000/minute", "tpm=200000000/minute"]);
    println!(
        "{:>8.1} us a change of a default that all buckets are under",
        begun.elapsed().as_secs_f64() * 1e6
    );
    let (most, slowest) = times(&ledger, space, &ids, START + 20_000_000_000);
    println!(
        "{most:>8.1} us within which 99.99 % of acquires + settles after it are done ({slowest:.1} the slowest)"
    );
    let begun = cpu_ns();
    let (mut records, mut bytes) = (0u64, 0u64);
    ledger.drain(START, &mut |record| (records, bytes) = (records + 1, bytes + record.len() as u64));
    let ns = (cpu_ns() - begun) as f64 / records as f64;
    println!("{ns:>8.0} ns a record of {} bytes, to be written down ({records})", bytes / records.max(1));
}

fn limit(ledger: &Ledger, space: SpaceId, limits: &[&str]) {
    let limits = limits.iter().map(|text| text.parse().expect("a limit")).collect();
    let patch = ScopePatch { limits: Some(limits), ..ScopePatch::default() };
    let edit = Edit::SetScope { scope: Scope::Resource("gpt-4".into()), patch };
    let plan = ledger.plan(space, &edit, START).expect("a sound edit");
    ledger.apply(&plan.kept, START).expect("a sound plan");
}

fn name(at: usize) -> String {
    format!("entity-{at:07}")
}

fn load(ledger: &Ledger, space: SpaceId, entities: usize) {
    let parents = (0..PARENTS).map(|at| (format!("parent-{at:04}"), EntityPatch::default()));
    let plan = ledger.plan(space, &Edit::PutEntities(parents.collect()), START).expect("a sound edit");
    ledger.apply(&plan.kept, START).expect("a sound plan");
    for at in 0..entities {
        let (id, parent) = (name(at), at % PARENTS);
        let json = format!(
            r#"{{"id":"{id}","parent":"parent-{parent:04}","cascade":true,"version":1,"created_at_ms":1,"updated_at_ms":1}}"#
        );
        let row =
            Kept::Entity { space: "default".into(), id: id.into_bytes(), json: Some(json.into_bytes()) };
        ledger.apply(&[row], START).expect("a sound row");
    }
}

/// Nanoseconds per acquire and settle, over all entities in steps.
fn round(ledger: &Ledger, space: SpaceId, ids: &[String], now: u64, step: usize) -> f64 {
    let begun = cpu_ns();
    let mut at = 0;
    for _ in 0..ids.len() {
        once(ledger, space, &ids[at], now);
        at = (at + step) % ids.len();
    }
    (cpu_ns() - begun) as f64 / ids.len() as f64
}

/// Microseconds within which 99.99 % are done, and the slowest, whoever else wants the processor.
fn times(ledger: &Ledger, space: SpaceId, ids: &[String], now: u64) -> (f64, f64) {
    let time = |id: &String| {
        let begun = Instant::now();
        once(ledger, space, id, now);
        begun.elapsed().as_secs_f64() * 1e6
    };
    let mut times: Vec<f64> = ids.iter().map(time).collect();
    times.sort_unstable_by(f64::total_cmp);
    (times[times.len() - 1 - times.len() / 10_000], times[times.len() - 1])
}

fn once(ledger: &Ledger, space: SpaceId, id: &str, now: u64) {
    let charges = [Charge { entity: id.as_bytes(), resource: "gpt-4", cost: &[("rpm", 1), ("tpm", 500)] }];
    let request = Acquire { statuses: false, ..Acquire::new(space, &charges) };
    match ledger.acquire(&request, now) {
        Ok(Acquired::Granted(granted)) => {
            let lease = granted.lease.expect("a lease was wanted");
            ledger.settle(space, lease, &[("tpm", 400)], now).expect("the lease is there");
        }
        other => panic!("{other:?}"),
    }
}

/// Nanoseconds that this program has had a processor for: others may be at work beside it.
fn cpu_ns() -> u64 {
    let schedstat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    schedstat.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0)
}

/// Bytes of memory that are resident.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0) * 4096
}
