//! Files that are not as they were written: all that can be read is used, nothing is thrown away, and the
//! store always opens.

use crate::scene::{
    HASH_KEY, Keys, Opened, crash, files, key, keys, names, open, open_with, records, write_files,
};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;
use tempfile::TempDir;
use tidegate_store::keys::{Flaw, VERSION};

/// A sound directory.
struct Sound {
    files: BTreeMap<String, Vec<u8>>,
    keys: Keys,
}

/// Made once: every test damages a copy.
static SOUND: LazyLock<Sound> = LazyLock::new(|| {
    let temp = tempfile::tempdir().unwrap();
    write_three_files(temp.path());
    Sound { files: files(temp.path()), keys: open(temp.path()).unharmed().keys }
});

impl Sound {
    fn copy(&self) -> TempDir {
        let temp = tempfile::tempdir().unwrap();
        write_files(temp.path(), &self.files);
        temp
    }

    fn copy_with(&self, file: &str, bytes: &[u8]) -> TempDir {
        let temp = self.copy();
        fs::write(temp.path().join(file), bytes).unwrap();
        temp
    }
}

/// A snapshot of three blocks, a sealed log and an open one, with a sync after every append.
fn write_three_files(path: &Path) {
    let mut opened = open(path);
    let mut writer = opened.store.begin_snapshot(1).unwrap();
    for records in [[key(1, 10), key(2, 20)], [key(3, 30), key(4, 40)], [key(5, 50), key(6, 60)]] {
        writer.write(&records).unwrap();
    }
    opened.store.finish_snapshot(writer, 2).unwrap();
    for (hash, ns) in [(11, 10), (12, 20), (13, 30)] {
        opened.store.append(&[key(hash, ns)], 3).unwrap();
        opened.store.sync().unwrap();
    }
    drop(opened.store.begin_snapshot(4).unwrap());
    for (hash, ns) in [(21, 10), (22, 20), (23, 30)] {
        opened.store.append(&[key(hash, ns)], 5).unwrap();
        opened.store.sync().unwrap();
    }
}

/// The hashes of the keys that are only in this file.
fn hashes_of(file: &str) -> std::ops::Range<u128> {
    match file {
        "keys-0000000002.snapshot" => 1..7,
        "keys-0000000002.log" => 11..14,
        "keys-0000000003.log" => 21..24,
        other => panic!("no such file: {other}"),
    }
}

/// Checks what always holds when one file is damaged.
fn check_damaged(path: &Path, file: &str) -> Opened {
    let before = files(path);
    let opened = open(path);
    let (own, others): (Keys, Keys) = SOUND.keys.iter().partition(|(hash, _)| hashes_of(file).contains(hash));
    for (hash, tat) in &others {
        assert_eq!(opened.keys.get(hash), Some(tat), "a key of another file");
    }
    for (hash, tat) in &opened.keys {
        assert_eq!(own.get(hash).or(others.get(hash)), Some(tat), "a key that was written");
    }
    let after = files(path);
    for (name, bytes) in &before {
        let kept = [after.get(name), after.get(&format!("{name}.corrupt-1"))];
        assert!(kept.contains(&Some(bytes)), "{name} is neither changed nor gone");
    }
    opened
}

#[test]
fn a_flipped_bit_at_any_byte_of_any_file_loses_one_block_at_most_or_the_file_with_its_header() {
    for (file, bytes) in &SOUND.files {
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            let copy = SOUND.copy_with(file, &flipped);
            let opened = check_damaged(copy.path(), file);
            let lost = SOUND.keys.len() - opened.keys.len();
            let report = &opened.recovered.report;
            assert!(report.set_aside.len() + report.torn_tails.len() == 1, "byte {at} of {file}: {report:?}");
            match at < 44 {
                true => assert_eq!(lost, hashes_of(file).count(), "byte {at} of {file}"),
                false => assert!(lost <= 2, "byte {at} of {file}: lost {lost}"),
            }
            // Waits for the disk, so not every time; 7 meets each bit in turn.
            if at % 7 == 0 {
                check_replaced_by_snapshot(opened, copy.path());
            }
        }
    }
}

