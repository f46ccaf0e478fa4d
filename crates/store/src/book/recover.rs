//! Recovery: from whatever is on the disk to a book that goes on from there.
//!
//! The base is the newest snapshot that is whole; it and everything after it is read, in order. Older files were on
//! their way out, and go. If no snapshot is whole, everything is read from the oldest file on.
//!
//! Nothing in a file makes recovery fail. Of a damaged file it uses what it can read. Dying at any point and starting
//! over gives the same records: only files that hold nothing of use are moved or deleted here.

use super::header::{HEADER_BYTES, Header};
use super::report::BookReport;
use super::walk::{self, Condition, Walked};
use super::writer::{Backlog, Book, BookOptions, Damaged};
use crate::Error;
use crate::disk::{Disk, DiskFile};
use crate::generations::{FileName, Flaw, Kind, Series, SetAside, TornTail};
use std::io;

/// Reads all that counts, oldest first.
pub(super) fn recover<D: Disk>(
    disk: D,
    options: BookOptions,
    replay: &mut dyn FnMut(&[u8]),
) -> Result<(Book<D>, BookReport), Error> {
    let mut recovery = Recovery { disk: disk.clone(), report: BookReport::default() };
    let names = recovery.list()?;
    let mut book = Book {
        disk,
        options,
        generation: names.iter().map(|name| name.generation + 1).max().unwrap_or(1),
        log: None,
        pending: Default::default(),
        snapshot_bytes: 0,
        backlog: Backlog::default(),
        damaged: Vec::new(),
    };
    let found = recovery.look(names)?;
    for found in recovery.drop_older_than_base(found)? {
        let walked = found.walk(replay);
        recovery.account(found.header.name, &walked, &mut book);
        recovery.judge(&found, &walked, &mut book)?;
    }
    book.backlog.faults += recovery.report.set_aside.len() as u64;
    Ok((book, recovery.report))
}

/// A file with a good header.
struct Found<D: Disk> {
    header: Header,
    file: D::File,
    bytes: u64,
}

impl<D: Disk> Found<D> {
    fn walk(&self, visit: &mut dyn FnMut(&[u8])) -> Walked {
        walk::walk(&self.file, self.bytes, &self.header, visit)
    }

    /// Makes sure that the end of a log is on disk: if its sync failed, or never was, what was read came from memory,
    /// and no later sync would get it to the disk. See [`write_again`](crate::disk).
    fn write_again(&self, walked: &Walked) -> io::Result<()> {
        let from = walked.durable_bytes.max(HEADER_BYTES as u64);
        if walked.has_end || walked.used_bytes <= from {
            return Ok(());
        }
        let mut bytes = vec![0; (walked.used_bytes - from) as usize];
        self.file.read_at(&mut bytes, from)?;
        self.file.write_at(&bytes, from)?;
        self.file.sync()
    }
}

struct Recovery<D: Disk> {
    disk: D,
    report: BookReport,
}

