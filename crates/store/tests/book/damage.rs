//! Files that are not as they were written: all that can be read is used, nothing is thrown away, and the book always
//! opens.

use crate::scene::{Opened, State, open, try_open, write_all};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use tidegate_store::book::{Flaw, VERSION};
use tidegate_store::disk::simulated::SimDisk;

const HEADER_BYTES: usize = 36;

/// A sound book: a snapshot of keys 1 to 3, a sealed log with keys 11 to 13, and an open one with 21 to 23.
struct Sound {
    files: BTreeMap<String, Vec<u8>>,
    state: State,
}

/// Made once: every test damages a copy.
static SOUND: LazyLock<Sound> = LazyLock::new(|| {
    let disk = SimDisk::new(1);
    let mut opened = open(&disk);
    let mut snapshot = opened.book.begin_snapshot().unwrap();
    write_all(&mut snapshot, &State::from([(1, 1), (2, 2), (3, 3)])).unwrap();
    opened.book.finish_snapshot(snapshot).unwrap();
    for key in 11..14 {
        opened.put(key, 10);
    }
    drop(opened.book.begin_snapshot().unwrap());
    for key in 21..24 {
        opened.put(key, 20);
    }
    drop(opened);
    Sound { files: disk.files(), state: open(&disk).state }
});

impl Sound {
    fn copy_with(&self, file: &str, bytes: &[u8]) -> SimDisk {
        let disk = SimDisk::new(1);
        self.files.iter().for_each(|(name, bytes)| disk.put(name, bytes));
        disk.put(file, &[]);
        disk.put(file, bytes);
        disk
    }
}

/// The keys that are only in this file.
fn keys_of(file: &str) -> std::ops::Range<u8> {
    match file {
        "book-0000000002.snapshot" => 1..4,
        "book-0000000002.log" => 11..14,
        "book-0000000003.log" => 21..24,
        other => panic!("no such file: {other}"),
    }
}

/// Checks what always holds when one file is damaged.
fn check_damaged(disk: &SimDisk, file: &str) -> Opened {
    let before = disk.files();
    let opened = try_open(disk).unwrap();
    for (key, value) in SOUND.state.iter().filter(|(key, _)| !keys_of(file).contains(key)) {
        assert_eq!(opened.state.get(key), Some(value), "a key of another file");
    }
    for (key, value) in &opened.state {
        assert_eq!(SOUND.state.get(key), Some(value), "a value that was written");
    }
    let after = disk.files();
    for (name, bytes) in &before {
        let kept = [after.get(name), after.get(&format!("{name}.corrupt-1"))];
        assert!(kept.contains(&Some(bytes)), "{name} is neither changed nor gone");
    }
    opened
}

/// After the next snapshot the book is sound, and what was set aside is still there.
fn check_replaced_by_snapshot(mut opened: Opened, disk: &SimDisk) {
    let set_aside = opened.report.set_aside.clone();
    assert_eq!(opened.book.wants_snapshot(), !set_aside.is_empty());
    let state = opened.state.clone();
    opened.snapshot(&state);
    assert!(!opened.book.wants_snapshot());
    drop(opened);
    assert!(set_aside.iter().all(|aside| disk.files().contains_key(&aside.kept_as)));
    let opened = open(disk);
    assert_eq!((opened.state, opened.report.lines()), (state, Vec::new()));
}

#[test]
fn a_flipped_bit_at_any_byte_of_any_file_is_noticed_and_costs_one_block_at_most_or_the_file_with_its_header()
{
    for (file, bytes) in &SOUND.files {
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            let disk = SOUND.copy_with(file, &flipped);
            let opened = check_damaged(&disk, file);
            let report = &opened.report;
            assert_eq!(
                report.set_aside.len() + report.torn_tails.len(),
                1,
                "byte {at} of {file}: {report:?}"
            );
            let lost = SOUND.state.len() - opened.state.len();
            match (at < HEADER_BYTES, file.ends_with("snapshot")) {
                // The three records of the snapshot are in one block.
                (true, _) => assert_eq!(lost, 3, "byte {at} of {file}"),
                (false, true) => assert!(lost == 3 || lost == 0, "byte {at} of {file}: lost {lost}"),
                (false, false) => assert!(lost <= 1, "byte {at} of {file}: lost {lost}"),
            }
            if at % 7 == 0 {
                check_replaced_by_snapshot(opened, &disk);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_bytes_in_any_place_are_survived(
        file in 0usize..3,
        at in 0usize..5_000,
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        is_cut in any::<bool>(),
    ) {
        let (file, sound) = SOUND.files.iter().nth(file).unwrap();
        let at = at % (sound.len() + 1);
        let mut damaged = sound[..at].to_vec();
        damaged.extend_from_slice(&bytes);
        if !is_cut && sound.len() > damaged.len() {
            damaged.extend_from_slice(&sound[damaged.len()..]);
        }
        let disk = SOUND.copy_with(file, &damaged);
        let opened = check_damaged(&disk, file);
        check_replaced_by_snapshot(opened, &disk);
    }
}

#[test]
fn a_file_from_the_future_or_from_elsewhere_is_set_aside_at_once() {
    let file = "book-0000000002.log";
    let mut newer = SOUND.files[file].clone();
    newer[8..12].copy_from_slice(&(VERSION + 1).to_le_bytes());
    let cases = [
        (newer, Flaw::Newer { version: VERSION + 1 }),
        (SOUND.files["book-0000000003.log"].clone(), Flaw::Misnamed),
        (b"my notes".to_vec(), Flaw::Magic),
        (Vec::new(), Flaw::Magic),
    ];
    for (bytes, flaw) in cases {
        let disk = SOUND.copy_with(file, &bytes);
        let opened = check_damaged(&disk, file);
        assert_eq!(opened.report.set_aside[0].flaw, flaw);
        assert_eq!(disk.files()["book-0000000002.log.corrupt-1"], bytes);
        let line = &opened.report.lines()[0];
        assert!(line.contains(file) && line.contains("it is kept as"), "{line}");
    }
}

#[test]
fn a_damaged_snapshot_is_not_the_reason_to_drop_the_files_before_it() {
    let disk = SimDisk::new(1);
    let mut opened = open(&disk);
    opened.put(1, 10);
    let old = disk.files();
    opened.snapshot(&State::from([(1, 10)]));
    opened.put(2, 20);
    drop(opened);
    // A crash brought back what the snapshot had replaced, and then the snapshot went bad.
    old.iter().for_each(|(name, bytes)| disk.put(name, bytes));
    let file = "book-0000000002.snapshot";
    let mut bytes = disk.files()[file].clone();
    bytes[HEADER_BYTES + 10] ^= 1;
    disk.put(file, &bytes);
    let opened = try_open(&disk).unwrap();
    assert_eq!(opened.state, State::from([(1, 10), (2, 20)]));
    assert_eq!(opened.report.set_aside[0].file, file);
}

#[test]
fn names_that_are_not_ours_are_left_alone() {
    let disk = SimDisk::new(1);
    for name in ["book-1.log", "books", "book-0000000001.log.bak", "book-0000000001.log.corrupt-1"] {
        disk.put(name, b"mine");
    }
    disk.put("book-0000000001.log.tmp", b"ours, and unfinished");
    let before = disk.files();
    let mut opened = open(&disk);
    opened.snapshot(&State::from([(1, 10)]));
    let after = disk.files();
    let expected = before.iter().filter(|(name, _)| !name.ends_with(".tmp"));
    assert!(expected.clone().count() == 4 && expected.clone().all(|(name, bytes)| after[name] == *bytes));
}
