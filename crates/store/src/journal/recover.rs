//! Recovery: from whatever is on disk to segments that have been read and are not written any more.
//!
//! Nothing but a version from the future and a disk that does not answer makes it fail. Dying at any point and
//! starting over gives the same records. It deletes only files that hold no record.

use super::flaw::Flaw;
use super::header::{HEADER_BYTES, Header, VERSION};
use super::index::{self, END_BYTES, End, Entry, IndexBuilder};
use super::name::{SPARE, SegmentName};
use super::record::Record;
use super::report::{Damaged, JournalReport, OldTail, TornTail};
use super::scan::{Scan, Scanned};
use super::segment::{Segment, write_end};
use super::space::Space;
use super::spare::Spare;
use super::writer::Replayed;
use crate::Error;
use crate::disk::{Disk, DiskFile, write_again};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use tidegate_core::queue::Place;

/// What recovery leaves.
pub(super) struct Recovered<D: Disk> {
    pub segments: BTreeMap<u32, Arc<Segment<D>>>,
    pub space: Space,
    /// A file for the next segment.
    pub spare: Option<Spare<D>>,
    /// The number of the next segment.
    pub next: u32,
    pub report: JournalReport,
}

/// A segment with a good header.
struct Found<D: Disk> {
    header: Header,
    file: D::File,
    size: u64,
    /// None if it was not sealed, or its end is damaged.
    end: Option<End>,
}

struct Recovery<'a, D: Disk> {
    disk: &'a D,
    space: Space,
    report: JournalReport,
}

