//! The keys of a running server: appends to the log, and the change from one generation to the next.
//!
//! What happens if the process dies between any two steps is in `docs/internals/keys-file.md`; each of them is
//! a test.

use super::header::{HashKey, Header};
use super::log::Log;
use super::record::KeyRecord;
use super::recover::Recovery;
use super::report::Recovered;
use super::snapshot::SnapshotWriter;
use crate::Error;
use crate::dir::{DataDir, Rename};
use crate::generations::{FileName, Kind, Series};

/// Logs that recovery may have to read before a snapshot is due, however short they are.
const MAX_LOGS: u64 = 16;

/// Settings of a [`KeyStore`].
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// A log shorter than this calls for no snapshot.
    pub min_log_bytes: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options { min_log_bytes: 8 << 20 }
    }
}

/// What the newest snapshot lacks, and a new one would cover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Backlog {
    pub logs: u64,
    pub log_bytes: u64,
    /// Failed writes, and files found damaged: state that may be in memory alone.
    pub faults: u64,
}

impl Backlog {
    fn less(self, covered: Backlog) -> Backlog {
        Backlog {
            logs: self.logs.saturating_sub(covered.logs),
            log_bytes: self.log_bytes.saturating_sub(covered.log_bytes),
            faults: self.faults.saturating_sub(covered.faults),
        }
    }
}

/// A damaged file that is still needed under its name, until a snapshot replaces it.
#[derive(Clone, Debug)]
pub(crate) struct Damaged {
    pub name: FileName,
    pub kept_as: String,
}

/// The state of inline keys on disk. Has no thread and no clock: its owner drives it.
pub struct KeyStore {
    pub(super) dir: DataDir,
    pub(super) hash_key: HashKey,
    pub(super) options: Options,
    /// Of the log that is open, or else of the next one.
    pub(super) generation: u64,
    /// None until something is appended, and after a failed write.
    pub(super) log: Option<Log>,
    pub(super) snapshot_bytes: u64,
    pub(super) backlog: Backlog,
    pub(super) damaged: Vec<Damaged>,
}

impl KeyStore {
    /// Recovers what is in `dir` and continues from there. Records are handed to `visit` in the order in which
    /// they were written; the last one of a key counts. If the hash key is needed before the first record,
    /// use [`Recovery`], which does the same in two steps.
    pub fn open(
        dir: &DataDir,
        fresh_hash_key: HashKey,
        options: Options,
        visit: impl FnMut(&[KeyRecord]),
    ) -> Result<(KeyStore, Recovered), Error> {
        Recovery::start(dir, fresh_hash_key, options)?.replay(visit)
    }

    /// Adds the state of changed keys to the log; a default arrival time says that the key was forgotten.
    /// With [`sync`](KeyStore::sync) they are safe from a crash of the machine, too.
    ///
    /// After an error some of the records may be missing. Hand them in again, or write a snapshot, as
    /// [`wants_snapshot`](KeyStore::wants_snapshot) will say. The next append starts a new log, so what comes
    /// later is not lost behind half a block.
    pub fn append(&mut self, records: &[KeyRecord], now_ns: u64) -> Result<(), Error> {
        if records.is_empty() {
            return Ok(());
        }
        let result = self.try_append(records, now_ns);
        self.note(result)
    }

    /// Puts all that was appended on disk. Costs nothing if it is there already. An error means the same as
    /// that of [`append`](KeyStore::append), for all records since the last sync.
    pub fn sync(&mut self) -> Result<(), Error> {
        let result = self.log.as_mut().map_or(Ok(()), Log::sync);
        self.note(result)
    }

    /// Whether a snapshot is due: the log has outgrown the last one, or something is safe in memory only. Says
    /// so until one is finished. On a full disk that may take a while, so pause between attempts.
    pub fn wants_snapshot(&self) -> bool {
        let Backlog { logs, log_bytes, faults } = self.backlog;
        faults > 0 || logs > MAX_LOGS || log_bytes > self.snapshot_bytes.max(self.options.min_log_bytes)
    }

    /// Starts a snapshot, and a new log with it. Write every live key to it, in any order, each as it is at
    /// that moment. Keep appending meanwhile; one snapshot at a time.
    pub fn begin_snapshot(&mut self, now_ns: u64) -> Result<SnapshotWriter, Error> {
        let sealed = self.log.take().map_or(Ok(()), |log| log.seal(now_ns));
        self.note(sealed)?;
        self.generation += 1;
        SnapshotWriter::create(&self.dir, &self.header(Kind::Snapshot), now_ns, self.backlog)
    }

    /// Makes the snapshot durable and then clears away what it replaces: older generations are deleted, and
    /// damaged files among them renamed. If that fails the snapshot counts all the same, and the next one, or
    /// the next start, clears away the rest.
    pub fn finish_snapshot(&mut self, writer: SnapshotWriter, now_ns: u64) -> Result<(), Error> {
        let snapshot = writer.publish(now_ns)?;
        self.snapshot_bytes = snapshot.bytes;
        self.backlog = self.backlog.less(snapshot.covers);
        self.clear_before(snapshot.generation)
    }

