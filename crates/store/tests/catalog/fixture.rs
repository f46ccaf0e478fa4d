//! A catalog of each format version, as a server of that version wrote it. Every later server must read them.

use crate::state::{ROWS_OF_ALL, rows, some_of_all, state_of_all};
use std::fs;
use std::path::{Path, PathBuf};
use tidegate_store::Error;
use tidegate_store::catalog::{Catalog, VERSION};
use tidegate_store::disk::simulated::SimDisk;

const NAME: &str = "catalog.redb";

pub fn fixture(version: u32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/catalog-v{version}")).join(NAME)
}

/// A disk with the catalog of this version.
pub fn disk_with(version: u32, seed: u64) -> SimDisk {
    let disk = SimDisk::new(seed);
    disk.put(NAME, &fs::read(fixture(version)).unwrap());
    disk
}

/// With `TIDEGATE_WRITE_FIXTURES` set, writes the file first.
#[test]
fn version_2_is_read() {
    if std::env::var_os("TIDEGATE_WRITE_FIXTURES").is_some() {
        let disk = SimDisk::new(1);
        Catalog::open(&disk).unwrap().commit(&some_of_all()).unwrap();
        fs::create_dir_all(fixture(2).parent().unwrap()).unwrap();
        fs::write(fixture(2), &disk.files()[NAME]).unwrap();
    }
    let catalog = Catalog::open(&disk_with(2, 1)).unwrap();
    assert_eq!(catalog.old().unwrap(), None);
    assert_eq!(catalog.load().unwrap(), state_of_all());
    assert_eq!(rows(&catalog), ROWS_OF_ALL);
}

#[test]
fn a_newer_version_is_refused() {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::copy(fixture(VERSION), file.path()).unwrap();
    {
        let database = redb::Database::open(file.path()).unwrap();
        let transaction = database.begin_write().unwrap();
        let meta = redb::TableDefinition::<&str, u64>::new("meta");
        transaction.open_table(meta).unwrap().insert("version", u64::from(VERSION) + 1).unwrap();
        transaction.commit().unwrap();
    }
    let disk = SimDisk::new(1);
    disk.put(NAME, &fs::read(file.path()).unwrap());
    let error = Catalog::open(&disk).unwrap_err();
    assert!(matches!(error, Error::Newer { version: 3, known: 2, .. }), "{error}");
}

#[test]
fn a_file_that_is_no_database_is_a_clear_error_and_stays() {
    let disk = SimDisk::new(1);
    disk.put(NAME, &[7; 10_000]);
    let error = Catalog::open(&disk).unwrap_err();
    assert!(error.to_string().contains(NAME) && error.hint().contains("backup"), "{error}");
    assert_eq!(disk.files()[NAME], [7; 10_000]);
}
