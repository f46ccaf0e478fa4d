//! Files of format version 2, as the first server wrote them, and of version 1, whose hashes nobody makes any more.
//!
//! While version 2 is what this server writes, the files are also what it writes today, byte for byte. After a
//! new version, freeze this: drop [`write_v2`] and its test, keep the files, and add those of the new version.

use crate::scene::{HASH_KEY, crash, files, forgotten, key, keys, open, open_with, write_files};
use std::path::{Path, PathBuf};

fn fixture(version: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(version)
}

/// A snapshot, the sealed log of its generation, and the log after it, still open.
fn write_v2(path: &Path) {
    let mut opened = open(path);
    opened.store.append(&[key(9, 90)], 1_000).unwrap();
    let mut writer = opened.store.begin_snapshot(2_000).unwrap();
    writer.write(&[key(1, 10), key(2, 20)]).unwrap();
    opened.store.append(&[key(2, 21), key(3, 30)], 3_000).unwrap();
    writer.write(&[key(4, 40), key(u128::MAX, u64::MAX)]).unwrap();
    opened.store.finish_snapshot(writer, 4_000).unwrap();
    opened.store.append(&[forgotten(1)], 5_000).unwrap();
    opened.store.sync().unwrap();
    drop(opened.store.begin_snapshot(6_000).unwrap());
    opened.store.append(&[key(5, 50)], 7_000).unwrap();
    opened.store.sync().unwrap();
}

#[test]
fn version_2_is_read() {
    let copy = crash(&fixture("keys-v2"));
    let opened = open_with(copy.path(), [0; 16]).unharmed();
    assert_eq!(opened.recovered.hash_key, HASH_KEY);
    assert_eq!(opened.recovered.newest_now_ns, 7_000);
    assert_eq!((opened.recovered.report.snapshot_records, opened.recovered.report.log_records), (4, 4));
    let expected = [key(2, 21), key(3, 30), key(4, 40), key(5, 50), key(u128::MAX, u64::MAX)];
    assert_eq!(opened.keys, keys(&expected));
}

/// With `TIDEGATE_WRITE_FIXTURES` set, writes the files instead.
#[test]
fn version_2_is_written_as_it_was() {
    let temp = tempfile::tempdir().unwrap();
    write_v2(temp.path());
    if std::env::var_os("TIDEGATE_WRITE_FIXTURES").is_some() {
        write_files(&fixture("keys-v2"), &files(temp.path()));
    }
    assert!(files(temp.path()) == files(&fixture("keys-v2")), "the format changed: is it still version 2?");
}

#[test]
fn version_1_is_set_aside_and_says_so() {
    let copy = crash(&fixture("keys-v1"));
    let opened = open_with(copy.path(), HASH_KEY);
    assert_eq!(opened.keys, keys(&[]));
    let told: Vec<_> = opened.recovered.report.set_aside.iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 3);
    assert_eq!(
        told[0],
        "keys-0000000002.snapshot has format version 1, whose keys had another hash: they start full; it is kept as \
         keys-0000000002.snapshot.corrupt-1"
    );
}
