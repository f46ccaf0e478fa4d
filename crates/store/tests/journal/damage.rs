//! Bytes that were on disk once and are wrong now: reported, and the rest is used.

use crate::scene::{Opened, fresh, open, open_with};
use tidegate_core::queue::Place;
use tidegate_store::Error;
use tidegate_store::disk::simulated::SimDisk;

fn name(number: u32) -> String {
    format!("journal-{number:010}.segment")
}

/// Three segments of single-message batches, the last one open.
fn three_segments() -> (SimDisk, Opened<SimDisk>) {
    let disk = SimDisk::new(1);
    let mut opened = open(&disk);
    for id in 1.. {
        opened.put(id, &fresh(id, 1));
        opened.flush();
        if opened.journal.usage().segments == 3 {
            break;
        }
    }
    (disk, opened)
}

/// The first message of a segment.
fn in_segment(opened: &Opened<SimDisk>, segment: u32) -> (u64, Place) {
    let mut places = opened.places.iter().filter(|(_, place)| place.segment == segment);
    places.next().map(|(id, place)| (*id, *place)).unwrap()
}

fn flip(disk: &SimDisk, file: &str, at: usize) {
    let mut bytes = disk.files().remove(file).unwrap();
    bytes[at] ^= 0x10;
    disk.put(file, &bytes);
}

#[test]
fn a_damaged_record_in_a_segment_without_index_loses_itself_alone() {
    for segment in [1, 3] {
        let (disk, mut before) = three_segments();
        let (id, place) = in_segment(&before, segment);
        if segment == 1 {
            // Without its end frame, the segment has to be scanned.
            let size = disk.files()[&name(1)].len();
            flip(&disk, &name(1), size - 3);
        } else {
            // The last segment needs a later batch that knows that this one was on disk.
            let more = before.messages.keys().last().unwrap() + 1;
            before.put(more, &fresh(more, 1));
            before.flush();
        }
        flip(&disk, &name(segment), (place.offset + place.len) as usize - 1);
        let opened = open(&disk);
        let mut expected = before.messages.clone();
        expected.remove(&id);
        assert_eq!(opened.messages, expected);
        opened.check_bodies();
        let said = opened.report.lines().join("\n");
        assert!(said.contains(&name(segment)) && said.contains("damaged"), "{said}");
        assert!(opened.report.torn_tails.is_empty(), "{said}");
    }
}

#[test]
fn an_index_that_does_not_match_is_ignored() {
    let (disk, before) = three_segments();
    let size = disk.files()[&name(1)].len();
    // In the index itself, and in the end frame behind it.
    for at in [size - 40, size - 20] {
        flip(&disk, &name(1), at);
        let opened = open(&disk);
        assert_eq!(opened.messages, before.messages);
        assert!(opened.report.scanned >= 1);
        opened.check_bodies();
    }
}

#[test]
fn a_damaged_body_is_an_error_and_its_segment_is_kept() {
    let (disk, before) = three_segments();
    let (id, place) = in_segment(&before, 1);
    flip(&disk, &name(1), place.offset as usize + 60);
    let mut opened = open(&disk);
    let error = opened.journal.reader().read(place).unwrap_err();
    assert!(matches!(error, Error::Damaged { .. }) && !error.is_fatal(), "{error}");

    // The owner gives the message up, and everything else in the segment goes the usual way.
    opened.journal.unreadable(place);
    opened.places.remove(&id);
    for gone in opened.messages.keys().copied().collect::<Vec<_>>() {
        opened.gone(gone);
    }
    opened.flush();
    let names: Vec<_> = disk.files().into_keys().collect();
    assert!(names.contains(&format!("{}.corrupt-1", name(1))), "{names:?}");
    assert!(!names.contains(&name(1)) && !names.contains(&name(2)), "{names:?}");
    open(&disk).unharmed();
}

#[test]
fn a_segment_with_a_damaged_header_is_set_aside() {
    let (disk, before) = three_segments();
    flip(&disk, &name(2), 20);
    let bytes = disk.files().remove(&name(2)).unwrap();
    let opened = open(&disk);
    let kept = format!("{}.corrupt-1", name(2));
    assert_eq!(disk.files()[&kept], bytes);
    assert!(opened.report.lines()[0].contains(&kept), "{:?}", opened.report.lines());
    let expected: Vec<_> =
        before.places.iter().filter(|(_, place)| place.segment != 2).map(|(id, _)| *id).collect();
    assert_eq!(opened.messages.into_keys().collect::<Vec<_>>(), expected);
    drop(opened.journal);
    open(&disk).unharmed();
}

#[test]
fn a_missing_segment_is_reported() {
    let (disk, _) = three_segments();
    let files = disk.files();
    let disk = SimDisk::new(1);
    for number in [1, 3] {
        disk.put(&name(number), &files[&name(number)]);
    }
    let report = open(&disk).report;
    assert_eq!(report.missing, [2]);
    assert!(report.lines()[0].contains(&name(2)));
}

#[test]
fn a_newer_version_is_refused_and_nothing_is_touched() {
    let (disk, _) = three_segments();
    let mut bytes = disk.files().remove(&name(2)).unwrap();
    bytes[8] = 2;
    disk.put(&name(2), &bytes);
    disk.put(&format!("{}.tmp", name(4)), b"half");
    let before = disk.files();
    let error = open_with(&disk, crate::scene::OPTIONS).err().unwrap();
    assert!(matches!(error, Error::Newer { version: 2, known: 1, .. }));
    let said = error.to_string();
    assert!(said.contains(&name(2)) && said.contains("version 2"), "{said}");
    assert_eq!(disk.files(), before);
}

#[test]
fn no_bytes_make_it_panic() {
    let (disk, _) = three_segments();
    let files = disk.files();
    let mut dice = crate::life::Dice(3);
    for _ in 0..300 {
        let disk = SimDisk::new(1);
        for (name, bytes) in &files {
            let mut bytes = bytes.clone();
            for _ in 0..dice.below(4) {
                let at = dice.below(bytes.len() as u64) as usize;
                bytes[at] = dice.below(256) as u8;
            }
            bytes.truncate(bytes.len() - dice.below(3) as usize * 50);
            disk.put(name, &bytes);
        }
        if let Ok(mut opened) = open_with(&disk, crate::scene::OPTIONS) {
            opened.put(1_000, &fresh(1_000, 1));
            opened.flush();
        }
    }
}
