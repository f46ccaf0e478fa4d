//! A catalog of format version 1, as the first server wrote it. Every later server must read it.

use crate::state::{some_of_all, state_of_all};
use std::fs;
use std::path::{Path, PathBuf};
use tidegate_store::Error;
use tidegate_store::catalog::Catalog;
use tidegate_store::disk::simulated::SimDisk;

const NAME: &str = "catalog.redb";

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/catalog-v1").join(NAME)
}

/// With `TIDEGATE_WRITE_FIXTURES` set, writes the file first.
#[test]
fn version_1_is_read() {
    if std::env::var_os("TIDEGATE_WRITE_FIXTURES").is_some() {
        let disk = SimDisk::new(1);
        Catalog::open(&disk).unwrap().commit(&some_of_all()).unwrap();
        fs::create_dir_all(fixture().parent().unwrap()).unwrap();
        fs::write(fixture(), &disk.files()[NAME]).unwrap();
    }
    let disk = SimDisk::new(1);
    disk.put(NAME, &fs::read(fixture()).unwrap());
    assert_eq!(Catalog::open(&disk).unwrap().load().unwrap(), state_of_all());
}

#[test]
fn a_newer_version_is_refused() {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::copy(fixture(), file.path()).unwrap();
    {
        let database = redb::Database::open(file.path()).unwrap();
        let transaction = database.begin_write().unwrap();
        let meta = redb::TableDefinition::<&str, u64>::new("meta");
        transaction.open_table(meta).unwrap().insert("version", 2).unwrap();
        transaction.commit().unwrap();
    }
    let disk = SimDisk::new(1);
    disk.put(NAME, &fs::read(file.path()).unwrap());
    let error = Catalog::open(&disk).unwrap_err();
    assert!(matches!(error, Error::Newer { version: 2, known: 1, .. }), "{error}");
}

#[test]
fn a_file_that_is_no_database_is_a_clear_error_and_stays() {
    let disk = SimDisk::new(1);
    disk.put(NAME, &[7; 10_000]);
    let error = Catalog::open(&disk).unwrap_err();
    assert!(error.to_string().contains(NAME) && error.hint().contains("backup"), "{error}");
    assert_eq!(disk.files()[NAME], [7; 10_000]);
}
