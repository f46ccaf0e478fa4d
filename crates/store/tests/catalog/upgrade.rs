//! From version 1, where named limits have tables of their own, to version 2, where they are rows.

use crate::fixture::disk_with;
use crate::state::{put_row, rows, state_of_all};
use tidegate_store::Error;
use tidegate_store::catalog::{Catalog, Change, OldLimits, StoredRate, Table};
use tidegate_store::disk::simulated::{Fault, SimDisk};

/// What is in the catalog of version 1, besides queues and configuration.
fn old() -> OldLimits {
    let name = || b"default\0mail".to_vec();
    OldLimits {
        limits: vec![(name(), StoredRate { burst: 5, count: 10, period_ns: 1_000_000_000 })],
        levels: vec![(name(), vec![1, 2, 3])],
        closed: vec![(name(), 77)],
    }
}

fn carried_over() -> [Change; 1] {
    [put_row(Table::Scopes, "default", b"mail", "5/s")]
}

/// What a server does that finds the catalog.
fn start(disk: &SimDisk) -> Result<Catalog, Error> {
    let catalog = Catalog::open(disk)?;
    if let Some(found) = catalog.old()? {
        assert_eq!(found, old());
        catalog.upgrade(&carried_over())?;
    }
    Ok(catalog)
}

fn check_upgraded(catalog: &Catalog) {
    assert_eq!(catalog.old().unwrap(), None);
    assert_eq!(catalog.load().unwrap(), state_of_all());
    assert_eq!(rows(catalog), ["Scopes default mail 5/s"]);
}

#[test]
fn version_1_is_read_and_upgraded() {
    let disk = disk_with(1, 1);
    let catalog = Catalog::open(&disk).unwrap();
    assert_eq!(catalog.load().unwrap().queues, state_of_all().queues);
    assert_eq!(rows(&catalog), Vec::<String>::new());
    drop(catalog);
    check_upgraded(&start(&disk).unwrap());
    let catalog = start(&disk).unwrap();
    check_upgraded(&catalog);
    assert_eq!(catalog.count_run().unwrap(), 0);
    catalog.commit(&[put_row(Table::Entities, "default", b"acme", "{}")]).unwrap();
    assert_eq!(rows(&catalog).len(), 2);
}

#[test]
fn an_upgrade_that_a_crash_ends_at_any_call_starts_over() {
    let calls = {
        let disk = disk_with(1, 0);
        drop(start(&disk).unwrap());
        disk.calls()
    };
    assert!(calls > 20, "{calls}");
    for seed in 0..8 {
        for at in 0..calls {
            let disk = disk_with(1, seed * 1_000 + at);
            disk.inject(at, Fault::Crash);
            drop(start(&disk));
            disk.crash();
            // Old or new, and whole.
            let catalog = Catalog::open(&disk).unwrap();
            if let Some(found) = catalog.old().unwrap() {
                assert_eq!((found, rows(&catalog).len()), (old(), 0), "seed {seed}, call {at}");
            }
            drop(catalog);
            check_upgraded(&start(&disk).unwrap());
        }
    }
}

#[test]
fn a_full_disk_leaves_version_1_for_the_next_start() {
    let disk = disk_with(1, 1);
    let catalog = Catalog::open(&disk).unwrap();
    disk.set_capacity(Some(disk.used_bytes()));
    let large = [put_row(Table::Scopes, "default", b"mail", &"x".repeat(8 << 20))];
    assert!(catalog.upgrade(&large).unwrap_err().is_disk_full());
    assert_eq!(catalog.old().unwrap(), Some(old()));
    disk.set_capacity(None);
    catalog.upgrade(&carried_over()).unwrap();
    check_upgraded(&catalog);
}