/// After the next snapshot the directory is sound, and what was set aside is still there.
fn check_replaced_by_snapshot(mut opened: Opened, path: &Path) {
    let report = opened.recovered.report.clone();
    assert_eq!(opened.store.wants_snapshot(), report.needs_snapshot());
    let records = records(&opened.keys);
    opened.snapshot(&records, 9);
    assert!(!opened.store.wants_snapshot());
    drop(opened);
    assert_eq!(open(path).unharmed().keys, keys(&records));
    let aside: Vec<_> = report.set_aside.into_iter().map(|set_aside| set_aside.kept_as).collect();
    let kept: Vec<_> = names(path).into_iter().filter(|name| !name.ends_with(".snapshot")).collect();
    assert_eq!(kept, aside, "beside the snapshot there is only what was set aside");
}

#[test]
fn a_file_cut_at_any_byte_opens_and_harms_no_other() {
    for (file, bytes) in &SOUND.files {
        for length in 0..bytes.len() {
            let copy = SOUND.copy_with(file, &bytes[..length]);
            let opened = check_damaged(copy.path(), file);
            let report = &opened.recovered.report;
            if file.ends_with(".snapshot") || length < 44 {
                assert!(report.needs_snapshot(), "{file} of {length} bytes");
            }
        }
    }
}

#[test]
fn dying_again_before_the_snapshot_forgets_nothing_more() {
    let log = "keys-0000000002.log";
    let mut bytes = SOUND.files[log].clone();
    bytes[100] ^= 1;
    let temp = SOUND.copy_with(log, &bytes);
    let first = check_damaged(temp.path(), log);
    assert_eq!(first.keys.len(), SOUND.keys.len() - 1);
    let second = open(crash(temp.path()).path());
    assert_eq!(second.keys, first.keys);
    assert_eq!(second.recovered.report, first.recovered.report);

    let mut third = first;
    let mut writer = third.store.begin_snapshot(9).unwrap();
    writer.write(&records(&third.keys)).unwrap();
    let before = files(temp.path());
    third.store.finish_snapshot(writer, 9).unwrap();
    // The snapshot has its name, and the machine stops before anything is cleared away.
    let mut between = before.clone();
    between.extend(files(temp.path()));
    between.retain(|name, _| !name.contains(".corrupt-") && !name.ends_with(".tmp"));
    let copy = tempfile::tempdir().unwrap();
    write_files(copy.path(), &between);
    let fourth = open(copy.path());
    assert_eq!(fourth.keys, second.keys);
    let kept = files(copy.path());
    assert_eq!(kept.get("keys-0000000002.log.corrupt-1"), before.get(log));
}

#[test]
fn a_damaged_snapshot_is_completed_from_the_generation_before() {
    let temp = tempfile::tempdir().unwrap();
    let mut opened = open(temp.path());
    opened.snapshot(&[key(1, 10), key(2, 20)], 1);
    opened.store.append(&[key(2, 21), key(3, 30)], 2).unwrap();
    let mut writer = opened.store.begin_snapshot(3).unwrap();
    for record in [key(1, 10), key(2, 21), key(3, 30)] {
        writer.write(&[record]).unwrap();
    }
    let mut both = files(temp.path());
    opened.store.finish_snapshot(writer, 4).unwrap();
    opened.store.append(&[key(1, 11)], 5).unwrap();
    both.extend(files(temp.path()));
    // The middle one of three blocks of 56 bytes.
    both.get_mut("keys-0000000003.snapshot").unwrap()[44 + 56 + 30] ^= 4;
    let copy = tempfile::tempdir().unwrap();
    write_files(copy.path(), &both);
    let opened = open(copy.path());
    assert_eq!(opened.keys, keys(&[key(1, 11), key(2, 21), key(3, 30)]));
    let report = &opened.recovered.report;
    assert_eq!(report.set_aside[0].flaw, Flaw::Block { at_byte: 100 });
    assert_eq!(
        report.set_aside[0].to_string(),
        "keys-0000000003.snapshot is damaged at byte 100; it is kept as keys-0000000003.snapshot.corrupt-1"
    );
}

