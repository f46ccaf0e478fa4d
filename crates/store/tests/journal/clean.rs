//! Space comes back while old messages stay.

use crate::life::Dice;
use crate::scene::{Held, Opened, fresh, open_with};
use tidegate_core::queue::{MessageId, QueueId};
use tidegate_store::disk::simulated::SimDisk;
use tidegate_store::journal::{JournalOptions, Record};

const SEGMENT: u64 = 64 << 10;
const OPTIONS: JournalOptions = JournalOptions { segment_bytes: SEGMENT as u32, salt: 1, recent_bytes: 0 };

/// The most that the disk held beyond twice the live bytes, in segments.
struct Worst(f64);

impl Worst {
    fn look(&mut self, disk: &SimDisk, opened: &Opened<SimDisk>) {
        let live = opened.journal.usage().live_bytes;
        let beyond = (disk.used_bytes() as f64 - 2.0 * live as f64) / SEGMENT as f64;
        self.0 = self.0.max(beyond);
    }
}

fn segments(disk: &SimDisk) -> usize {
    disk.files().keys().filter(|name| name.ends_with(".segment")).count()
}

fn turn(disk: &SimDisk, opened: &mut Opened<SimDisk>, worst: &mut Worst) -> u64 {
    let budget = opened.journal.clean_budget();
    let moved = if budget > 0 { opened.clean(budget).unwrap() } else { 0 };
    opened.flush();
    worst.look(disk, opened);
    moved as u64
}

/// Churns through `count` messages in small batches; each one goes some batches later, in any order. Says how many
/// copies were made for each.
fn churn(disk: &SimDisk, opened: &mut Opened<SimDisk>, count: u64, worst: &mut Worst) -> f64 {
    let mut dice = Dice(5);
    let mut waiting: Vec<u64> = Vec::new();
    let mut moved = 0;
    let first = opened.messages.keys().last().map_or(1, |last| last + 1);
    for id in first..first + count {
        opened.put(id, &fresh(id, 1));
        waiting.push(id);
        if waiting.len() > 40 {
            let at = dice.below(waiting.len() as u64) as usize;
            opened.gone(waiting.swap_remove(at));
        }
        if id % 8 == 0 {
            moved += turn(disk, opened, worst);
        }
    }
    waiting.into_iter().for_each(|id| opened.gone(id));
    turn(disk, opened, worst);
    moved as f64 / count as f64
}

#[test]
fn the_disk_stays_within_twice_the_live_bytes_and_two_segments() {
    // An old backlog of no, a little, a good deal of, and much data that nobody may take.
    for backlog in [0, 20, 300, 1_500, 5_000] {
        let disk = SimDisk::new(1);
        let mut opened = open_with(&disk, OPTIONS).unwrap();
        let mut worst = Worst(0.0);
        for id in 1..=backlog {
            opened.put(id, &Held { queue: 9, ..fresh(id, 1) });
            if id % 8 == 0 {
                turn(&disk, &mut opened, &mut worst);
            }
        }
        let copies = churn(&disk, &mut opened, 12_000, &mut worst);
        assert!(worst.0 <= 2.0, "{} segments beyond with a backlog of {backlog}", worst.0);
        // With messages this small, acks and the index are a good part of what is new.
        assert!(copies < 2.2, "{copies} copies per message with a backlog of {backlog}");
        opened.check_bodies();
        disk.crash();
        let again = open_with(&disk, OPTIONS).unwrap().unharmed();
        assert_eq!(again.messages, opened.messages);
        assert_eq!(again.journal.usage().live_bytes, opened.journal.usage().live_bytes);
    }
}

