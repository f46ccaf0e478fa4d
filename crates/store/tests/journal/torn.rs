//! A tail cut at any byte, on a disk that is otherwise fine.

use crate::scene::{OPTIONS, fresh, open, open_with};
use tidegate_store::disk::simulated::SimDisk;
use tidegate_store::journal::JournalOptions;

const FIRST: &str = "journal-0000000001.segment";

/// What each batch begins with.
const BATCH_FRAME_BYTES: usize = 21;

/// Two batches of three messages. The file, where the first batch ends, and where each record of the second does.
fn two_batches() -> (Vec<u8>, usize, Vec<usize>) {
    let disk = SimDisk::new(1);
    let mut opened = open(&disk);
    (1..=3).for_each(|id| opened.put(id, &fresh(id, 1)));
    let first_end = opened.places[&3];
    opened.flush();
    (4..=6).for_each(|id| opened.put(id, &fresh(id, 1)));
    opened.flush();
    let end = |id: u64| (opened.places[&id].offset + opened.places[&id].len) as usize;
    let first_end = (first_end.offset + first_end.len) as usize;
    (disk.files().remove(FIRST).unwrap(), first_end, vec![end(4), end(5), end(6)])
}

#[test]
fn a_tail_cut_at_any_byte_loses_only_the_records_that_it_cuts() {
    let (bytes, first_end, ends) = two_batches();
    let whole = ends[2];
    for filler in [None, Some(0), Some(0xff)] {
        for cut in first_end..=whole {
            let disk = SimDisk::new(1);
            let mut torn = bytes[..cut].to_vec();
            // A file that was reserved ahead goes on with zeros; a disk may show anything.
            torn.extend(filler.iter().flat_map(|byte| std::iter::repeat_n(*byte, 300)));
            disk.put(FIRST, &torn);
            let opened = open(&disk);
            // Zeros may happen to be what was cut off.
            let is_there = |end: &&usize| torn.get(..**end) == Some(&bytes[..**end]);
            let kept = 3 + ends.iter().filter(is_there).count() as u64;
            assert_eq!(opened.messages.len() as u64, kept, "cut at {cut}");
            opened.check_bodies();
            assert!(opened.report.damaged.is_empty(), "{:?}", opened.report.lines());
            let batch = [first_end, first_end + BATCH_FRAME_BYTES];
            let end = batch.iter().chain(&ends).rfind(is_there).unwrap();
            let is_torn = torn[*end..].iter().any(|byte| *byte != 0);
            assert_eq!(!opened.report.torn_tails.is_empty(), is_torn, "cut at {cut}");

            // Going on from there works, and the next start has nothing to complain about.
            let mut opened = opened;
            opened.put(9, &fresh(9, 1));
            opened.flush();
            let again = open(&disk).unharmed();
            assert_eq!(again.messages, opened.messages);
            again.check_bodies();
        }
    }
}

#[test]
fn a_torn_record_with_whole_ones_behind_it_ends_the_tail() {
    let (bytes, first_end, ends) = two_batches();
    for at in [first_end + 40, ends[0] + 9] {
        let disk = SimDisk::new(1);
        let mut torn = bytes.clone();
        torn[at] ^= 1;
        disk.put(FIRST, &torn);
        let opened = open(&disk);
        assert_eq!(opened.messages.len(), if at < ends[0] { 3 } else { 4 });
        let torn = &opened.report.torn_tails[0];
        assert_eq!((torn.file.as_str(), opened.report.damaged.len()), (FIRST, 0));
        assert!(torn.to_string().contains("cut short"), "{torn}");
    }
}

#[test]
fn a_segment_without_a_record_is_removed_and_its_number_used_again() {
    let disk = SimDisk::new(1);
    let mut opened = open(&disk);
    opened.put(1, &fresh(1, 1));
    let batch = opened.journal.take_batch().unwrap();
    batch.write().unwrap();
    let header_only = disk.files().remove(FIRST).unwrap()[..28].to_vec();
    let disk = SimDisk::new(1);
    disk.put(FIRST, &header_only);
    let mut opened = open_with(&disk, JournalOptions { salt: 9, ..OPTIONS }).unwrap().unharmed();
    assert_eq!(disk.files().len(), 0);
    opened.put(2, &fresh(2, 1));
    opened.flush();
    assert_eq!(disk.files().into_keys().collect::<Vec<_>>(), [FIRST]);
    assert!(open(&disk).unharmed().messages.contains_key(&2));
}
