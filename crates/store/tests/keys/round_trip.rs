//! What is written comes back, and the last state of a key counts.

use crate::scene::{HASH_KEY, crash, forgotten, key, keys, names, open, open_with};
use std::fs;
use tidegate_core::Tat;
use tidegate_store::DataDir;
use tidegate_store::keys::{KeyRecord, Options, Recovery};

#[test]
fn a_new_directory_holds_nothing_and_takes_the_fresh_hash_key() {
    let temp = tempfile::tempdir().unwrap();
    let mut opened = open(temp.path()).unharmed();
    assert_eq!(opened.recovered.hash_key, HASH_KEY);
    assert_eq!(opened.recovered.newest_now_ns, 0);
    assert!(opened.keys.is_empty());
    assert!(!opened.store.wants_snapshot());
    opened.store.append(&[], 1).unwrap();
    opened.store.sync().unwrap();
    assert!(names(temp.path()).is_empty(), "an idle server writes nothing");
}

#[test]
fn appended_keys_come_back_with_their_hash_key_and_time() {
    let temp = tempfile::tempdir().unwrap();
    let records =
        [key(1, 10), key(2, 20), KeyRecord { hash: u128::MAX, tat: Tat { ns: u64::MAX, rem: u32::MAX } }];
    let mut opened = open(temp.path());
    opened.store.append(&records[..1], 1_000).unwrap();
    opened.store.append(&records[1..], 999).unwrap();
    opened.store.sync().unwrap();
    drop(opened);
    let opened = open_with(temp.path(), [0; 16]).unharmed();
    assert_eq!(opened.keys, keys(&records));
    assert_eq!(opened.recovered.hash_key, HASH_KEY, "the fresh key is for an empty directory");
    assert_eq!(opened.recovered.newest_now_ns, 1_000);
    assert_eq!((opened.recovered.report.snapshot_records, opened.recovered.report.log_records), (0, 3));
}

#[test]
fn the_hash_key_is_known_before_the_first_record() {
    let temp = tempfile::tempdir().unwrap();
    open(temp.path()).store.append(&[key(1, 10)], 1).unwrap();
    let dir = DataDir::open(temp.path()).unwrap();
    let recovery = Recovery::start(&dir, [0; 16], Options::default()).unwrap();
    assert_eq!(recovery.hash_key(), HASH_KEY);
    let mut read = Vec::new();
    recovery.replay(|records| read.extend_from_slice(records)).unwrap();
    assert_eq!(read, [key(1, 10)]);
}

#[test]
fn the_last_state_wins_over_log_snapshot_and_restarts() {
    let temp = tempfile::tempdir().unwrap();
    let mut opened = open(temp.path());
    opened.store.append(&[key(1, 10), key(1, 11), key(2, 20), key(3, 30), key(4, 40)], 1).unwrap();
    opened.snapshot(&[key(1, 11), key(2, 20), key(3, 30), key(4, 40)], 2);
    opened.store.append(&[key(2, 21)], 3).unwrap();
    drop(opened);
    let mut opened = open(temp.path()).unharmed();
    opened.store.append(&[key(3, 31), key(2, 19)], 4).unwrap();
    drop(opened);
    let opened = open(temp.path()).unharmed();
    assert_eq!(opened.keys, keys(&[key(1, 11), key(2, 19), key(3, 31), key(4, 40)]));
    assert_eq!(opened.recovered.newest_now_ns, 4);
}

#[test]
fn a_tombstone_forgets_until_the_key_is_seen_again() {
    let temp = tempfile::tempdir().unwrap();
    let mut opened = open(temp.path());
    opened.store.append(&[key(1, 10), key(2, 20)], 1).unwrap();
    opened.snapshot(&[key(1, 10), key(2, 20)], 2);
    opened.store.append(&[forgotten(1), forgotten(2)], 3).unwrap();
    opened.store.append(&[key(2, 22)], 4).unwrap();
    drop(opened);
    assert_eq!(open(temp.path()).unharmed().keys, keys(&[key(2, 22)]));
}

