//! Crashes at any call: what was synced is there, and of the rest a beginning.

use crate::life::Life;

#[test]
fn a_crash_at_any_call_leaves_a_state_since_the_last_sync() {
    for seed in 0..400 {
        let mut life = Life::new(seed);
        for _ in 0..6 {
            life.run(60);
            life.crash();
        }
    }
}

#[test]
fn the_same_seed_leads_the_same_life() {
    let files = |seed| {
        let mut life = Life::new(seed);
        life.run(100);
        life.crash();
        life.disk.files()
    };
    assert_eq!(files(7), files(7));
    assert_ne!(files(7), files(8));
}

#[test]
fn a_crash_during_recovery_changes_nothing() {
    for seed in 0..100 {
        let mut life = Life::new(seed);
        life.run(60);
        life.disk.crash();
        // Every call of the recovery is the last one once, each time on what the one before left.
        for calls in 0.. {
            life.disk.inject(calls, tidegate_store::disk::simulated::Fault::Crash);
            let opened = crate::scene::open_with(&life.disk, crate::scene::OPTIONS);
            if !life.disk.is_down() {
                opened.unwrap();
                break;
            }
            assert!(opened.is_err());
            life.disk.crash();
        }
        life.crash();
    }
}
