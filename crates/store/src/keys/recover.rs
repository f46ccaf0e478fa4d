//! Recovery: from whatever is in the data directory to a store that goes on from there.
//!
//! The base is the newest snapshot that is whole; it and everything after it is read, in order. Older files
//! were on their way out, and go. If no snapshot is whole, everything is read from the oldest file on.
//!
//! Nothing in a data file makes recovery fail. Of a damaged file it uses what it can read. Dying at any point
//! and starting over gives the same records: only files that hold nothing of use are moved or deleted here.

use super::header::{HashKey, Header};
use super::record::KeyRecord;
use super::report::{Recovered, Report};
use super::store::{Backlog, Damaged, KeyStore, Options};
use super::walk::{self, Condition, Walked};
use crate::Error;
use crate::dir::{DataDir, Rename};
use crate::generations::{FileName, Flaw, Kind, Series, SetAside, TornTail};

/// A recovery that knows its hash key and its files, and has not read the records yet.
pub struct Recovery {
    dir: DataDir,
    options: Options,
    hash_key: HashKey,
    /// Those with a good header and the right hash key, in reading order.
    files: Vec<Header>,
    next_generation: u64,
    report: Report,
}

impl Recovery {
    /// Looks at what is in `dir`: removes files that were never finished, and sets aside those of which
    /// nothing can be used. The fresh hash key is used if no file brings one.
    pub fn start(dir: &DataDir, fresh_hash_key: HashKey, options: Options) -> Result<Recovery, Error> {
        let mut recovery = Recovery {
            dir: dir.clone(),
            options,
            hash_key: fresh_hash_key,
            files: Vec::new(),
            next_generation: 1,
            report: Report::default(),
        };
        for name in recovery.list()? {
            match walk::read_header(dir, name)? {
                Ok(header) => recovery.files.push(header),
                Err(flaw) => recovery.set_aside(name, flaw)?,
            }
        }
        recovery.choose_hash_key()?;
        Ok(recovery)
    }

    /// The hash key of the records that [`replay`](Recovery::replay) will hand over.
    pub fn hash_key(&self) -> HashKey {
        self.hash_key
    }

    /// Reads the records, oldest first, at most 2,048 at a time. The last one of a key counts, and one with a
    /// default arrival time says that the key was forgotten.
    pub fn replay(mut self, mut visit: impl FnMut(&[KeyRecord])) -> Result<(KeyStore, Recovered), Error> {
        self.drop_older_than_base()?;
        let mut newest_now_ns = 0;
        let mut store = self.new_store();
        for header in std::mem::take(&mut self.files) {
            let walked = walk::walk(&self.dir, &header, &mut visit)?;
            newest_now_ns = newest_now_ns.max(walked.newest_now_ns);
            self.account(header.name, &walked, &mut store);
            self.judge(header.name, &walked, &mut store)?;
        }
        store.backlog.faults = self.report.set_aside.len() as u64;
        Ok((store, Recovered { hash_key: self.hash_key, newest_now_ns, report: self.report }))
    }

