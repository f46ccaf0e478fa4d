//! Random lives of a server against a map in memory, with crashes of the process and of the machine.

use crate::scene::{Keys, Opened, apply, crash, newest_log, open};
use proptest::prelude::*;
use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::path::PathBuf;
use tempfile::TempDir;
use tidegate_core::Tat;
use tidegate_store::keys::{KeyRecord, SnapshotWriter};

const HASHES: std::ops::Range<u128> = 0..24;
const HEADER_BYTES: u64 = 44;

#[derive(Clone, Debug)]
enum Op {
    /// Keys change; an arrival time of 0 forgets.
    Append(Vec<(u128, u64)>),
    Sync,
    BeginSnapshot,
    /// The snapshot gets the next few keys, as they are now.
    WriteSnapshot(usize),
    FinishSnapshot,
    /// The process dies: what was handed to the system stays.
    Kill,
    /// The machine stops: of what was not synced, this much in 256 stays.
    PowerLoss(u8),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => prop::collection::vec((HASHES, 0u64..9), 1..6).prop_map(Op::Append),
        3 => Just(Op::Sync),
        2 => Just(Op::BeginSnapshot),
        4 => (1usize..16).prop_map(Op::WriteSnapshot),
        2 => Just(Op::FinishSnapshot),
        1 => Just(Op::Kill),
        1 => any::<u8>().prop_map(Op::PowerLoss),
    ]
}

/// A snapshot under way, and the keys that it has still to write.
struct Snapshot {
    writer: SnapshotWriter,
    left: Vec<u128>,
}

/// The store, and what it should remember.
struct Life {
    temp: TempDir,
    opened: Opened,
    snapshot: Option<Snapshot>,
    now_ns: u64,
    keys: Keys,
    /// For each key that changed since the last sync, what it was then and has been since.
    unsynced: HashMap<u128, BTreeSet<Option<Tat>>>,
    /// The log that was synced last, and how far.
    synced: Option<(PathBuf, u64)>,
}

impl Life {
    fn new() -> Life {
        let temp = tempfile::tempdir().unwrap();
        let opened = open(temp.path());
        let (keys, unsynced) = (Keys::new(), HashMap::new());
        Life { temp, opened, snapshot: None, now_ns: 0, keys, unsynced, synced: None }
    }

    fn run(&mut self, op: &Op) {
        self.now_ns += 1;
        match op {
            Op::Append(changes) => self.append(changes),
            Op::Sync => {
                self.opened.store.sync().unwrap();
                self.note_synced();
            }
            Op::BeginSnapshot => {
                self.snapshot = None;
                let writer = self.opened.store.begin_snapshot(self.now_ns).unwrap();
                self.snapshot = Some(Snapshot { writer, left: HASHES.collect() });
                self.note_synced();
            }
            Op::WriteSnapshot(count) => self.write_snapshot(*count),
            Op::FinishSnapshot => {
                self.write_snapshot(usize::MAX);
                if let Some(snapshot) = self.snapshot.take() {
                    self.opened.store.finish_snapshot(snapshot.writer, self.now_ns).unwrap();
                }
            }
            Op::Kill => {
                let left = crash(self.temp.path());
                self.restart(left);
                assert_eq!(self.opened.keys, self.keys);
                self.note_synced();
            }
            Op::PowerLoss(kept) => self.lose_power(u64::from(*kept)),
        }
    }

    fn append(&mut self, changes: &[(u128, u64)]) {
        // The remainder tells every change from every other.
        let rem = self.now_ns as u32;
        let tat = |ns| if ns == 0 { Tat::default() } else { Tat { ns, rem } };
        let records: Vec<_> =
            changes.iter().map(|(hash, ns)| KeyRecord { hash: *hash, tat: tat(*ns) }).collect();
        for record in &records {
            let states = self.unsynced.entry(record.hash).or_default();
            states.insert(self.keys.get(&record.hash).copied());
            apply(&mut self.keys, &[*record]);
            states.insert(self.keys.get(&record.hash).copied());
        }
        self.opened.store.append(&records, self.now_ns).unwrap();
    }

    fn write_snapshot(&mut self, count: usize) {
        if let Some(Snapshot { writer, left }) = &mut self.snapshot {
            let hashes = left.drain(..count.min(left.len()));
            let records = hashes.filter_map(|hash| Some(KeyRecord { hash, tat: *self.keys.get(&hash)? }));
            writer.write(&records.collect::<Vec<_>>()).unwrap();
        }
    }

    /// From here on, only what comes later can be lost.
    fn note_synced(&mut self) {
        self.unsynced.clear();
        self.synced = newest_log(self.temp.path()).map(|log| {
            let bytes = fs::metadata(&log).unwrap().len();
            (log, bytes)
        });
    }

    fn lose_power(&mut self, kept: u64) {
        let left = crash(self.temp.path());
        if let Some(log) = newest_log(self.temp.path()) {
            let bytes = fs::metadata(&log).unwrap().len();
            let synced = self.synced.as_ref().filter(|(name, _)| *name == log);
            let durable = synced.map_or(HEADER_BYTES, |(_, bytes)| *bytes);
            let copy = File::options().write(true).open(newest_log(left.path()).unwrap()).unwrap();
            copy.set_len(durable + (bytes - durable) * kept / 256).unwrap();
        }
        self.restart(left);
        for hash in HASHES {
            let (found, last) = (self.opened.keys.get(&hash).copied(), self.keys.get(&hash).copied());
            let may_be_older = self.unsynced.get(&hash).is_some_and(|states| states.contains(&found));
            assert!(found == last || may_be_older, "key {hash}: {found:?}, last was {last:?}");
        }
        self.keys = self.opened.keys.clone();
        self.note_synced();
    }

    fn restart(&mut self, left: TempDir) {
        self.opened = open(left.path());
        self.temp = left;
        self.snapshot = None;
        assert_eq!(self.opened.recovered.report.set_aside, []);
        assert!(self.opened.recovered.newest_now_ns <= self.now_ns);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_life_remembers_what_it_promised(ops in prop::collection::vec(op(), 1..60)) {
        let mut life = Life::new();
        for op in &ops {
            life.run(op);
        }
        life.run(&Op::Kill);
    }
}
