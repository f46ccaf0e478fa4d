//! The file of a segment that is gone is written over by a later one, and nothing of it comes back.

use crate::scene::{OPTIONS, Opened, fresh, open, open_with, payload};
use tidegate_store::disk::simulated::{Fault, SimDisk};
use tidegate_store::journal::JournalOptions;

const SPARE: &str = "journal.spare";

/// Puts and ends messages in turn, each in a batch of its own, until something is so. The id that comes next.
fn churn_until(opened: &mut Opened<SimDisk>, first: u64, mut is_so: impl FnMut() -> bool) -> u64 {
    for id in first..first + 5_000 {
        if is_so() {
            return id;
        }
        opened.put(id, &fresh(id, 1));
        opened.flush();
        if id > 3 {
            opened.gone(id - 3);
        }
    }
    panic!("it never came to that");
}

fn has_spare(disk: &SimDisk) -> bool {
    disk.files().contains_key(SPARE)
}

/// The last segment.
fn last(disk: &SimDisk) -> (String, Vec<u8>) {
    disk.files().into_iter().rfind(|(name, _)| name.ends_with(".segment")).unwrap()
}

/// A journal whose last segment has a few records of its own, and then those of an earlier one.
fn written_over() -> (SimDisk, Opened<SimDisk>) {
    let disk = SimDisk::new(1);
    let mut opened = open(&disk);
    let next = churn_until(&mut opened, 1, || has_spare(&disk));
    let next = churn_until(&mut opened, next, || !has_spare(&disk));
    (next..next + 2).for_each(|id| {
        opened.put(id, &fresh(id, 1));
        opened.flush();
    });
    (disk, opened)
}

/// Where the last message of the last segment ends.
fn end_of(opened: &Opened<SimDisk>) -> usize {
    let place = opened.places.values().max_by_key(|place| (place.segment, place.offset)).unwrap();
    (place.offset + place.len) as usize
}

#[test]
fn a_spare_becomes_the_next_segment() {
    let disk = SimDisk::new(1);
    let mut opened = open(&disk);
    let next = churn_until(&mut opened, 1, || has_spare(&disk));
    let spare = disk.files().remove(SPARE).unwrap();
    churn_until(&mut opened, next, || !has_spare(&disk));
    let (_, segment) = last(&disk);
    // It may have been cut meanwhile, for the disk to stay within its bound, and then ends in the mark again.
    let old = spare.len() / 2..segment.len() - 8;
    assert!(old.len() > spare.len() / 4, "{old:?}");
    assert_eq!(segment[old.clone()], spare[old], "another file");
    opened.check_bodies();
}

#[test]
fn what_an_earlier_segment_left_is_no_damage_and_not_worth_a_line() {
    let (disk, before) = written_over();
    let (name, bytes) = last(&disk);
    let end = end_of(&before);
    assert!(bytes[end..].iter().any(|byte| *byte != 0), "nothing is left");
    for power in [false, true] {
        let copy = SimDisk::new(7);
        disk.files().iter().for_each(|(name, bytes)| copy.put(name, bytes));
        if power {
            copy.crash();
        }
        let opened = open(&copy).unharmed();
        assert_eq!(opened.messages, before.messages);
        opened.check_bodies();
        let tail = &opened.report.old_tails[0];
        assert_eq!(
            (tail.file.as_str(), tail.at_byte, opened.report.old_tails.len()),
            (&*name, end as u64, 1)
        );
        assert!(tail.to_string().contains("earlier segment"), "{tail}");
        // It is cut off, and what is counted is what is there.
        let size = copy.files()[&name].len();
        assert!(size < bytes.len() && size >= end, "{size}");
        assert_eq!(opened.journal.usage().total_bytes, copy.used_bytes());
        assert_eq!(open(&copy).unharmed().report.old_tails, []);
    }
}

#[test]
fn damage_is_told_from_what_an_earlier_segment_left() {
    let (disk, before) = written_over();
    let (name, mut bytes) = last(&disk);
    let (id, place) = before.places.iter().rev().nth(1).unwrap();
    bytes[(place.offset + place.len) as usize - 1] ^= 1;
    disk.put(&name, &bytes);
    let opened = open(&disk);
    let damaged = &opened.report.damaged;
    assert_eq!((damaged.len(), damaged[0].file.as_str()), (1, &*name), "{:?}", opened.report.lines());
    assert_eq!(opened.messages.len(), before.messages.len() - 1);
    assert!(!opened.messages.contains_key(id));
}

