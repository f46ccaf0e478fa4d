//! Data of a server that knew throttle keys only: its limits become terms of entities, levels and all.

use std::fs;
use std::path::Path;

use tidegate_store::disk::simulated::{Fault, SimDisk};

use crate::harness::{Bench, SECOND, payloads};

/// When the fixture was written.
const WRITTEN: u64 = 0x01a1_dffa_fa94_0000 >> 16;

fn fixture() -> SimDisk {
    let disk = SimDisk::new(3);
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/queue-v1");
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        disk.put(path.file_name().unwrap().to_str().unwrap(), &fs::read(&path).unwrap());
    }
    disk
}

fn check(bench: &mut Bench) {
    let ledger = bench.engine.ledger().clone();
    let (space, team) = (ledger.space("default").unwrap(), ledger.space("team").unwrap());
    let tokens = |space, key: &[u8]| ledger.key(space, key, bench.now).map(|key| key.tokens);
    assert_eq!(tokens(space, b"p"), Some(3), "7 of 10 were taken, and an hour brings 10");
    assert_eq!(tokens(space, b"fast"), Some(100));
    assert_eq!(tokens(team, b"p"), Some(5));
    assert_eq!(bench.engine.directory().setting("team", "k").as_deref(), Some("v"));
}

#[test]
fn limits_levels_and_messages_of_version_1_are_there() {
    let mut bench = Bench::open(fixture(), (WRITTEN + 1_000) * 1_000_000);
    assert!(bench.report.ledger.iter().any(|line| line.contains("version 1")), "{:?}", bench.report.ledger);
    check(&mut bench);
    assert_eq!(payloads(&bench.receive("q", 10)), ["hello", "there"], "3 tokens pay for 1 and 2");
    bench.pass(SECOND);
    let bench = bench.restart(SimDisk::crash);
    assert!(bench.report.ledger.iter().all(|line| !line.contains("version 1")), "it is done once");
    let key = bench.engine.ledger().key(bench.space(), b"p", bench.now).unwrap();
    assert_eq!((key.tokens, key.limit.unwrap().burst()), (0, 10));
}

#[test]
fn an_upgrade_that_a_crash_ends_begins_again() {
    let now = (WRITTEN + 1_000) * 1_000_000;
    // Each costs a whole start: a sample of the calls, and the last ones, where the book is written and the catalog is not.
    for call in (0..200).step_by(9).chain(20..40) {
        let disk = fixture();
        disk.inject(call, Fault::Crash);
        let opened =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| Bench::open(disk.clone(), now)));
        if disk.is_down() {
            drop(opened);
            disk.clear_faults();
            disk.crash();
            check(&mut Bench::open(disk, now));
        }
    }
}