/// Reads the journal on `disk`, oldest record first.
pub(super) fn recover<D: Disk>(
    disk: &D,
    segment_bytes: u32,
    mut visit: impl FnMut(Replayed<'_>),
) -> Result<Recovered<D>, Error> {
    let mut recovery = Recovery { disk, space: Space::new(segment_bytes), report: JournalReport::default() };
    let (mut found, next) = recovery.look()?;
    recovery.drop_empty(&mut found)?;
    let last = found.len().saturating_sub(1);
    let next = found.last().map_or(next, |last| next.max(last.header.name.0 + 1));
    let (spare, next) = recovery.find_spare(next, found.is_empty())?;
    let mut segments = BTreeMap::new();
    for (place, found) in found.into_iter().enumerate() {
        recovery.replay(&found, place == last, &mut visit)?;
        segments.insert(found.header.name.0, Arc::new(Segment::found(found.header, found.file)));
    }
    let Recovery { space, report, .. } = recovery;
    Ok(Recovered { segments, space, spare, next, report })
}

impl<D: Disk> Recovery<'_, D> {
    /// The segments with a good header, in order, and the first number after those without. Refuses a version from
    /// the future before it touches anything.
    fn look(&mut self) -> Result<(Vec<Found<D>>, u32), Error> {
        let names = self.disk.list().map_err(Error::at(self.disk, "list", &""))?;
        let mut numbers: Vec<_> = names.iter().filter_map(|name| SegmentName::parse(name)).collect();
        numbers.sort_unstable();
        let mut found = Vec::new();
        let mut flawed = Vec::new();
        for name in numbers {
            match self.open(name)? {
                Ok(segment) => found.push(segment),
                Err(Flaw::Newer { version }) => {
                    let path = self.disk.path(&name.to_string());
                    return Err(Error::Newer { path, version, known: VERSION });
                }
                Err(flaw) => flawed.push((name, flaw)),
            }
        }
        for name in names.iter().filter(|name| SegmentName::is_temp(name)) {
            self.disk.remove(name).map_err(Error::at(self.disk, "delete", name))?;
        }
        let next = flawed.iter().map(|(name, _)| name.0 + 1).max().unwrap_or(1);
        self.note_missing(&found, &flawed, &names);
        for (name, flaw) in flawed {
            self.set_aside(name, flaw)?;
        }
        Ok((found, next))
    }

    fn open(&self, name: SegmentName) -> Result<Result<Found<D>, Flaw>, Error> {
        let in_context = |action| Error::at(self.disk, action, &name);
        let file = self.disk.open(&name.to_string()).map_err(in_context("open"))?;
        let size = file.size().map_err(in_context("look at"))?;
        let mut header = [0; HEADER_BYTES];
        let header = &mut header[..size.min(HEADER_BYTES as u64) as usize];
        file.read_at(header, 0).map_err(in_context("read"))?;
        let header = match Header::decode(header, name) {
            Ok(header) => header,
            Err(flaw) => return Ok(Err(flaw)),
        };
        let mut last = [0; END_BYTES];
        let end = match size.checked_sub((HEADER_BYTES + END_BYTES) as u64) {
            Some(before) => {
                file.read_at(&mut last, before + HEADER_BYTES as u64).map_err(in_context("read"))?;
                End::decode(&last, size, header.seed())
            }
            None => None,
        };
        Ok(Ok(Found { header, file, size, end }))
    }

    /// The spare, and the number of the next segment: higher than that of any whose frames the spare may hold. One that
    /// was just about to become a segment says its next number, not its last; it is removed, like a `.tmp`.
    fn find_spare(&self, next: u32, is_alone: bool) -> Result<(Option<Spare<D>>, u32), Error> {
        let names = self.disk.list().map_err(Error::at(self.disk, "list", &""))?;
        if !names.iter().any(|name| name == SPARE) {
            return Ok((None, next));
        }
        match Spare::find(self.disk)?.filter(|found| is_alone || found.number < next) {
            Some(found) => Ok((Some(found.spare), next.max(found.number + 1))),
            None => {
                self.disk.remove(SPARE).map_err(Error::at(self.disk, "delete", &SPARE))?;
                Ok((None, next))
            }
        }
    }

    fn note_missing(&mut self, found: &[Found<D>], flawed: &[(SegmentName, Flaw)], names: &[String]) {
        let found = found.iter().map(|found| found.header.name);
        let mut known: Vec<_> = found.chain(flawed.iter().map(|(name, _)| *name)).collect();
        known.sort_unstable();
        let is_aside = |number: &u32| {
            names.iter().any(|name| SegmentName::parse_corrupt(name) == Some(SegmentName(*number)))
        };
        for pair in known.windows(2) {
            // A file that was copied in under a far number does not make millions missing.
            let gap = (pair[0].0 + 1..pair[1].0).take(16);
            self.report.missing.extend(gap.filter(|number| !is_aside(number)));
        }
    }

    fn set_aside(&mut self, name: SegmentName, flaw: Flaw) -> Result<(), Error> {
        let taken = self.disk.list().map_err(Error::at(self.disk, "list", &""))?;
        let (file, kept_as) = (name.to_string(), name.corrupt(&taken));
        self.disk.rename(&file, &kept_as).map_err(Error::at(self.disk, "rename", &file))?;
        self.disk.sync_dir().map_err(Error::sync(self.disk, &file))?;
        self.report.damaged.push(Damaged { file, kept_as: Some(kept_as), flaw });
        Ok(())
    }

    /// Deletes the last segment if it was made and nothing was confirmed to be in it.
    fn drop_empty(&mut self, found: &mut Vec<Found<D>>) -> Result<(), Error> {
        while let Some(last) = found.last().filter(|last| last.end.is_none()) {
            let bytes = self.read(last)?;
            let scan = Scan { bytes: &bytes, seed: last.header.seed(), is_sealed: false };
            let scanned = scan.run(|_| ControlFlow::Break(()));
            if scanned.records > 0 || !scanned.damage.is_empty() {
                break;
            }
            let name = last.header.name.to_string();
            self.note_tail(&name, &scanned);
            self.disk.remove(&name).map_err(Error::at(self.disk, "delete", &name))?;
            found.pop();
        }
        Ok(())
    }

    fn replay(
        &mut self,
        found: &Found<D>,
        is_last: bool,
        visit: &mut impl FnMut(Replayed<'_>),
    ) -> Result<(), Error> {
        self.space.add_segment(found.header.name.0, found.size);
        self.report.segments += 1;
        self.report.bytes += found.size;
        if let Some(end) = found.end
            && self.replay_index(found, end, visit)?
        {
            return if is_last { self.write_again(found, found.size) } else { Ok(()) };
        }
        self.replay_scan(found, is_last, visit)
    }

    /// Reads the records from the index. Says whether that could be used; if not, nothing was visited.
    fn replay_index(
        &mut self,
        found: &Found<D>,
        end: End,
        visit: &mut impl FnMut(Replayed<'_>),
    ) -> Result<bool, Error> {
        let mut bytes = vec![0; end.index_bytes as usize];
        let read = found.file.read_at(&mut bytes, end.data_end.into());
        read.map_err(Error::at(self.disk, "read", &found.header.name))?;
        let Some(frames) = index::entries(&bytes, found.header.seed()) else { return Ok(false) };
        for entry in frames.into_iter().flatten() {
            self.visit(found.header.name, &entry, visit);
        }
        Ok(true)
    }

    /// Reads the records one after the other. The last segment ends up sealed.
    fn replay_scan(
        &mut self,
        found: &Found<D>,
        is_last: bool,
        visit: &mut impl FnMut(Replayed<'_>),
    ) -> Result<(), Error> {
        let is_sealed = found.end.is_some() || !is_last;
        let name = found.header.name;
        let mut bytes = self.read(found)?;
        // An index that could not be used is no loss.
        found.end.inspect(|end| bytes.truncate(end.data_end as usize));
        let mut index = IndexBuilder::default();
        let scan = Scan { bytes: &bytes, seed: found.header.seed(), is_sealed };
        let scanned = scan.run(|entry| {
            index.add(&entry);
            self.visit(name, &entry, visit);
            ControlFlow::Continue(())
        });
        self.report.scanned += 1;
        for (at_byte, to) in &scanned.damage {
            let flaw = Flaw::Bytes { at_byte: *at_byte, bytes: to - at_byte };
            self.report.damaged.push(Damaged { file: name.to_string(), kept_as: None, flaw });
            self.space.damaged(name.0);
        }
        if !is_sealed {
            self.note_tail(&name.to_string(), &scanned);
        }
        if is_last {
            self.write_again(found, scanned.end.into())?;
        }
        // A damaged file stays as it is.
        match is_sealed || !scanned.damage.is_empty() {
            true => Ok(()),
            false => self.seal(found, &index, scanned.end),
        }
    }

    /// Makes sure that what is used of the last segment is on disk: earlier ones were, before the next one was made.
    fn write_again(&self, found: &Found<D>, bytes: u64) -> Result<(), Error> {
        let Found { header, file, .. } = found;
        write_again(file, bytes).map_err(Error::at(self.disk, "write", &header.name))?;
        file.sync().map_err(Error::sync(self.disk, &header.name))
    }

    /// Cuts the tail, so that it is not taken for damage when there is a later segment, and writes the index.
    fn seal(&mut self, found: &Found<D>, index: &IndexBuilder, data_end: u32) -> Result<(), Error> {
        let Found { header, file, .. } = found;
        // The index must not be on disk before what it speaks of.
        file.sync().map_err(Error::sync(self.disk, &header.name))?;
        write_end(file, index, data_end, header.seed()).map_err(Error::at(
            self.disk,
            "seal",
            &header.name,
        ))?;
        let size = file.size().map_err(Error::at(self.disk, "look at", &header.name))?;
        let cut = found.size.saturating_sub(size);
        self.space.cut(cut);
        self.report.bytes -= cut;
        file.sync().map_err(Error::sync(self.disk, &header.name))
    }

    fn visit(&mut self, name: SegmentName, entry: &Entry<'_>, visit: &mut impl FnMut(Replayed<'_>)) {
        let place = Place { segment: name.0, offset: entry.offset, len: entry.len };
        let Some(record) = entry.record() else { return };
        if let Record::Message(_) = record {
            self.space.found(place.len);
        }
        self.report.records += 1;
        visit(Replayed { record, place, space: &mut self.space });
    }

    fn note_tail(&mut self, name: &str, scanned: &Scanned) {
        let at_byte = u64::from(scanned.end);
        if scanned.torn_to > at_byte {
            let (file, bytes) = (name.to_owned(), scanned.torn_to - at_byte);
            match scanned.is_old {
                true => self.report.old_tails.push(OldTail { file, at_byte, bytes }),
                false => self.report.torn_tails.push(TornTail { file, at_byte, bytes }),
            }
        }
    }

    fn read(&self, found: &Found<D>) -> Result<Vec<u8>, Error> {
        let mut bytes = vec![0; found.size as usize];
        let read = found.file.read_at(&mut bytes, 0);
        read.map_err(Error::at(self.disk, "read", &found.header.name))?;
        Ok(bytes)
    }
}
