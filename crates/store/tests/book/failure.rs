//! The disk refuses, fills up, or cannot sync: nothing is lost, and the first success says so.

use crate::scene::{Memory, State, open, record, try_open, write_all};
use std::io::ErrorKind;
use tidegate_store::disk::simulated::{Fault, SimDisk};

#[test]
fn after_a_failure_at_any_call_the_next_sync_puts_everything_on_disk() {
    for seed in 0..10 {
        for at in 0..12 {
            let disk = SimDisk::new(seed);
            let mut opened = open(&disk);
            opened.put(1, 10);
            disk.inject(at, Fault::Error(ErrorKind::Other));
            let mut failures = 0;
            for value in 11..20 {
                opened.book.append(&record(1, value));
                opened.book.append(&record(value as u8, value));
                match opened.book.sync() {
                    Ok(()) => assert_eq!(opened.book.pending_bytes(), 0),
                    Err(error) => {
                        assert!(!error.is_fatal(), "{error}");
                        failures += 1;
                    }
                }
            }
            assert_eq!(failures, 1, "call {at}");
            disk.crash();
            drop(opened);
            let expected: State = (11..20).map(|value| (value as u8, value)).chain([(1, 19)]).collect();
            assert_eq!(open(&disk).state, expected, "seed {seed}, call {at}");
        }
    }
}

#[test]
fn a_failure_at_any_call_of_a_snapshot_loses_nothing() {
    for seed in 0..5 {
        for at in 0..16 {
            let disk = SimDisk::new(seed);
            let mut opened = open(&disk);
            let mut memory = Memory::default();
            for key in 1..6 {
                memory.note(key, 1);
                opened.put(key, 1);
            }
            disk.inject(at, Fault::Error(ErrorKind::Other));
            for value in 2..5 {
                if let Ok(mut snapshot) = opened.book.begin_snapshot()
                    && write_all(&mut snapshot, &memory.state).is_ok()
                {
                    opened.book.finish_snapshot(snapshot).unwrap_or_default();
                }
                memory.note(2, value);
                opened.book.append(&record(2, value));
            }
            while opened.book.sync().is_err() {}
            memory.note_synced();
            disk.crash();
            drop(opened);
            memory.check(&open(&disk).state, &format!("seed {seed}, call {at}"));
        }
    }
}

#[test]
fn a_full_disk_is_named_and_a_later_sync_works() {
    let disk = SimDisk::new(1);
    let mut opened = open(&disk);
    opened.put(1, 10);
    disk.set_capacity(Some(disk.used_bytes() + 10));
    opened.book.append(&record(3, 30));
    for _ in 0..3 {
        let error = opened.book.sync().unwrap_err();
        assert!(error.is_disk_full() && error.to_string().contains("book-"), "{error}");
        assert_eq!(error.hint(), "free some space on that disk");
    }
    disk.set_capacity(None);
    opened.book.sync().unwrap();
    disk.crash();
    drop(opened);
    assert_eq!(open(&disk).state, State::from([(1, 10), (3, 30)]));
    assert!(disk.files().keys().all(|name| !name.ends_with(".tmp")));
}

#[test]
fn more_than_can_be_kept_is_dropped_and_a_snapshot_makes_up_for_it() {
    let disk = SimDisk::new(1);
    let mut opened = open(&disk);
    opened.put(1, 10);
    disk.set_capacity(Some(disk.used_bytes()));
    opened.book.append(&record(2, 20));
    for _ in 0..5 {
        opened.book.append(&[7; 14 << 20]);
    }
    opened.book.sync().unwrap_err();
    assert_eq!(opened.book.pending_bytes(), 0);
    disk.set_capacity(None);
    opened.book.append(&record(3, 30));
    opened.book.sync().unwrap();
    assert!(opened.book.wants_snapshot(), "the record of 2 is in memory alone");
    opened.snapshot(&State::from([(1, 10), (2, 20), (3, 30)]));
    assert!(!opened.book.wants_snapshot());
    opened.put(4, 40);
    disk.crash();
    drop(opened);
    assert_eq!(open(&disk).state, State::from([(1, 10), (2, 20), (3, 30), (4, 40)]));
}

#[test]
fn what_was_read_at_a_start_is_on_disk_from_there_on() {
    for seed in 0..50 {
        let disk = SimDisk::new(seed);
        let mut opened = open(&disk);
        opened.put(1, 10);
        opened.book.append(&record(2, 20));
        disk.fail_next_sync(ErrorKind::Other);
        opened.book.sync().unwrap_err();
        // The process ends, and the machine does not: the next one reads what the disk never got.
        disk.kill();
        drop(opened);
        let opened = open(&disk);
        assert_eq!(opened.state, State::from([(1, 10), (2, 20)]));
        disk.crash();
        drop(opened);
        assert_eq!(open(&disk).state, State::from([(1, 10), (2, 20)]), "seed {seed}");
    }
}

#[test]
fn a_disk_that_cannot_even_list_its_files_is_an_error_of_open() {
    let disk = SimDisk::new(1);
    disk.inject(0, Fault::Error(ErrorKind::PermissionDenied));
    let error = try_open(&disk).map(|_| ()).unwrap_err();
    assert!(!error.is_fatal(), "{error}");
}