#[test]
fn a_write_cut_short_over_old_bytes_loses_only_what_it_cuts() {
    let (disk, before) = written_over();
    let (name, bytes) = last(&disk);
    let (last, place) = before.places.iter().next_back().unwrap();
    let end = end_of(&before);
    for cut in place.offset as usize..end {
        let copy = SimDisk::new(1);
        disk.files().iter().for_each(|(name, bytes)| copy.put(name, bytes));
        // What was there before the write: any other bytes.
        let mut torn = bytes.clone();
        torn[cut..end].iter_mut().for_each(|byte| *byte = byte.wrapping_add(1));
        copy.put(&name, &torn);
        let opened = open(&copy).unharmed();
        assert_eq!(opened.messages.len(), before.messages.len() - 1, "cut at {cut}");
        assert!(!opened.messages.contains_key(last));
        opened.check_bodies();
    }
}

#[test]
fn a_crash_at_any_call_while_files_change_hands_loses_nothing() {
    for calls in 0..120 {
        for seed in 0..4 {
            let disk = SimDisk::new(seed);
            let mut opened = open(&disk);
            let mut id = churn_until(&mut opened, 1, || has_spare(&disk));
            opened.flush();
            let mut synced = opened.messages.clone();
            disk.inject(calls, Fault::Crash);
            while !disk.is_down() {
                opened.put(id, &fresh(id, 1));
                opened.gone(id - 3);
                id += 1;
                if opened.try_flush().is_ok() {
                    synced = opened.messages.clone();
                }
            }
            disk.crash();
            let again = open(&disk);
            assert!(again.report.damaged.is_empty() && again.report.missing.is_empty());
            // The last batch is there or not, or a beginning of it.
            let is_there = |id: &u64| again.messages.contains_key(id);
            assert!(synced.keys().all(|old| is_there(old) || *old == id - 4), "{calls} calls, seed {seed}");
            assert!(again.messages.keys().all(|old| synced.contains_key(old) || *old == id - 1));
            again.check_bodies();
            assert!(disk.files().keys().all(|name| name.ends_with(".segment") || name == SPARE));
            open(&disk).unharmed();
        }
    }
}

#[test]
fn a_file_that_somebody_reads_is_not_written_over() {
    let disk = SimDisk::new(1);
    let mut opened = open(&disk);
    (1..4).for_each(|id| opened.put(id, &fresh(id, 1)));
    opened.flush();
    let place = opened.places[&2];
    let pinned = opened.journal.reader().pin(place).unwrap();
    let next = churn_until(&mut opened, 4, || !disk.files().contains_key("journal-0000000001.segment"));
    assert!(!has_spare(&disk), "it would be written over");
    let next = churn_until(&mut opened, next, || has_spare(&disk));
    churn_until(&mut opened, next, || !has_spare(&disk));
    assert_eq!(pinned.read().unwrap().message().payload, payload(2));
}

#[test]
fn a_spare_that_a_start_finds_is_used() {
    let disk = SimDisk::new(1);
    let mut opened = open(&disk);
    churn_until(&mut opened, 1, || has_spare(&disk));
    let spare = disk.files().remove(SPARE).unwrap();
    let mut again = open(&disk).unharmed();
    again.put(9_000, &fresh(9_000, 1));
    again.flush();
    assert!(!has_spare(&disk));
    assert!(last(&disk).1.ends_with(&spare[spare.len() / 2..]));
    assert_eq!(open(&disk).unharmed().messages, again.messages);
}

#[test]
fn a_segment_never_has_the_number_of_one_that_its_file_was() {
    let disk = SimDisk::new(1);
    let mut opened = open(&disk);
    for id in 1..40 {
        opened.put(id, &fresh(id, 1));
        opened.flush();
    }
    let first = disk.files().remove("journal-0000000001.segment").unwrap();
    // With the same salt and the same number, the frames of the first life would count in the second.
    let disk = SimDisk::new(1);
    disk.put(SPARE, &first);
    let mut opened = open(&disk).unharmed();
    assert!(opened.messages.is_empty());
    opened.put(9_000, &fresh(9_000, 1));
    opened.flush();
    assert_eq!(disk.files().into_keys().collect::<Vec<_>>(), ["journal-0000000002.segment"]);
    let again = open(&disk).unharmed();
    assert_eq!(again.messages, opened.messages);
    again.check_bodies();
}

