//! The process or the machine dies, at every step and at every byte.

use crate::scene::{crash, files, forgotten, key, keys, names, newest_log, open, write_files};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use tidegate_core::Tat;
use tidegate_store::keys::KeyRecord;

/// Checks that a crash at this moment forgets nothing and invents nothing.
fn check_crash(path: &Path, expected: &[KeyRecord]) {
    let copy = crash(path);
    let opened = open(copy.path()).unharmed();
    assert_eq!(opened.keys, keys(expected));
    assert!(names(copy.path()).iter().all(|name| !name.ends_with(".tmp")), "unfinished files are removed");
}

#[test]
fn a_crash_at_any_step_of_a_snapshot_forgets_nothing() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path();
    let mut opened = open(path);
    opened.snapshot(&[key(1, 10), key(2, 20)], 1);
    opened.store.append(&[key(3, 30)], 2).unwrap();
    check_crash(path, &[key(1, 10), key(2, 20), key(3, 30)]);
    let mut writer = opened.store.begin_snapshot(3).unwrap();
    check_crash(path, &[key(1, 10), key(2, 20), key(3, 30)]);
    writer.write(&[key(1, 10)]).unwrap();
    opened.store.append(&[forgotten(2), key(4, 40)], 4).unwrap();
    check_crash(path, &[key(1, 10), key(3, 30), key(4, 40)]);
    writer.write(&[key(3, 30)]).unwrap();
    check_crash(path, &[key(1, 10), key(3, 30), key(4, 40)]);

    let before = files(path);
    opened.store.finish_snapshot(writer, 5).unwrap();
    check_crash(path, &[key(1, 10), key(3, 30), key(4, 40)]);
    check_unfinished_removals(&before, &files(path), &[key(1, 10), key(3, 30), key(4, 40)]);
    opened.store.append(&[key(5, 50)], 6).unwrap();
    check_crash(path, &[key(1, 10), key(3, 30), key(4, 40), key(5, 50)]);
}

/// Every order of removals, cut off anywhere: each subset of the old files may be left beside the new ones.
fn check_unfinished_removals(
    before: &BTreeMap<String, Vec<u8>>,
    after: &BTreeMap<String, Vec<u8>>,
    expected: &[KeyRecord],
) {
    let old: Vec<_> = before.iter().filter(|(name, _)| !after.contains_key(*name)).collect();
    assert!(old.len() >= 2, "{old:?}");
    for subset in 0..1 << old.len() {
        let temp = tempfile::tempdir().unwrap();
        write_files(temp.path(), after);
        let left = old.iter().enumerate().filter(|(place, _)| subset & (1 << place) != 0);
        write_files(
            temp.path(),
            &left.map(|(_, (name, bytes))| ((*name).clone(), (*bytes).clone())).collect(),
        );
        assert_eq!(open(temp.path()).unharmed().keys, keys(expected));
        assert_eq!(names(temp.path()), after.keys().cloned().collect::<Vec<_>>(), "the rest is removed");
    }
}

#[test]
fn a_crash_before_the_new_snapshot_has_its_name_uses_the_old_one() {
    let temp = tempfile::tempdir().unwrap();
    let mut opened = open(temp.path());
    opened.snapshot(&[key(1, 10)], 1);
    let mut writer = opened.store.begin_snapshot(2).unwrap();
    writer.write(&[key(1, 99)]).unwrap();
    let copy = crash(temp.path());
    assert!(names(copy.path()).contains(&"keys-0000000003.snapshot.tmp".to_owned()));
    assert_eq!(open(copy.path()).unharmed().keys, keys(&[key(1, 10)]));
}

#[test]
fn a_snapshot_given_up_leaves_nothing_behind_and_forgets_nothing() {
    let temp = tempfile::tempdir().unwrap();
    let mut opened = open(temp.path());
    opened.store.append(&[key(1, 10)], 1).unwrap();
    let mut writer = opened.store.begin_snapshot(2).unwrap();
    writer.write(&[key(1, 10)]).unwrap();
    opened.store.append(&[key(2, 20)], 3).unwrap();
    drop(writer);
    assert_eq!(names(temp.path()), ["keys-0000000001.log", "keys-0000000002.log"]);
    opened.store.append(&[key(3, 30)], 4).unwrap();
    drop(opened);
    assert_eq!(open(temp.path()).unharmed().keys, keys(&[key(1, 10), key(2, 20), key(3, 30)]));
}

#[test]
fn a_tail_torn_at_any_byte_keeps_what_is_before_it_and_what_comes_later() {
    let temp = tempfile::tempdir().unwrap();
    let mut opened = open(temp.path());
    opened.store.append(&[key(1, 10), key(2, 20)], 1).unwrap();
    opened.store.sync().unwrap();
    let log = newest_log(temp.path()).unwrap();
    let whole = fs::metadata(&log).unwrap().len() as usize;
    // Its last byte is not 0, so that zeros in its place are a change.
    let last = KeyRecord { hash: 3, tat: Tat { ns: 30, rem: u32::MAX } };
    opened.store.append(&[key(2, 22), last], 2).unwrap();
    let bytes = fs::read(&log).unwrap();
    for length in whole..bytes.len() {
        let cut = bytes[..length].to_vec();
        // A file system may note the length before the bytes, and then has zeros in their place.
        let mut zeroed = bytes.clone();
        zeroed[length..].fill(0);
        for torn in [cut, zeroed] {
            let copy = crash(temp.path());
            fs::write(newest_log(copy.path()).unwrap(), &torn).unwrap();
            check_torn(copy.path(), (torn.len() - whole) as u64);
        }
    }
}

fn check_torn(path: &Path, torn_bytes: u64) {
    let mut opened = open(path);
    assert_eq!(opened.keys, keys(&[key(1, 10), key(2, 20)]));
    let report = &opened.recovered.report;
    assert_eq!(report.torn_tails.iter().map(|tail| tail.bytes).sum::<u64>(), torn_bytes);
    assert_eq!(report.set_aside, [], "a torn tail is no damage");
    assert!(!report.needs_snapshot());
    // The torn log is not written again, and stays as normal as it was.
    opened.store.append(&[key(4, 40)], 3).unwrap();
    drop(opened);
    let opened = open(path);
    assert_eq!(opened.keys, keys(&[key(1, 10), key(2, 20), key(4, 40)]));
    assert_eq!(opened.recovered.report.set_aside, []);
}

#[test]
fn blocks_that_reached_the_disk_out_of_order_are_a_torn_tail_too() {
    let temp = tempfile::tempdir().unwrap();
    let mut opened = open(temp.path());
    opened.store.append(&[key(1, 10)], 1).unwrap();
    opened.store.sync().unwrap();
    let log = newest_log(temp.path()).unwrap();
    let lost_from = fs::metadata(&log).unwrap().len() as usize;
    opened.store.append(&[key(2, 20)], 2).unwrap();
    let lost_to = fs::metadata(&log).unwrap().len() as usize;
    opened.store.append(&[key(3, 30)], 2).unwrap();
    drop(opened);
    let mut bytes = fs::read(&log).unwrap();
    bytes[lost_from..lost_to].fill(0);
    fs::write(&log, bytes).unwrap();
    let opened = open(temp.path());
    assert_eq!(opened.recovered.report.set_aside, []);
    assert_eq!(opened.recovered.report.torn_tails[0].at_byte, lost_from as u64);
    assert_eq!(opened.keys, keys(&[key(1, 10), key(3, 30)]));
}
