//! What was added is there as a whole when the call has returned, and as a whole or not at all before.

use crate::scene::{FEBRUARY, MINUTE_MS, everything, minute, open};
use std::io::ErrorKind;
use tidegate_core::ledger::Window;
use tidegate_store::disk::simulated::{Fault, SimDisk};
use tidegate_store::history::{AuditQuery, AuditRow, Retention};
use tidegate_store::{Error, History};

/// The sum of everything in each window, and the number of events. All sums agree, or this fails.
fn count(history: &History) -> (i64, usize) {
    let sums = Window::ALL.map(|window| {
        let totals = history.usage(&everything(window)).unwrap().totals;
        totals.first().map_or(0, |total| total.amount)
    });
    assert!(sums.iter().all(|sum| *sum == sums[0]), "{sums:?}");
    let query = AuditQuery {
        namespace: "default",
        subject: Some("a"),
        from_ms: 0,
        to_ms: u64::MAX,
        before: None,
        max: 1_000,
    };
    (sums[0], history.audit(&query).unwrap().len())
}

/// Adds minutes and events in ten steps, and sums up after each. Counts the steps that were done.
fn live(disk: &SimDisk, done: &mut i64, under_way: &mut bool) -> Result<(), Error> {
    let (history, _) = History::open(disk)?;
    while *done < 10 {
        let at = FEBRUARY + 10 * *done as u32;
        let entities = ["a", "b", "c"];
        let minutes = entities.map(|entity| minute(entity, "tpm", at, 1));
        let audit = [AuditRow { namespace: "default", at_ms: *done as u64, subject: "a", json: &[7; 3_000] }];
        *under_way = true;
        history.add(&minutes, &audit)?;
        *under_way = false;
        *done += 1;
        history.forget(&Retention::default(), u64::from(at) * MINUTE_MS, 2)?;
    }
    Ok(())
}

#[test]
fn a_crash_at_any_call_leaves_every_addition_whole_and_sums_that_agree() {
    let calls = {
        let disk = SimDisk::new(0);
        live(&disk, &mut 0, &mut false).unwrap();
        disk.calls()
    };
    for seed in 0..3 {
        for at in (seed..calls).step_by(3) {
            let context = format!("seed {seed}, call {at} of {calls}");
            let disk = SimDisk::new(seed * 10_000 + at);
            let (mut done, mut under_way) = (0, false);
            disk.inject(at, Fault::Crash);
            live(&disk, &mut done, &mut under_way).unwrap_or_default();
            disk.crash();
            let (amount, events) = count(&open(&disk));
            let steps = amount / 3;
            assert_eq!((amount % 3, events as i64), (0, steps), "{context}");
            assert!(steps == done || (under_way && steps == done + 1), "{context}: {steps}, not {done}");
            // Told again from the last step that was confirmed on, as a ledger does.
            live(&disk, &mut done, &mut under_way).unwrap();
            assert_eq!(count(&open(&disk)).0, 30, "{context}");
        }
    }
}

#[test]
fn a_full_disk_fails_the_addition_and_a_later_one_works() {
    let disk = SimDisk::new(1);
    let history = open(&disk);
    history.add(&[minute("a", "tpm", FEBRUARY, 1)], &[]).unwrap();
    disk.set_capacity(Some(disk.used_bytes()));
    let json = vec![7; 8 << 20];
    let large = [AuditRow { namespace: "default", at_ms: 1, subject: "a", json: &json }];
    let error = history.add(&[minute("a", "tpm", FEBRUARY + 1, 1)], &large).unwrap_err();
    assert!(error.is_disk_full() && !error.is_fatal(), "{error}");
    assert_eq!(error.hint(), "free some space on that disk");
    assert_eq!(count(&history), (1, 0));
    disk.set_capacity(None);
    history.add(&[minute("a", "tpm", FEBRUARY + 1, 1)], &large).unwrap();
    assert_eq!(count(&history), (2, 1));
}

#[test]
fn what_a_start_finds_after_a_failure_at_any_call_is_on_disk_from_there_on() {
    // On many pages, most of which the next addition does not touch.
    let entities: Vec<_> = (0..400).map(|n| format!("{n:0>100}")).collect();
    let many: Vec<_> = entities.iter().map(|entity| minute(entity, "tpm", FEBRUARY, 1)).collect();
    let calls = {
        let disk = SimDisk::new(0);
        let history = open(&disk);
        let before = disk.calls();
        history.add(&many, &[]).unwrap();
        disk.calls() - before
    };
    for seed in 0..6 {
        for at in 0..calls {
            let disk = SimDisk::new(seed * 1_000 + at);
            let history = open(&disk);
            disk.inject(at, Fault::Error(ErrorKind::Other));
            let added = history.add(&many, &[]);
            // The process ends, and the machine does not: the next one may read what the disk never got.
            disk.kill();
            drop(history);
            disk.clear_faults();
            let history = open(&disk);
            let found = count(&history).0;
            assert!(found == 400 || (found == 0 && added.is_err()), "seed {seed}, call {at}: {found}");
            history.add(&[minute("a", "tpm", FEBRUARY + 1, 1)], &[]).unwrap();
            disk.crash();
            drop(history);
            assert_eq!(count(&open(&disk)).0, found + 1, "seed {seed}, call {at}");
        }
    }
}

#[test]
fn a_file_that_is_no_history_is_set_aside() {
    let disk = SimDisk::new(1);
    disk.put("history.redb", &[7; 10_000]);
    disk.put("history.redb.corrupt-1", b"older");
    let (history, lines) = History::open(&disk).unwrap();
    assert!(lines.len() == 1 && lines[0].contains("history.redb.corrupt-2"), "{lines:?}");
    assert_eq!(count(&history), (0, 0));
    assert_eq!(disk.files()["history.redb.corrupt-2"], [7; 10_000]);
}