#[test]
fn a_later_format_version_is_set_aside_with_that_reason() {
    let file = "keys-0000000002.snapshot";
    let mut bytes = SOUND.files[file].clone();
    bytes[8..12].copy_from_slice(&(VERSION + 1).to_le_bytes());
    let temp = SOUND.copy_with(file, &bytes);
    let opened = check_damaged(temp.path(), file);
    let set_aside = &opened.recovered.report.set_aside[0];
    assert_eq!(set_aside.flaw, Flaw::Newer { version: VERSION + 1 });
    assert_eq!(set_aside.kept_as, "keys-0000000002.snapshot.corrupt-1");
    assert!(names(temp.path()).contains(&set_aside.kept_as), "nothing in it is of use, so it moves at once");
}

#[test]
fn files_of_another_hash_key_are_set_aside_and_the_snapshot_decides() {
    let ours = SOUND.copy();
    let theirs = tempfile::tempdir().unwrap();
    let mut other = open_with(theirs.path(), *b"another hash key");
    for hash in 1..=8 {
        other.store.append(&[key(hash, 77)], 1).unwrap();
        drop(other.store.begin_snapshot(1).unwrap());
    }
    drop(other);
    for generation in [1, 8] {
        let name = format!("keys-{generation:010}.log");
        fs::copy(theirs.path().join(&name), ours.path().join(&name)).unwrap();
    }
    let opened = open_with(ours.path(), [0; 16]);
    assert_eq!(opened.recovered.hash_key, HASH_KEY);
    assert_eq!(opened.keys, SOUND.keys);
    let report = &opened.recovered.report;
    assert_eq!(report.set_aside.len(), 2);
    assert!(report.set_aside.iter().all(|set_aside| set_aside.flaw == Flaw::OtherHashKey));
    let names = names(ours.path());
    assert!(names.contains(&"keys-0000000001.log.corrupt-1".to_owned()), "{names:?}");
    assert!(names.contains(&"keys-0000000008.log.corrupt-1".to_owned()), "{names:?}");
}

#[test]
fn without_a_snapshot_the_newest_log_decides_on_the_hash_key() {
    let temp = tempfile::tempdir().unwrap();
    for (generation, hash_key) in [(1, [1; 16]), (2, [2; 16])] {
        let life = tempfile::tempdir().unwrap();
        let mut opened = open_with(life.path(), hash_key);
        for _ in 0..generation {
            drop(opened.store.begin_snapshot(1).unwrap());
        }
        opened.store.append(&[key(generation, 10)], 1).unwrap();
        write_files(temp.path(), &files(life.path()));
    }
    let opened = open_with(temp.path(), [3; 16]);
    assert_eq!(opened.recovered.hash_key, [2; 16]);
    assert_eq!(opened.keys, keys(&[key(2, 10)]));
}

#[test]
fn the_end_of_a_log_vouches_for_all_before_it() {
    let temp = tempfile::tempdir().unwrap();
    let mut opened = open(temp.path());
    opened.store.append(&[key(1, 10)], 1).unwrap();
    drop(opened.store.begin_snapshot(2).unwrap());
    drop(opened);
    let log = temp.path().join("keys-0000000001.log");
    let mut bytes = fs::read(&log).unwrap();
    bytes[80] ^= 1;
    fs::write(&log, bytes).unwrap();
    let report = open(temp.path()).recovered.report;
    assert_eq!(report.set_aside[0].flaw, Flaw::Block { at_byte: 44 });
    assert_eq!(report.torn_tails, []);
}