    /// The data files, in reading order. Files that were never finished are removed on the way.
    fn list(&mut self) -> Result<Vec<FileName>, Error> {
        let mut names = Vec::new();
        for entry in self.dir.entries()? {
            if let Some(name) = Series::Keys.parse(&entry.name) {
                // A name is taken even if it is that of a directory, say.
                self.next_generation = self.next_generation.max(name.generation + 1);
                names.extend(entry.is_file.then_some(name));
            } else if entry.is_file && Series::Keys.is_temp(&entry.name) {
                self.dir.remove(&entry.name)?;
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// The newest snapshot knows best, for it has most of the keys; without one, the newest log.
    fn choose_hash_key(&mut self) -> Result<(), Error> {
        let newest = self.files.iter().max_by_key(|file| file.name.kind == Kind::Snapshot);
        self.hash_key = newest.map_or(self.hash_key, |file| file.hash_key);
        let (ours, others) = std::mem::take(&mut self.files)
            .into_iter()
            .partition::<Vec<_>, _>(|file| file.hash_key == self.hash_key);
        self.files = ours;
        others.iter().try_for_each(|file| self.set_aside(file.name, Flaw::OtherHashKey))
    }

    /// Deletes what the newest whole snapshot has replaced. Such files are left by a crash in the middle of
    /// that same deletion.
    fn drop_older_than_base(&mut self) -> Result<(), Error> {
        let base = self.find_base()?;
        if base == 0 {
            return Ok(());
        }
        // The snapshot may have got its name just before the crash.
        self.dir.sync()?;
        for header in self.files.drain(..base).collect::<Vec<_>>() {
            match walk::walk(&self.dir, &header, &mut |_| ())?.condition {
                Condition::Damaged(flaw) => self.set_aside(header.name, flaw)?,
                Condition::Whole | Condition::Torn { .. } => self.dir.remove(&header.name.to_string())?,
            }
        }
        Ok(())
    }

    /// The place of the base in `files`. A snapshot with nothing before it is the best there is, so whether
    /// it is whole need not be known yet; that spares reading it twice.
    fn find_base(&self) -> Result<usize, Error> {
        for (place, header) in self.files.iter().enumerate().skip(1).rev() {
            let is_snapshot = header.name.kind == Kind::Snapshot;
            if is_snapshot && walk::walk(&self.dir, header, &mut |_| ())?.condition == Condition::Whole {
                return Ok(place);
            }
        }
        Ok(0)
    }

    fn new_store(&self) -> KeyStore {
        KeyStore {
            dir: self.dir.clone(),
            hash_key: self.hash_key,
            options: self.options,
            generation: self.next_generation,
            log: None,
            snapshot_bytes: 0,
            backlog: Backlog::default(),
            damaged: Vec::new(),
        }
    }

    fn account(&mut self, name: FileName, walked: &Walked, store: &mut KeyStore) {
        self.report.bytes += walked.bytes;
        match name.kind {
            Kind::Snapshot => {
                self.report.snapshot_records += walked.records;
                store.snapshot_bytes = walked.bytes;
            }
            Kind::Log => {
                self.report.log_records += walked.records;
                store.backlog.logs += 1;
                store.backlog.log_bytes += walked.bytes;
            }
        }
    }

    fn judge(&mut self, name: FileName, walked: &Walked, store: &mut KeyStore) -> Result<(), Error> {
        match walked.condition {
            Condition::Whole => {}
            Condition::Torn { at_byte } => {
                let bytes = walked.bytes - at_byte;
                self.report.torn_tails.push(TornTail { file: name.to_string(), at_byte, bytes });
            }
            Condition::Damaged(flaw) if walked.records == 0 => self.set_aside(name, flaw)?,
            Condition::Damaged(flaw) => {
                let kept_as = self.free_name(name)?;
                store.damaged.push(Damaged { name, kept_as: kept_as.clone() });
                self.report.set_aside.push(SetAside { file: name.to_string(), kept_as, flaw });
            }
        }
        Ok(())
    }

    /// Moves a file of which nothing can be used out of the way.
    fn set_aside(&mut self, name: FileName, flaw: Flaw) -> Result<(), Error> {
        let file = name.to_string();
        let kept_as = self.free_name(name)?;
        self.dir.rename(Rename { from: &file, to: &kept_as })?;
        self.report.set_aside.push(SetAside { file, kept_as, flaw });
        Ok(())
    }

    /// The first name for a file set aside that nothing has yet, so that nothing is overwritten.
    fn free_name(&self, name: FileName) -> Result<String, Error> {
        let taken = self.dir.entries()?;
        let is_free = |candidate: &String| taken.iter().all(|entry| entry.name != *candidate);
        Ok((1..).map(|n| name.corrupt(n)).find(is_free).expect("a directory holds fewer than 2^32 names"))
    }
}
