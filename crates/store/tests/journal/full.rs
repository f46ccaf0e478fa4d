//! A full disk refuses and recovers; a failed sync is the end.

use crate::scene::{Opened, fresh, open, open_with, payload};
use std::io::ErrorKind;
use tidegate_store::disk::simulated::{Fault, SimDisk};
use tidegate_store::journal::JournalOptions;

/// Puts messages until the journal says that it is full.
fn fill(opened: &mut Opened<SimDisk>) {
    for id in 1..5_000 {
        opened.put(id, &fresh(id, 1));
        opened.flush();
        if opened.journal.is_full() {
            return;
        }
    }
    panic!("the disk never filled up");
}

#[test]
fn a_disk_that_fills_up_is_noticed_while_acks_still_fit() {
    let disk = SimDisk::new(1);
    disk.set_capacity(Some(300_000));
    let mut opened =
        open_with(&disk, JournalOptions { segment_bytes: 64 << 10, salt: 1, ..JournalOptions::default() })
            .unwrap();
    fill(&mut opened);
    let count = opened.messages.len() as u64;
    // Acks and reads go on, and give the space back.
    opened.check_bodies();
    for id in 1..=count {
        opened.gone(id);
        if id % 4 == 0 {
            opened.flush();
        }
    }
    opened.flush();
    assert!(!opened.journal.is_full());
    opened.put(9_000, &fresh(9_000, 1));
    opened.flush();
    assert_eq!(open(&disk).unharmed().messages, opened.messages);
}

#[test]
fn the_full_flag_is_looked_at_again_without_new_records() {
    let disk = SimDisk::new(1);
    disk.set_capacity(Some(20_000));
    let mut opened = open(&disk);
    fill(&mut opened);
    disk.set_capacity(None);
    opened.flush();
    assert!(!opened.journal.is_full());
    assert!(opened.journal.take_batch().is_none());
}

#[test]
fn a_batch_that_did_not_fit_is_written_again() {
    let disk = SimDisk::new(1);
    let mut opened = open(&disk);
    opened.put(1, &fresh(1, 1));
    opened.flush();
    let before = opened.messages.clone();
    disk.set_capacity(Some(disk.used_bytes() + 100));
    (10..30).for_each(|id| opened.put(id, &fresh(id, 1)));
    let batch = opened.journal.take_batch().unwrap();
    for _ in 0..3 {
        let error = batch.write().unwrap_err();
        assert!(error.is_disk_full() && !error.is_fatal(), "{error}");
        assert_eq!(error.hint(), "free some space on that disk");
    }
    assert!(opened.journal.is_full());
    // Reads go on, also of what is not written; and dying now loses nothing that was synced.
    assert_eq!(opened.journal.reader().read(opened.places[&1]).unwrap().message().payload, payload(1));
    assert_eq!(opened.journal.read(opened.places[&12]).unwrap().message().payload, payload(12));
    let copy = SimDisk::new(2);
    disk.files().iter().for_each(|(name, bytes)| copy.put(name, bytes));
    assert!(open(&copy).messages.len() >= before.len());

    disk.set_capacity(None);
    batch.write().unwrap();
    batch.sync().unwrap();
    batch.reclaim().unwrap();
    drop(batch);
    opened.check_bodies();
    disk.crash();
    assert_eq!(open(&disk).unharmed().messages, opened.messages);
}

#[test]
fn an_error_at_any_call_is_followed_by_another_try_or_is_fatal() {
    for calls in 0..60 {
        let disk = SimDisk::new(calls);
        let mut opened = open(&disk);
        let mut synced = opened.messages.clone();
        // Segments are made, sealed and removed on the way.
        for id in 1..60 {
            if id == 12 {
                disk.inject(calls, Fault::Error(ErrorKind::StorageFull));
            }
            opened.put(id, &fresh(id, 1));
            if id > 20 {
                opened.gone(id - 20);
            }
            if id % 3 == 0
                && let Some(batch) = opened.journal.take_batch()
            {
                let written =
                    batch.write().or_else(|error| if error.is_fatal() { Err(error) } else { batch.write() });
                if let Err(error) = written.and_then(|()| batch.sync()) {
                    assert!(error.is_fatal(), "{error}");
                    break;
                }
                synced = opened.messages.clone();
                batch.reclaim().unwrap_or_default();
            }
        }
        disk.crash();
        let again = open(&disk).messages;
        assert!(synced.keys().all(|id| again.contains_key(id) || !opened.messages.contains_key(id)));
    }
}

#[test]
fn a_failed_sync_is_fatal_for_good() {
    let disk = SimDisk::new(1);
    let mut opened = open(&disk);
    opened.put(1, &fresh(1, 1));
    opened.flush();
    opened.put(2, &fresh(2, 1));
    let batch = opened.journal.take_batch().unwrap();
    batch.write().unwrap();
    disk.fail_next_sync(ErrorKind::Other);
    let error = batch.sync().unwrap_err();
    assert!(error.is_fatal(), "{error}");
    // The system would say that all is well now. It is not.
    assert!(batch.sync().unwrap_err().is_fatal());
    opened.put(3, &fresh(3, 1));
    let batch = opened.journal.take_batch().unwrap();
    assert!(batch.write().unwrap_err().is_fatal());
    disk.crash();
    assert!(open(&disk).messages.contains_key(&1));
}
