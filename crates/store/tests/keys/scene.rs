//! A server's life with its data directory, to be copied at the moment of a crash.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use tidegate_core::Tat;
use tidegate_store::DataDir;
use tidegate_store::keys::{KeyRecord, KeyStore, Options, Recovered};

pub const HASH_KEY: [u8; 16] = *b"the hash key !!!";

/// The state of all keys, without those forgotten.
pub type Keys = HashMap<u128, Tat>;

/// An open store and what it recovered.
pub struct Opened {
    pub store: KeyStore,
    pub recovered: Recovered,
    pub keys: Keys,
}

impl Opened {
    /// Checks that nothing was wrong with the files.
    pub fn unharmed(self) -> Opened {
        assert_eq!(self.recovered.report.set_aside, []);
        assert_eq!(self.recovered.report.torn_tails, []);
        self
    }

    /// Writes a snapshot of `keys` in one go.
    pub fn snapshot(&mut self, keys: &[KeyRecord], now_ns: u64) {
        let mut writer = self.store.begin_snapshot(now_ns).unwrap();
        writer.write(keys).unwrap();
        self.store.finish_snapshot(writer, now_ns).unwrap();
    }
}

/// Opens the directory with [`HASH_KEY`], which no test expects to be refused.
pub fn open(path: &Path) -> Opened {
    open_with(path, HASH_KEY)
}

pub fn open_with(path: &Path, hash_key: [u8; 16]) -> Opened {
    let mut keys = Keys::new();
    let dir = DataDir::open(path).unwrap();
    let (store, recovered) =
        KeyStore::open(&dir, hash_key, Options::default(), |records| apply(&mut keys, records)).unwrap();
    Opened { store, recovered, keys }
}

/// Brings `keys` up to date: the last record counts, and a tombstone forgets.
pub fn apply(keys: &mut Keys, records: &[KeyRecord]) {
    for record in records {
        match record.is_tombstone() {
            true => keys.remove(&record.hash),
            false => keys.insert(record.hash, record.tat),
        };
    }
}

pub fn key(hash: u128, ns: u64) -> KeyRecord {
    KeyRecord { hash, tat: Tat { ns, rem: hash as u32 } }
}

pub fn forgotten(hash: u128) -> KeyRecord {
    KeyRecord { hash, tat: Tat::default() }
}

/// The keys that these records leave.
pub fn keys(records: &[KeyRecord]) -> Keys {
    let mut keys = Keys::new();
    apply(&mut keys, records);
    keys
}

/// The records that leave these keys.
pub fn records(keys: &Keys) -> Vec<KeyRecord> {
    keys.iter().map(|(hash, tat)| KeyRecord { hash: *hash, tat: *tat }).collect()
}

/// The directory as a crash at this moment would leave it.
pub fn crash(path: &Path) -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    write_files(copy.path(), &files(path));
    copy
}

/// Every file but the lock, by name.
pub fn files(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(path).unwrap().map(Result::unwrap);
    let files = entries.filter(|entry| entry.file_type().unwrap().is_file());
    let named =
        files.map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()));
    named.filter(|(name, _)| name != "lock").collect()
}

pub fn write_files(path: &Path, files: &BTreeMap<String, Vec<u8>>) {
    for (name, bytes) in files {
        fs::write(path.join(name), bytes).unwrap();
    }
}

pub fn names(path: &Path) -> Vec<String> {
    files(path).into_keys().collect()
}

/// The log that is being written.
pub fn newest_log(path: &Path) -> Option<PathBuf> {
    names(path).into_iter().rfind(|name| name.ends_with(".log")).map(|name| path.join(name))
}