#[test]
fn the_search_after_damage_finds_a_block_wherever_it_begins() {
    let temp = tempfile::tempdir().unwrap();
    let mut opened = open(temp.path());
    opened.store.append(&vec![key(1, 10); 3_000], 1).unwrap();
    let log = temp.path().join("keys-0000000001.log");
    let last_from = fs::metadata(&log).unwrap().len() as usize;
    opened.store.append(&[key(2, 20)], 2).unwrap();
    drop(opened);
    let sound = fs::read(&log).unwrap();
    // The search starts anew behind each false marker, and looks at 64 KiB at a time.
    for distance in 65_530..65_540 {
        let mut bytes = sound.clone();
        bytes[44..last_from].fill(0);
        bytes[last_from - distance..][..4].copy_from_slice(b"KBLK");
        let copy = tempfile::tempdir().unwrap();
        fs::write(copy.path().join("keys-0000000001.log"), bytes).unwrap();
        assert_eq!(open(copy.path()).keys, keys(&[key(2, 20)]), "{distance}");
    }
}

#[test]
fn what_was_set_aside_before_is_not_overwritten() {
    let temp = tempfile::tempdir().unwrap();
    for round in 1..=3 {
        let text = format!("not a keys file, {round}");
        fs::write(temp.path().join("keys-0000000007.log"), &text).unwrap();
        let opened = open(temp.path());
        let set_aside = &opened.recovered.report.set_aside[0];
        assert_eq!(set_aside.flaw, Flaw::Magic);
        assert_eq!(set_aside.kept_as, format!("keys-0000000007.log.corrupt-{round}"));
        assert_eq!(fs::read_to_string(temp.path().join(&set_aside.kept_as)).unwrap(), text);
    }
}

#[test]
fn a_renamed_file_and_a_block_of_another_file_do_not_count() {
    let temp = SOUND.copy();
    let path = |name: &str| temp.path().join(name);
    fs::copy(path("keys-0000000002.log"), path("keys-0000000009.log")).unwrap();
    // As if the disk had put an old block where a new one should be.
    let mut bytes = fs::read(path("keys-0000000003.log")).unwrap();
    let old = fs::read(path("keys-0000000002.log")).unwrap();
    bytes[44..100].copy_from_slice(&old[44..100]);
    fs::write(path("keys-0000000003.log"), bytes).unwrap();
    let opened = open(temp.path());
    let flaws: Vec<_> = opened.recovered.report.set_aside.iter().map(|set_aside| set_aside.flaw).collect();
    assert_eq!(flaws, [Flaw::Misnamed, Flaw::Block { at_byte: 44 }]);
    assert!(!opened.keys.contains_key(&21) && opened.keys.contains_key(&22));
}

#[test]
fn bytes_after_the_end_are_damage() {
    for file in ["keys-0000000002.snapshot", "keys-0000000002.log"] {
        let mut bytes = SOUND.files[file].clone();
        let at_byte = bytes.len() as u64;
        bytes.push(0);
        let copy = SOUND.copy_with(file, &bytes);
        let opened = check_damaged(copy.path(), file);
        assert_eq!(opened.recovered.report.set_aside[0].flaw, Flaw::AfterEnd { at_byte });
        assert_eq!(opened.keys, SOUND.keys);
    }
}

#[test]
fn a_file_full_of_false_markers_is_given_up() {
    let log = "keys-0000000003.log";
    let bytes = [&SOUND.files[log][..44], &b"KBLK".repeat(100_000)].concat();
    check_damaged(SOUND.copy_with(log, &bytes).path(), log);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_bytes_in_any_file_open(
        file in 0usize..3,
        from in 0usize..300,
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        keeps_markers in any::<bool>(),
    ) {
        let (name, content) = SOUND.files.iter().nth(file).unwrap();
        let mut content = content.clone();
        let from = from.min(content.len());
        content.splice(from.., bytes);
        if keeps_markers {
            content.extend(b"KBLK");
        }
        check_damaged(SOUND.copy_with(name, &content).path(), name);
    }
}