impl<D: Disk> Recovery<D> {
    /// The book's files, in reading order. Files that were never finished are removed on the way.
    fn list(&self) -> Result<Vec<FileName>, Error> {
        let mut names = Vec::new();
        for file in self.disk.list().map_err(Error::at(&self.disk, "list", &""))? {
            if let Some(name) = Series::Book.parse(&file) {
                names.push(name);
            } else if Series::Book.is_temp(&file) {
                self.disk.remove(&file).map_err(Error::at(&self.disk, "delete", &file))?;
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Opens the files, and sets aside those of which nothing can be used.
    fn look(&mut self, names: Vec<FileName>) -> Result<Vec<Found<D>>, Error> {
        let mut found = Vec::new();
        for name in names {
            match self.open(name)? {
                Ok(file) => found.push(file),
                Err(flaw) => self.set_aside(name, flaw)?,
            }
        }
        Ok(found)
    }

    /// The outer error is that the file cannot be opened at all.
    fn open(&self, name: FileName) -> Result<Result<Found<D>, Flaw>, Error> {
        let file = self.disk.open(&name.to_string()).map_err(Error::at(&self.disk, "open", &name))?;
        let bytes = file.size().map_err(Error::at(&self.disk, "look at", &name))?;
        let mut header = [0; HEADER_BYTES];
        let header = &mut header[..bytes.min(HEADER_BYTES as u64) as usize];
        if let Err(reason) = file.read_at(header, 0) {
            return Ok(Err(Flaw::Unreadable { at_byte: 0, kind: reason.kind() }));
        }
        Ok(Header::decode(header, name).map(|header| Found { header, file, bytes }))
    }

    /// Deletes what the newest whole snapshot has replaced. Such files are left by a crash in the middle of that same
    /// deletion.
    fn drop_older_than_base(&mut self, mut found: Vec<Found<D>>) -> Result<Vec<Found<D>>, Error> {
        let base = find_base(&found);
        if base == 0 {
            return Ok(found);
        }
        // The snapshot may have got its name just before the crash.
        let name = found[base].header.name;
        self.disk.sync_dir().map_err(Error::at(&self.disk, "sync the name of", &name))?;
        for old in found.drain(..base) {
            let name = old.header.name;
            match old.walk(&mut |_| ()).condition {
                Condition::Damaged(flaw) => self.set_aside(name, flaw)?,
                Condition::Whole | Condition::Torn { .. } => {
                    self.disk.remove(&name.to_string()).map_err(Error::at(&self.disk, "delete", &name))?;
                }
            }
        }
        Ok(found)
    }

    fn account(&mut self, name: FileName, walked: &Walked, book: &mut Book<D>) {
        self.report.bytes += walked.bytes;
        match name.kind {
            Kind::Snapshot => {
                self.report.snapshot_records += walked.records;
                book.snapshot_bytes = walked.bytes;
            }
            Kind::Log => {
                self.report.log_records += walked.records;
                book.backlog.logs += 1;
                book.backlog.log_bytes += walked.bytes;
            }
        }
    }

    fn judge(&mut self, found: &Found<D>, walked: &Walked, book: &mut Book<D>) -> Result<(), Error> {
        let name = found.header.name;
        if name.kind == Kind::Log && found.write_again(walked).is_err() {
            // Then the next snapshot makes sure.
            book.backlog.faults += 1;
        }
        match walked.condition {
            Condition::Whole => {}
            Condition::Torn { at_byte } => {
                let bytes = walked.bytes - at_byte;
                self.report.torn_tails.push(TornTail { file: name.to_string(), at_byte, bytes });
            }
            Condition::Damaged(flaw) if walked.records == 0 => self.set_aside(name, flaw)?,
            Condition::Damaged(flaw) => {
                let kept_as = self.free_name(name)?;
                book.damaged.push(Damaged { name, kept_as: kept_as.clone() });
                self.report.set_aside.push(SetAside { file: name.to_string(), kept_as, flaw });
            }
        }
        Ok(())
    }

    /// Moves a file of which nothing can be used out of the way.
    fn set_aside(&mut self, name: FileName, flaw: Flaw) -> Result<(), Error> {
        let file = name.to_string();
        let kept_as = self.free_name(name)?;
        self.disk.rename(&file, &kept_as).map_err(Error::at(&self.disk, "rename", &file))?;
        self.report.set_aside.push(SetAside { file, kept_as, flaw });
        Ok(())
    }

    /// The first name for a file set aside that nothing has yet, so that nothing is overwritten.
    fn free_name(&self, name: FileName) -> Result<String, Error> {
        let taken = self.disk.list().map_err(Error::at(&self.disk, "list", &""))?;
        let is_free = |candidate: &String| !taken.contains(candidate);
        Ok((1..).map(|n| name.corrupt(n)).find(is_free).expect("a directory holds fewer than 2^32 names"))
    }
}

/// The place of the base. A snapshot with nothing before it is the best there is, so whether it is whole need not be
/// known yet; that spares reading it twice.
fn find_base<D: Disk>(found: &[Found<D>]) -> usize {
    let is_base = |found: &Found<D>| {
        found.header.name.kind == Kind::Snapshot && found.walk(&mut |_| ()).condition == Condition::Whole
    };
    (1..found.len()).rev().find(|place| is_base(&found[*place])).unwrap_or(0)
}