    fn try_append(&mut self, records: &[KeyRecord], now_ns: u64) -> Result<(), Error> {
        let header = self.header(Kind::Log);
        let log = match &mut self.log {
            Some(log) => log,
            none => {
                let log = none.insert(Log::create(&self.dir, &header)?);
                self.backlog.logs += 1;
                self.backlog.log_bytes += log.bytes();
                log
            }
        };
        let before = log.bytes();
        log.append(records, now_ns)?;
        self.backlog.log_bytes += log.bytes() - before;
        Ok(())
    }

    /// After a failed write nobody knows what the log ends in, so it is not touched again.
    fn note(&mut self, result: Result<(), Error>) -> Result<(), Error> {
        if result.is_err() {
            self.log = None;
            self.generation += 1;
            self.backlog.faults += 1;
        }
        result
    }

    fn header(&self, kind: Kind) -> Header {
        Header {
            name: FileName { series: Series::Keys, generation: self.generation, kind },
            hash_key: self.hash_key,
        }
    }

    fn clear_before(&mut self, generation: u64) -> Result<(), Error> {
        for entry in self.dir.entries()? {
            let Some(name) = Series::Keys.parse(&entry.name) else { continue };
            if !entry.is_file || name.generation >= generation {
                continue;
            }
            match self.damaged.iter().find(|damaged| damaged.name == name) {
                Some(damaged) => self.dir.rename(Rename { from: &entry.name, to: &damaged.kept_as })?,
                None => self.dir.remove(&entry.name)?,
            }
        }
        Ok(())
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use std::path::Path;
    use tidegate_core::Tat;

    fn key(hash: u128, ns: u64) -> KeyRecord {
        KeyRecord { hash, tat: Tat { ns, rem: 0 } }
    }

    fn open(path: &Path) -> (KeyStore, HashMap<u128, u64>) {
        let mut keys = HashMap::new();
        let dir = DataDir::open(path).unwrap();
        let visit = |records: &[KeyRecord]| keys.extend(records.iter().map(|key| (key.hash, key.tat.ns)));
        let (store, recovered) = KeyStore::open(&dir, [7; 16], Options::default(), visit).unwrap();
        assert_eq!(recovered.report.set_aside, []);
        (store, keys)
    }

    #[test]
    fn after_a_full_disk_the_next_append_goes_to_a_new_log() {
        let temp = tempfile::tempdir().unwrap();
        let (mut store, _) = open(temp.path());
        store.append(&[key(1, 10)], 1).unwrap();
        store.sync().unwrap();
        store.log.as_mut().unwrap().fill_the_disk();
        let error = store.append(&[key(2, 20)], 2).unwrap_err();
        assert!(error.to_string().contains("keys-0000000001.log"), "{error}");
        assert_eq!(error.hint(), "free some space on that disk");
        assert!(store.wants_snapshot(), "key 2 is in memory alone");
        // The write had got some way before the disk was full.
        let torn = temp.path().join("keys-0000000001.log");
        let mut bytes = std::fs::read(&torn).unwrap();
        bytes.extend_from_slice(b"KBLK and no more");
        std::fs::write(&torn, bytes).unwrap();

        store.append(&[key(3, 30)], 3).unwrap();
        store.sync().unwrap();
        drop(store);
        assert_eq!(open(temp.path()).1, HashMap::from([(1, 10), (3, 30)]));
    }

    #[test]
    fn a_failed_sync_leaves_the_log_alone_too() {
        let temp = tempfile::tempdir().unwrap();
        let (mut store, _) = open(temp.path());
        store.append(&[key(1, 10)], 1).unwrap();
        store.log.as_mut().unwrap().fill_the_disk();
        // A device file cannot be synced.
        store.sync().unwrap_err();
        assert!(store.log.is_none() && store.wants_snapshot());
        store.append(&[key(2, 20)], 2).unwrap();
        store.sync().unwrap();
        assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 3, "two logs and the lock");
    }

    #[test]
    fn a_snapshot_that_could_not_be_written_replaces_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let (mut store, _) = open(temp.path());
        store.append(&[key(1, 10)], 1).unwrap();
        let mut writer = store.begin_snapshot(2).unwrap();
        writer.fill_the_disk();
        writer.write(&vec![key(1, 10); 10_000]).unwrap_err();
        let again = store.finish_snapshot(writer, 3).unwrap_err();
        assert!(again.to_string().contains("an earlier write to it failed"), "{again}");
        drop(store);
        assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 2, "the log and the lock");
        assert_eq!(open(temp.path()).1, HashMap::from([(1, 10)]));
    }

    #[test]
    fn a_snapshot_is_due_when_the_log_outgrows_the_last_one() {
        let temp = tempfile::tempdir().unwrap();
        let (mut store, _) = open(temp.path());
        store.options.min_log_bytes = 1_000;
        store.append(&vec![key(1, 10); 30], 1).unwrap();
        assert!(!store.wants_snapshot());
        store.append(&vec![key(1, 10); 30], 1).unwrap();
        assert!(store.wants_snapshot());
        let mut writer = store.begin_snapshot(2).unwrap();
        writer.write(&vec![key(1, 10); 100]).unwrap();
        store.append(&vec![key(1, 10); 80], 1).unwrap();
        store.finish_snapshot(writer, 3).unwrap();
        assert!(!store.wants_snapshot(), "80 records since, and 100 in the snapshot");
        store.append(&vec![key(1, 10); 30], 1).unwrap();
        assert!(store.wants_snapshot());
    }
}
