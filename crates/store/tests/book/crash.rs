//! The power goes at every call to the disk: what was synced is there, and nothing else is made up.

use crate::scene::{Memory, Opened, State, open, record, try_open, write_all};
use tidegate_store::Error;
use tidegate_store::disk::simulated::{Fault, SimDisk};

/// A life in which everything happens, until something fails.
fn live(opened: &mut Opened, memory: &mut Memory, run: u32) -> Result<(), Error> {
    let put = |opened: &mut Opened, memory: &mut Memory, keys: &[u8], step: u32| {
        for key in keys {
            let value = if *key == 9 { 0 } else { run * 100 + step };
            memory.note(*key, value);
            opened.book.append(&record(*key, value));
        }
        opened.book.sync()?;
        memory.note_synced();
        Ok(())
    };
    put(opened, memory, &[1, 2, 3, 9], 1)?;
    put(opened, memory, &[2, 4, 5], 2)?;
    let mut snapshot = opened.book.begin_snapshot()?;
    write_all(&mut snapshot, &memory.state)?;
    put(opened, memory, &[2, 6], 3)?;
    opened.book.finish_snapshot(snapshot)?;
    put(opened, memory, &[1, 7, 7, 7], 4)?;
    // A snapshot that is never finished.
    write_all(&mut opened.book.begin_snapshot()?, &memory.state)?;
    put(opened, memory, &[3, 9], 5)?;
    let mut snapshot = opened.book.begin_snapshot()?;
    memory.note(8, run * 100 + 6);
    opened.book.append(&record(8, run * 100 + 6));
    write_all(&mut snapshot, &memory.state)?;
    opened.book.finish_snapshot(snapshot)?;
    memory.note_synced();
    put(opened, memory, &[1, 2, 3], 7)
}

#[test]
fn a_crash_at_any_call_forgets_nothing_that_was_synced() {
    let calls = {
        let disk = SimDisk::new(0);
        live(&mut open(&disk), &mut Memory::default(), 1).unwrap();
        disk.calls()
    };
    assert!(calls > 60, "{calls}");
    for seed in 0..12 {
        for at in 0..calls {
            let context = format!("seed {seed}, call {at}");
            let disk = SimDisk::new(seed * 1_000 + at);
            let mut memory = Memory::default();
            disk.inject(at, Fault::Crash);
            let lived = try_open(&disk).and_then(|mut opened| live(&mut opened, &mut memory, 1));
            assert!(lived.is_err() && disk.is_down(), "{context}: {lived:?}");
            disk.crash();

            // And again while it recovers and lives on.
            disk.inject((seed * 7 + at) % (calls + 20), Fault::Crash);
            if let Ok(mut opened) = try_open(&disk)
                && !disk.is_down()
            {
                memory.check(&opened.state, &context);
                live(&mut opened, &mut memory, 2).unwrap_or_default();
            }
            disk.crash();
            memory.check(&open(&disk).state, &context);
        }
    }
}

/// Every order of removals, cut off anywhere: each subset of the old files may be left beside the new ones.
#[test]
fn files_that_a_snapshot_replaced_are_not_read_when_a_crash_brings_them_back() {
    let disk = SimDisk::new(1);
    let mut opened = open(&disk);
    opened.put(1, 10);
    opened.snapshot(&State::from([(1, 10)]));
    opened.put(2, 20);
    drop(opened.book.begin_snapshot().unwrap());
    opened.put(3, 30);
    let before = disk.files();
    // Key 2 is left out without a word: its owner has forgotten it.
    opened.snapshot(&State::from([(1, 11), (3, 30)]));
    opened.put(4, 40);
    let after = disk.files();
    let old: Vec<_> = before.iter().filter(|(name, _)| !after.contains_key(*name)).collect();
    assert_eq!(old.len(), 3);
    for subset in 0..1 << old.len() {
        let disk = SimDisk::new(1);
        after.iter().for_each(|(name, bytes)| disk.put(name, bytes));
        let left = old.iter().enumerate().filter(|(place, _)| subset & (1 << place) != 0);
        left.for_each(|(_, (name, bytes))| disk.put(name, bytes));
        assert_eq!(open(&disk).state, State::from([(1, 11), (3, 30), (4, 40)]));
        assert_eq!(disk.files(), after, "the rest is removed");
    }
}

#[test]
fn a_tail_torn_at_any_byte_keeps_what_is_before_it_and_what_comes_later() {
    let disk = SimDisk::new(1);
    let mut opened = open(&disk);
    opened.put(1, 10);
    let name = "book-0000000001.log";
    let whole = disk.files()[name].len();
    opened.put(2, 20);
    let bytes = disk.files()[name].clone();
    for length in whole..bytes.len() {
        let cut = bytes[..length].to_vec();
        // A file system may note the length before the bytes, and then has zeros in their place.
        let mut zeroed = bytes.clone();
        zeroed[length..].fill(0);
        for torn in [cut, zeroed] {
            let disk = SimDisk::new(1);
            disk.put(name, &torn);
            let mut opened = open(&disk);
            assert_eq!(opened.state, [(1, 10)].into());
            let tails: u64 = opened.report.torn_tails.iter().map(|tail| tail.bytes).sum();
            assert_eq!(tails as usize, torn.len() - whole, "{:?}", opened.report);
            assert_eq!(opened.report.lines().len(), usize::from(torn.len() > whole));
            assert!(!opened.book.wants_snapshot(), "it is normal");
            opened.put(3, 30);
            drop(opened);
            assert_eq!(open(&disk).state, [(1, 10), (3, 30)].into());
        }
    }
}

#[test]
fn nothing_behind_the_first_torn_block_is_used() {
    let disk = SimDisk::new(1);
    let mut opened = open(&disk);
    opened.put(1, 10);
    let name = "book-0000000001.log";
    let torn_from = disk.files()[name].len();
    // One write of three blocks.
    opened.book.append(&record(1, 11));
    opened.book.append(&[2; 70_000]);
    opened.book.append(&[3; 70_000]);
    opened.book.append(&record(2, 20));
    opened.book.sync().unwrap();
    let mut bytes = disk.files()[name].clone();
    bytes[torn_from + 100] ^= 1;
    disk.put(name, &bytes);
    let opened = open(&disk);
    assert_eq!(opened.state, [(1, 10)].into());
    assert_eq!(opened.report.torn_tails[0].at_byte, torn_from as u64);
}
