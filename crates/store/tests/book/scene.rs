//! A book whose records are `key value`, and what it should remember of them.

use std::collections::{BTreeMap, BTreeSet};
use tidegate_store::Error;
use tidegate_store::book::{Book, BookOptions, BookReport, Snapshot};
use tidegate_store::disk::simulated::SimDisk;

/// Long enough to lie in several sectors.
const FILLING: usize = 700;

/// The value of each key.
pub type State = BTreeMap<u8, u32>;

pub fn options() -> BookOptions {
    BookOptions { salt: 7, ..BookOptions::default() }
}

/// A record: a key, its value, and filling that depends on both. The value 0 says that the key was forgotten.
pub fn record(key: u8, value: u32) -> Vec<u8> {
    let mut record = vec![key];
    record.extend_from_slice(&value.to_le_bytes());
    record.resize(5 + FILLING * usize::from(key % 4), key ^ value as u8);
    record
}

/// Brings a state up to date.
pub fn apply(state: &mut State, found: &[u8]) {
    let value = u32::from_le_bytes(found[1..5].try_into().unwrap());
    assert_eq!(found, record(found[0], value), "a record that nobody wrote");
    match value {
        0 => state.remove(&found[0]),
        value => state.insert(found[0], value),
    };
}

/// An open book and what came back from it.
pub struct Opened {
    pub book: Book<SimDisk>,
    pub report: BookReport,
    pub state: State,
}

pub fn try_open(disk: &SimDisk) -> Result<Opened, Error> {
    let mut state = State::new();
    let (book, report) = Book::open(disk.clone(), options(), |found| apply(&mut state, found))?;
    Ok(Opened { book, report, state })
}

/// Opens a book that nothing is wrong with, but for a torn tail.
pub fn open(disk: &SimDisk) -> Opened {
    let opened = try_open(disk).unwrap();
    assert_eq!(opened.report.set_aside, []);
    opened
}

impl Opened {
    /// Appends a record and syncs.
    pub fn put(&mut self, key: u8, value: u32) {
        self.book.append(&record(key, value));
        self.book.sync().unwrap();
    }

    /// Writes a snapshot in one go.
    pub fn snapshot(&mut self, state: &State) {
        let mut snapshot = self.book.begin_snapshot().unwrap();
        write_all(&mut snapshot, state).unwrap();
        self.book.finish_snapshot(snapshot).unwrap();
    }
}

pub fn write_all(snapshot: &mut Snapshot<SimDisk>, state: &State) -> Result<(), Error> {
    state.iter().try_for_each(|(key, value)| snapshot.write(&record(*key, *value)))
}

/// What may come back after a crash: for each key its value at the last sync, or one that it had since.
#[derive(Debug, Default)]
pub struct Memory {
    pub state: State,
    since_sync: BTreeMap<u8, BTreeSet<Option<u32>>>,
}

impl Memory {
    pub fn note(&mut self, key: u8, value: u32) {
        let values = self.since_sync.entry(key).or_default();
        values.insert(self.state.get(&key).copied());
        apply(&mut self.state, &record(key, value));
        values.insert(self.state.get(&key).copied());
    }

    pub fn note_synced(&mut self) {
        self.since_sync.clear();
    }

    /// Checks what came back, and goes on from there.
    pub fn check(&mut self, found: &State, context: &str) {
        for key in 0..=u8::MAX {
            let (found, last) = (found.get(&key).copied(), self.state.get(&key).copied());
            let is_older = self.since_sync.get(&key).is_some_and(|values| values.contains(&found));
            assert!(found == last || is_older, "{context}: key {key} is {found:?}, last was {last:?}");
        }
        self.state = found.clone();
        self.note_synced();
    }
}
