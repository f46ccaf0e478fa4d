//! A commit is there as a whole when it has returned, and as a whole or not at all before.

use crate::state::{put_queue, some_of_all, state_of_all};
use std::io::ErrorKind;
use tidegate_store::catalog::{Catalog, CatalogState};
use tidegate_store::disk::simulated::{Fault, SimDisk};

#[test]
fn a_crash_at_any_call_leaves_a_whole_commit() {
    for seed in 0..40 {
        let disk = SimDisk::new(seed);
        // The states that a crash may leave: the last that was committed, and the one under way.
        let mut allowed: Vec<CatalogState> = Vec::new();
        for round in 0..4 {
            disk.inject(seed * 7 % 50 + round * 11, Fault::Crash);
            let Ok(catalog) = Catalog::open(&disk) else {
                assert!(disk.is_down());
                disk.crash();
                continue;
            };
            let mut state = catalog.load().unwrap_or_default();
            if !disk.is_down() && !allowed.is_empty() {
                assert!(allowed.contains(&state), "seed {seed}: {state:?}, not one of {allowed:?}");
            }
            for n in 0..20 {
                let id = state.next_queue.0;
                let before = state.clone();
                let definition = vec![b'x'; 100 * n + 1];
                state.queues.push((state.next_queue, definition.clone()));
                state.next_queue.0 += 1;
                let changes = [put_queue(id, std::str::from_utf8(&definition).unwrap())];
                if catalog.commit(&changes).is_err() {
                    assert!(disk.is_down());
                    allowed = vec![before, state];
                    break;
                }
                allowed = vec![state.clone()];
            }
            drop(catalog);
            disk.crash();
        }
    }
}

#[test]
fn a_full_disk_fails_the_commit_and_a_later_one_works() {
    let disk = SimDisk::new(1);
    let catalog = Catalog::open(&disk).unwrap();
    catalog.commit(&some_of_all()).unwrap();
    disk.set_capacity(Some(disk.used_bytes()));
    let large = [put_queue(9, &"x".repeat(8 << 20))];
    let error = catalog.commit(&large).unwrap_err();
    assert!(error.is_disk_full() && !error.is_fatal(), "{error}");
    assert_eq!(error.hint(), "free some space on that disk");
    assert_eq!(catalog.load().unwrap(), state_of_all());
    disk.set_capacity(None);
    catalog.commit(&large).unwrap();
    assert_eq!(catalog.load().unwrap().queues.len(), 3);
}

#[test]
fn a_failed_sync_is_fatal_for_good() {
    let disk = SimDisk::new(1);
    let catalog = Catalog::open(&disk).unwrap();
    disk.fail_next_sync(ErrorKind::Other);
    assert!(catalog.commit(&some_of_all()).unwrap_err().is_fatal());
    assert!(catalog.commit(&some_of_all()).unwrap_err().is_fatal());
    assert!(catalog.load().unwrap_err().is_fatal());
}

#[test]
fn what_a_failed_sync_left_in_memory_is_on_disk_after_the_next_start() {
    for seed in 0..50 {
        let disk = SimDisk::new(seed);
        let catalog = Catalog::open(&disk).unwrap();
        catalog.commit(&some_of_all()).unwrap();
        // On many pages, most of which the next commit does not touch.
        let many: Vec<_> = (9..200).map(|id| put_queue(id, &"x".repeat(300))).collect();
        disk.fail_next_sync(ErrorKind::Other);
        assert!(catalog.commit(&many).unwrap_err().is_fatal());
        // The process ends, and the machine does not: the next one reads what the disk never got.
        disk.kill();
        drop(catalog);
        let catalog = Catalog::open(&disk).unwrap();
        let found = catalog.load().unwrap();
        catalog.commit(&[put_queue(500, "newer")]).unwrap();
        disk.crash();
        drop(catalog);
        let after = Catalog::open(&disk).unwrap().load().unwrap();
        assert!(found.queues.iter().all(|queue| after.queues.contains(queue)), "seed {seed}");
    }
}
