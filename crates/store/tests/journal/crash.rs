//! Crashes at any call: what was synced is there, and of the rest a beginning.

use crate::life::Life;
use crate::scene::{OPTIONS, fresh, open, open_with};
use tidegate_core::queue::MessageId;
use tidegate_store::disk::simulated::{Fault, SimDisk};
use tidegate_store::journal::Record;

#[test]
fn a_crash_at_any_call_leaves_a_state_since_the_last_sync() {
    for seed in 0..200 {
        let mut life = Life::new(seed);
        for _ in 0..6 {
            life.run(60);
            life.crash();
        }
    }
}

#[test]
fn the_same_seed_leads_the_same_life() {
    let files = |seed| {
        let mut life = Life::new(seed);
        life.run(100);
        life.crash();
        life.disk.files()
    };
    assert_eq!(files(7), files(7));
    assert_ne!(files(7), files(8));
}

#[test]
fn a_crash_during_recovery_changes_nothing() {
    for seed in 0..50 {
        let mut life = Life::new(seed);
        life.run(60);
        life.disk.crash();
        // Every call of the recovery is the last one once, each time on what the one before left.
        for calls in 0.. {
            life.disk.inject(calls, Fault::Crash);
            let opened = open_with(&life.disk, OPTIONS);
            if !life.disk.is_down() {
                opened.unwrap();
                break;
            }
            assert!(opened.is_err());
            life.disk.crash();
        }
        life.crash();
    }
}

#[test]
fn an_index_is_never_there_without_its_records() {
    for seed in 0..200 {
        let disk = SimDisk::new(seed);
        let mut opened = open(&disk);
        // Written and never synced, until the next segment wants this one complete.
        (1..40).for_each(|id| opened.put(id, &fresh(id, 1)));
        opened.journal.take_batch().unwrap().write().unwrap();
        opened.put(40, &fresh(40, 1));
        let batch = opened.journal.take_batch().unwrap();
        disk.inject(seed % 8, Fault::Crash);
        batch.write().unwrap_or_default();
        disk.crash();
        open(&disk).check_bodies();
    }
}

#[test]
fn no_segment_outlives_one_that_ends_its_messages() {
    for seed in 0..100 {
        let disk = SimDisk::new(seed);
        let mut opened = open(&disk);
        for id in 1..40 {
            opened.put(id, &fresh(id, 1));
            opened.flush();
        }
        // The ends of all messages go to segments of their own, and all segments go at once.
        for round in 0..40 {
            (1..40).filter(|id| id % 40 == round).for_each(|id| opened.gone(id));
            (0..40).for_each(|_| opened.append(&Record::Extended { id: MessageId(9_999), deadline: round }));
            let batch = opened.journal.take_batch().unwrap();
            batch.write().unwrap();
            batch.sync().unwrap();
            if round == 39 {
                disk.inject(seed % 30, Fault::Crash);
                batch.reclaim().unwrap_or_default();
            }
        }
        disk.crash();
        assert_eq!(open(&disk).messages.len(), 0);
    }
}

#[test]
fn what_a_failed_sync_left_in_memory_is_on_disk_after_the_next_start() {
    for seed in 0..50 {
        let disk = SimDisk::new(seed);
        let mut opened = open(&disk);
        (1..5).for_each(|id| opened.put(id, &fresh(id, 1)));
        let batch = opened.journal.take_batch().unwrap();
        batch.write().unwrap();
        disk.fail_next_sync(std::io::ErrorKind::Other);
        assert!(batch.sync().unwrap_err().is_fatal());
        // The process ends, and the machine does not: the next one reads what the disk never got.
        disk.kill();
        let found = open(&disk).messages;
        disk.crash();
        let opened = open(&disk);
        assert_eq!(opened.messages, found, "seed {seed}");
        opened.check_bodies();
    }
}
