//! Files of format version 1, as the first server wrote them. Every later server must read them.
//!
//! While version 1 is what this server writes, the files are also what it writes today, byte for byte. After a new
//! version, freeze this: drop [`write_v1`] and its test, keep the files, and add those of the new version.

use crate::scene::{State, open, write_all};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use tidegate_store::disk::simulated::SimDisk;

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/book-v1")
}

fn fixture_files() -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(fixture()).unwrap().map(Result::unwrap);
    entries.map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())).collect()
}

/// A snapshot, the sealed log of its generation, and the log after it, still open.
fn write_v1() -> SimDisk {
    let disk = SimDisk::new(1);
    let mut opened = open(&disk);
    opened.put(9, 90);
    let mut snapshot = opened.book.begin_snapshot().unwrap();
    write_all(&mut snapshot, &State::from([(1, 10), (2, 20)])).unwrap();
    opened.put(2, 21);
    opened.book.finish_snapshot(snapshot).unwrap();
    opened.put(1, 0);
    drop(opened.book.begin_snapshot().unwrap());
    opened.put(5, 50);
    disk
}

#[test]
fn version_1_is_read() {
    let disk = SimDisk::new(1);
    fixture_files().iter().for_each(|(name, bytes)| disk.put(name, bytes));
    let opened = open(&disk);
    assert_eq!(opened.report.lines(), Vec::<String>::new());
    assert_eq!((opened.report.snapshot_records, opened.report.log_records), (2, 3));
    assert_eq!(opened.state, State::from([(2, 21), (5, 50)]));
}

/// With `TIDEGATE_WRITE_FIXTURES` set, writes the files first.
#[test]
fn version_1_is_written_as_it_was() {
    let files = write_v1().files();
    if std::env::var_os("TIDEGATE_WRITE_FIXTURES").is_some() {
        fs::create_dir_all(fixture()).unwrap();
        files.iter().for_each(|(name, bytes)| fs::write(fixture().join(name), bytes).unwrap());
    }
    assert!(files == fixture_files(), "the format changed: is it still version 1?");
}