/// The header of a segment.
fn header(number: u32) -> Vec<u8> {
    let mut bytes = b"TIDEJRNL\x01\0\0\0".to_vec();
    bytes.extend(number.to_le_bytes());
    bytes.extend(OPTIONS.salt.to_le_bytes());
    bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
    bytes
}

#[test]
fn a_spare_that_is_no_good_is_removed() {
    let (disk, before) = written_over();
    let (name, bytes) = last(&disk);
    let number: u32 = name["journal-".len()..][..10].parse().unwrap();
    let mut headless = bytes.clone();
    headless[13] ^= 1;
    // It was about to become the next segment when the power went: its header says so, its frames do not.
    let mut early = bytes.clone();
    early[..28].copy_from_slice(&header(number + 1));
    for spare in [&b"short"[..], &headless, &early] {
        let copy = SimDisk::new(1);
        disk.files().iter().for_each(|(name, bytes)| copy.put(name, bytes));
        copy.put(SPARE, spare);
        let mut opened = open(&copy).unharmed();
        assert!(!has_spare(&copy));
        assert_eq!(opened.messages, before.messages);
        opened.put(9_000, &fresh(9_000, 1));
        opened.flush();
        open(&copy).unharmed();
    }
}

#[test]
fn a_spare_of_another_size_is_cut_or_removed() {
    for (factor, is_kept) in [(16, true), (1, true), (0, false)] {
        let disk = SimDisk::new(1);
        let mut spare = header(3);
        spare.resize(100 + factor * OPTIONS.segment_bytes as usize, 0xab);
        disk.put(SPARE, &spare);
        let mut opened = open(&disk).unharmed();
        opened.put(1, &fresh(1, 1));
        opened.flush();
        let (name, bytes) = last(&disk);
        assert_eq!((name.as_str(), disk.files().len()), ("journal-0000000004.segment", 1));
        assert_eq!(bytes.windows(8).any(|bytes| bytes == [0xab; 8]), is_kept);
        assert!(disk.used_bytes() <= 2 * u64::from(OPTIONS.segment_bytes), "{}", disk.used_bytes());
        open(&disk).unharmed();
    }
}

#[test]
fn a_full_disk_has_the_spare_before_anything_is_refused() {
    let disk = SimDisk::new(1);
    let options = JournalOptions { segment_bytes: 64 << 10, ..OPTIONS };
    let mut opened = open_with(&disk, options).unwrap();
    let next = churn_until(&mut opened, 1, || has_spare(&disk));
    disk.set_capacity(Some(disk.used_bytes()));
    for id in next.. {
        opened.put(id, &fresh(id, 1));
        opened.flush();
        if !has_spare(&disk) {
            break;
        }
        assert!(!opened.journal.is_full());
    }
    assert!(!opened.journal.is_full(), "there is what the spare took");
    // A batch that does not fit at all takes it, too.
    let disk = SimDisk::new(1);
    let mut opened = open_with(&disk, options).unwrap();
    let next = churn_until(&mut opened, 1, || has_spare(&disk));
    disk.set_capacity(Some(disk.used_bytes()));
    (next..next + 100).for_each(|id| opened.put(id, &fresh(id, 1)));
    opened.flush();
    assert!(!has_spare(&disk));
    opened.check_bodies();
}

#[test]
fn old_payloads_that_look_like_batches_are_soon_read() {
    let (disk, before) = written_over();
    let (name, mut bytes) = last(&disk);
    // Each says that it is a frame that goes on for megabytes.
    let lookalike = [&[0; 4][..], &(4u32 << 20).to_le_bytes(), &[7], b"TIDE BAT"].concat();
    bytes.truncate(end_of(&before));
    bytes.extend(lookalike.iter().cycle().take(8 << 20));
    disk.put(&name, &bytes);
    // Were each of them checked for as long as it says, this would take hours.
    assert_eq!(open(&disk).messages, before.messages);
}
