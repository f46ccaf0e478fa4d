//! What is put in comes out again, and a snapshot stands in for what was before it.

use crate::scene::{State, open, options, record};
use tidegate_store::DataDir;
use tidegate_store::book::{Book, BookOptions};
use tidegate_store::disk::RealDisk;
use tidegate_store::disk::simulated::SimDisk;

#[test]
fn records_come_back_in_order_and_a_kill_loses_what_was_not_synced() {
    let disk = SimDisk::new(1);
    let mut opened = open(&disk);
    opened.put(1, 10);
    opened.put(1, 11);
    opened.book.append(&record(2, 20));
    assert!(opened.book.pending_bytes() > 700);
    drop(opened);
    let mut seen = Vec::new();
    Book::open(disk, options(), |found| seen.push(found.to_vec())).unwrap();
    assert_eq!(seen, [record(1, 10), record(1, 11)]);
}

#[test]
fn records_of_any_length_come_back_from_a_real_disk() {
    let temp = tempfile::tempdir().unwrap();
    let disk = RealDisk::open(&DataDir::open(temp.path()).unwrap(), "ledger").unwrap();
    let records: Vec<Vec<u8>> =
        [0, 1, 100, 65_535, 65_536, 1 << 20].iter().map(|length| vec![7; *length]).collect();
    let (mut book, report) = Book::open(disk.clone(), options(), |_| ()).unwrap();
    assert_eq!(report, Default::default());
    records.iter().for_each(|record| book.append(record));
    book.sync().unwrap();
    let mut snapshot = book.begin_snapshot().unwrap();
    records.iter().for_each(|record| snapshot.write(record).unwrap());
    records.iter().for_each(|record| book.append(record));
    book.sync().unwrap();
    book.finish_snapshot(snapshot).unwrap();
    drop(book);
    let mut seen = Vec::new();
    let (_, report) = Book::open(disk, options(), |found| seen.push(found.to_vec())).unwrap();
    assert_eq!((report.snapshot_records, report.log_records, report.lines()), (6, 6, Vec::new()));
    assert_eq!(seen, [records.clone(), records].concat());
}

#[test]
fn nothing_appended_costs_no_call() {
    let disk = SimDisk::new(1);
    let mut opened = open(&disk);
    let calls = disk.calls();
    opened.book.sync().unwrap();
    assert_eq!(disk.calls(), calls);
    assert_eq!(disk.files().len(), 0);
}

#[test]
fn a_finished_snapshot_replaces_everything_before_it_and_nothing_after() {
    let disk = SimDisk::new(1);
    let mut opened = open(&disk);
    opened.put(1, 10);
    opened.book.append(&record(2, 20));
    let mut snapshot = opened.book.begin_snapshot().unwrap();
    assert_eq!(opened.book.pending_bytes(), 0, "older than the snapshot, so not read after it");
    opened.put(2, 21);
    snapshot.write(&record(2, 20)).unwrap();
    opened.put(3, 30);
    opened.book.finish_snapshot(snapshot).unwrap();
    assert_eq!(
        disk.files().into_keys().collect::<Vec<_>>(),
        ["book-0000000002.log", "book-0000000002.snapshot"]
    );
    drop(opened);
    assert_eq!(open(&disk).state, State::from([(2, 21), (3, 30)]));
}

#[test]
fn a_snapshot_given_up_leaves_nothing_behind_and_forgets_nothing() {
    let disk = SimDisk::new(1);
    let mut opened = open(&disk);
    opened.put(1, 10);
    let mut snapshot = opened.book.begin_snapshot().unwrap();
    snapshot.write(&record(1, 10)).unwrap();
    opened.put(2, 20);
    drop(snapshot);
    opened.put(3, 30);
    drop(opened);
    assert_eq!(disk.files().into_keys().collect::<Vec<_>>(), ["book-0000000001.log", "book-0000000002.log"]);
    assert_eq!(open(&disk).state, State::from([(1, 10), (2, 20), (3, 30)]));
}

#[test]
fn a_snapshot_is_due_when_the_logs_outgrow_twice_the_last_one_or_are_many() {
    let disk = SimDisk::new(1);
    let options = BookOptions { min_log_bytes: 10_000, ..options() };
    let (mut book, _) = Book::open(disk.clone(), options, |_| ()).unwrap();
    let put = |book: &mut Book<SimDisk>, bytes: usize| {
        book.append(&vec![7; bytes]);
        book.sync().unwrap();
    };
    put(&mut book, 9_000);
    assert!(!book.wants_snapshot());
    put(&mut book, 1_000);
    assert!(book.wants_snapshot());
    let mut snapshot = book.begin_snapshot().unwrap();
    snapshot.write(&[7; 10_000]).unwrap();
    put(&mut book, 5_000);
    book.finish_snapshot(snapshot).unwrap();
    put(&mut book, 14_000);
    assert!(!book.wants_snapshot(), "19,000 since, and 10,000 in the snapshot");
    put(&mut book, 2_000);
    assert!(book.wants_snapshot());

    let disk = SimDisk::new(1);
    for _ in 0..17 {
        let (mut book, _) = Book::open(disk.clone(), options, |_| ()).unwrap();
        assert!(!book.wants_snapshot());
        put(&mut book, 1);
    }
    assert!(Book::open(disk, options, |_| ()).unwrap().0.wants_snapshot(), "17 logs");
}