#[test]
fn deaths_alone_are_followed_too() {
    let disk = SimDisk::new(1);
    let mut opened = open_with(&disk, OPTIONS).unwrap();
    let mut worst = Worst(0.0);
    for id in 1..=4_000 {
        opened.put(id, &fresh(id, 1));
        if id % 8 == 0 {
            turn(&disk, &mut opened, &mut worst);
        }
    }
    // Nothing new comes in, and seven of eight go, all over the journal.
    for id in (1..=4_000).filter(|id| id % 8 != 0) {
        opened.gone(id);
        if id % 8 == 1 {
            turn(&disk, &mut opened, &mut worst);
        }
    }
    assert!(worst.0 <= 2.0, "{} segments beyond", worst.0);
    opened.check_bodies();
}

#[test]
fn the_spare_has_what_is_left_of_two_segments() {
    for count in (100..1_000).step_by(10) {
        let disk = SimDisk::new(1);
        let mut opened = open_with(&disk, OPTIONS).unwrap();
        let mut worst = Worst(0.0);
        for id in 1..=count {
            opened.put(id, &fresh(id, 1));
            if id % 8 == 0 {
                turn(&disk, &mut opened, &mut worst);
            }
        }
        // The last segment may be nearly full, and the one before it comes free.
        opened.append(&Record::Purged { queue: QueueId(1), below: MessageId(u64::MAX) });
        turn(&disk, &mut opened, &mut worst);
        churn(&disk, &mut opened, 200, &mut worst);
        assert!(worst.0 <= 2.0, "{} segments after {count} messages", worst.0);
    }
}

#[test]
fn an_emptied_journal_is_dropped_without_a_walk() {
    let disk = SimDisk::new(1);
    let mut opened = open_with(&disk, OPTIONS).unwrap();
    for id in 1..=4_000 {
        opened.put(id, &fresh(id, 1));
        if id % 8 == 0 {
            opened.flush();
        }
    }
    assert!(disk.files().len() > 10);
    opened.append(&Record::Purged { queue: QueueId(1), below: MessageId(u64::MAX) });
    opened.flush();
    let left: Vec<_> = disk.files().into_keys().collect();
    assert!(
        matches!(&left[..], [segment, spare] if segment.ends_with(".segment") && spare == "journal.spare")
    );
    assert!(open_with(&disk, OPTIONS).unwrap().unharmed().messages.is_empty());
}

#[test]
fn a_segment_stays_until_the_copies_are_on_disk() {
    let disk = SimDisk::new(1);
    let mut opened = open_with(&disk, OPTIONS).unwrap();
    let mut id = 0;
    while opened.journal.usage().segments < 3 {
        id += 1;
        opened.put(id, &fresh(id, 1));
        opened.flush();
    }
    (2..id).for_each(|id| opened.gone(id));
    opened.flush();
    let files = segments(&disk);
    while opened.journal.wants_cleaning() && opened.journal.pending_bytes() == 0 {
        opened.clean(u64::MAX).unwrap();
    }
    let batch = opened.journal.take_batch().unwrap();
    batch.write().unwrap();
    batch.reclaim().unwrap();
    assert_eq!(segments(&disk), files, "not synced yet");
    batch.sync().unwrap();
    batch.reclaim().unwrap();
    assert!(segments(&disk) < files);
}

#[test]
fn what_was_not_moved_is_found_again() {
    let disk = SimDisk::new(1);
    let mut opened = open_with(&disk, OPTIONS).unwrap();
    let mut id = 0;
    while opened.journal.usage().segments < 4 {
        id += 1;
        opened.put(id, &fresh(id, 1));
        opened.flush();
    }
    (1..id).filter(|id| id % 10 != 0).for_each(|id| opened.gone(id));
    opened.flush();
    // An owner that forgets what it was told loses nothing: the segment stays, and is walked again.
    assert!(!opened.journal.clean_step(u64::MAX).unwrap().candidates.is_empty());
    opened.flush();
    let files = segments(&disk);
    assert!(opened.clean(u64::MAX).unwrap() > 0);
    opened.flush();
    assert!(segments(&disk) < files);
    opened.check_bodies();
    assert_eq!(open_with(&disk, OPTIONS).unwrap().unharmed().messages, opened.messages);
}