#[test]
fn more_records_than_a_block_holds_come_back_in_order_and_in_chunks() {
    let temp = tempfile::tempdir().unwrap();
    let logged: Vec<_> = (0..5_000).map(|n| key(n % 4_000, n as u64 + 1)).collect();
    let kept: Vec<_> = (10_000..30_000).map(|n| key(n, 5)).collect();
    let mut opened = open(temp.path());
    opened.snapshot(&kept, 1);
    opened.store.append(&logged, 2).unwrap();
    drop(opened);
    let dir = DataDir::open(temp.path()).unwrap();
    let mut read = Vec::new();
    let recovery = Recovery::start(&dir, HASH_KEY, Options::default()).unwrap();
    let visit = |records: &[KeyRecord]| {
        assert!(records.len() <= 2_048);
        read.extend_from_slice(records);
    };
    recovery.replay(visit).unwrap();
    assert_eq!(read, [kept, logged].concat());
}

#[test]
fn a_snapshot_leaves_one_generation() {
    let temp = tempfile::tempdir().unwrap();
    let mut opened = open(temp.path());
    for round in 1..4 {
        opened.store.append(&[key(1, round)], round).unwrap();
        opened.snapshot(&[key(1, round)], round);
    }
    assert_eq!(names(temp.path()), ["keys-0000000004.snapshot"]);
    opened.store.append(&[key(1, 9)], 9).unwrap();
    assert_eq!(names(temp.path()), ["keys-0000000004.log", "keys-0000000004.snapshot"]);
}

#[test]
fn many_short_logs_call_for_a_snapshot() {
    let temp = tempfile::tempdir().unwrap();
    for restart in 1u32..=16 {
        let mut opened = open(temp.path()).unharmed();
        opened.store.append(&[key(restart.into(), 1)], restart.into()).unwrap();
        assert!(!opened.store.wants_snapshot());
    }
    let mut opened = open(temp.path()).unharmed();
    opened.store.append(&[key(17, 1)], 17).unwrap();
    assert!(opened.store.wants_snapshot());
    assert_eq!(opened.keys.len(), 16);
}

#[test]
fn files_of_others_are_left_alone() {
    let temp = tempfile::tempdir().unwrap();
    let others = ["notes.txt", "keys-1.log", "keys-0000000001.log.bak", "keys-0000000001.log.corrupt-1"];
    for name in others {
        fs::write(temp.path().join(name), name).unwrap();
    }
    fs::create_dir(temp.path().join("keys-0000000002.log")).unwrap();
    fs::create_dir(temp.path().join("keys-0000000002.log.tmp")).unwrap();
    let mut opened = open(temp.path()).unharmed();
    opened.store.append(&[key(1, 10)], 1).unwrap();
    opened.snapshot(&[key(1, 10)], 2);
    for name in others {
        assert_eq!(fs::read_to_string(temp.path().join(name)).unwrap(), name);
    }
    drop(opened);
    assert_eq!(open(temp.path()).unharmed().keys, keys(&[key(1, 10)]));
}

#[test]
fn an_append_that_cannot_start_its_log_fails_once_and_the_next_one_starts_another() {
    let temp = tempfile::tempdir().unwrap();
    // Something is in the way of the first log.
    let obstacle = temp.path().join("keys-0000000001.log.tmp");
    fs::create_dir(&obstacle).unwrap();
    let mut opened = open(temp.path());
    let error = opened.store.append(&[key(1, 10)], 1).unwrap_err();
    assert!(error.to_string().contains(obstacle.to_str().unwrap()), "{error}");
    assert!(opened.store.wants_snapshot());
    opened.store.append(&[key(1, 10)], 2).unwrap();
    assert_eq!(open(crash(temp.path()).path()).unharmed().keys, keys(&[key(1, 10)]));
}
