//! The journal itself: records are appended in memory and leave in batches.

use super::batch::{Batch, Seal};
use super::clean::Walk;
use super::codec;
use super::files::{Bounds, Doomed, Files};
use super::header::{HEADER_BYTES, Header};
use super::index::{Entry, IndexBuilder};
use super::name::SegmentName;
use super::reader::{Body, Reader};
use super::recent::Kept;
use super::record::Record;
use super::recover;
use super::report::JournalReport;
use super::scan;
use super::segment::Segment;
use super::space::{Space, Usage};
use crate::Error;
use crate::disk::Disk;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, Weak};
use tidegate_core::queue::Place;

const MIN_SEGMENT_BYTES: u32 = 4 << 10;
const MAX_SEGMENT_BYTES: u32 = 1 << 30;
/// A segment takes no further batch either once its index is this long: until it is sealed, that is kept in memory. That
/// is 40 MB of messages of 1 KB that come and go, and all 64 of those that stay.
const MAX_INDEX_BYTES: u64 = 4 << 20;
/// This part of a segment is reserved ahead of what is written: room for acks when the disk is full.
const RESERVED_SHARE: u32 = 8;

/// Settings of a [`Journal`].
#[derive(Clone, Copy, Debug)]
pub struct JournalOptions {
    /// A segment takes no further batch once it is this long. 4 KiB to 1 GiB.
    pub segment_bytes: u32,
    /// Anything that callers cannot guess, new for each start: it keeps a payload from posing as records where
    /// recovery looks for the next readable one.
    pub salt: u64,
    /// Bytes of the last batches that stay in memory, for whoever reads soon.
    pub recent_bytes: usize,
}

impl Default for JournalOptions {
    fn default() -> JournalOptions {
        JournalOptions { segment_bytes: 64 << 20, salt: 0, recent_bytes: 4 << 20 }
    }
}

/// One record as it is read back.
#[derive(Debug)]
pub struct Replayed<'a> {
    /// The record; a message without headers and payload.
    pub record: Record<'a>,
    /// Where it is.
    pub place: Place,
    /// To be told of the place of each message that this record ends or replaces.
    pub space: &'a mut Space,
}

/// Messages, and what became of them. Has no thread and no clock: its owner drives it.
#[derive(Debug)]
pub struct Journal<D: Disk> {
    pub(super) files: Arc<Files<D>>,
    options: JournalOptions,
    pub(super) space: Space,
    pub(super) walk: Option<Walk<D>>,
    /// The segment that was last walked.
    pub(super) walked: Option<u32>,
    active: Option<Active<D>>,
    next_segment: u32,
    /// Appended and not taken.
    pending: Vec<u8>,
    /// Taken, and perhaps not yet written.
    in_flight: VecDeque<InFlight>,
    seal: Option<Seal<D>>,
    last_batch: u64,
}

/// A batch that somebody has.
#[derive(Debug)]
struct InFlight {
    segment: u32,
    offset: u32,
    bytes: Weak<Vec<u8>>,
}

/// The segment that records go to.
#[derive(Debug)]
struct Active<D: Disk> {
    segment: Arc<Segment<D>>,
    index: IndexBuilder,
    /// Where the pending bytes go.
    offset: u32,
}

impl<D: Disk> Journal<D> {
    /// Reads what is on `disk`, oldest record first, and continues from there. For each message that a record ends
    /// or replaces (`Gone`, `Purged`, another `Message` of the same id), call `space.dead` with its place.
    pub fn open(
        disk: D,
        options: JournalOptions,
        visit: impl FnMut(Replayed<'_>),
    ) -> Result<(Journal<D>, JournalReport), Error> {
        let segment_bytes = options.segment_bytes.clamp(MIN_SEGMENT_BYTES, MAX_SEGMENT_BYTES);
        let recovered = recover::recover(&disk, segment_bytes, visit)?;
        let reserve_bytes = (segment_bytes / RESERVED_SHARE).into();
        let bounds = Bounds { reserve_bytes, recent_bytes: options.recent_bytes };
        let files = Files::new(disk, bounds, recovered.segments, recovered.spare);
        let journal = Journal {
            files: Arc::new(files),
            options: JournalOptions { segment_bytes, ..options },
            space: recovered.space,
            walk: None,
            walked: None,
            active: None,
            next_segment: recovered.next,
            pending: Vec::new(),
            in_flight: VecDeque::new(),
            seal: None,
            last_batch: 0,
        };
        // It may be from a time of larger segments.
        journal.files.spare.set_room(journal.spare_room());
        journal.files.spare.trim(&journal.files.disk)?;
        Ok((journal, recovered.report))
    }

    /// Adds a record to the next batch. A message can be read at the returned place once that batch is written.
    pub fn append(&mut self, record: &Record<'_>) -> Place {
        if self.pending.is_empty() {
            self.begin_batch();
        }
        let active = self.active.as_mut().expect("a batch begins in a segment");
        let at = self.pending.len();
        let encoded = codec::encode(record, active.segment.seed, &mut self.pending);
        let end = u32::try_from(self.pending.len()).ok().and_then(|bytes| active.offset.checked_add(bytes));
        // A caller's bug: batches are taken long before.
        assert!(end.is_some(), "a batch of {} bytes", self.pending.len());
        let place =
            Place { segment: active.segment.name.0, offset: active.offset + at as u32, len: encoded.len };
        let meta = &self.pending[at + codec::FRAME_BYTES..][..encoded.meta_len];
        active.index.add(&Entry { offset: place.offset, len: place.len, meta });
        let live = if matches!(record, Record::Message(_)) { place.len } else { 0 };
        self.space.grow(place.len.into(), live.into());
        place
    }

    /// Bytes appended and not yet taken. A batch should stay below some MiB, and must stay below 2 GiB.
    pub fn pending_bytes(&self) -> usize {
        self.pending.len()
    }

    /// All that was appended since the last batch, and what there is to reclaim. None if there is nothing to do.
    pub fn take_batch(&mut self) -> Option<Batch<D>> {
        let number = self.last_batch + 1;
        let has_doomed = self.doom_dead(number);
        if self.pending.is_empty() && !has_doomed && !self.files.is_full() {
            return None;
        }
        self.last_batch = number;
        let bytes = Arc::new(std::mem::take(&mut self.pending));
        let (segment, offset) = match &mut self.active {
            None => (None, 0),
            Some(active) => {
                let offset = active.offset;
                active.offset += bytes.len() as u32;
                (Some(active.segment.clone()), offset)
            }
        };
        self.in_flight.retain(|batch| batch.bytes.strong_count() > 0);
        if let Some(segment) = &segment {
            let segment = segment.name.0;
            self.in_flight.push_back(InFlight { segment, offset, bytes: Arc::downgrade(&bytes) });
            self.files.keep(Kept::new(segment, offset, &bytes));
        }
        self.files.spare.set_room(self.spare_room());
        let seal = Mutex::new(self.seal.take());
        Some(Batch { files: self.files.clone(), number, segment, offset, bytes, seal })
    }

    /// Reads the message at `place`, even if its batch was not written or not even taken yet.
    pub fn read(&self, place: Place) -> Result<Body, Error> {
        let pending = self.active.as_ref().filter(|active| active.segment.name.0 == place.segment);
        if let Some(active) = pending
            && let Some(start) = place.offset.checked_sub(active.offset)
            && let Some(frame) = self.pending.get(start as usize..)
            && let Some(frame) = frame.get(..place.len as usize)
            && let Some(body) = Body::kept(Arc::new(frame.to_vec()), 0, place)
        {
            return Ok(body);
        }
        for batch in self.in_flight.iter().filter(|batch| batch.segment == place.segment) {
            if let Some(bytes) = batch.bytes.upgrade()
                && let Some(start) = place.offset.checked_sub(batch.offset)
                && let Some(body) = Body::kept(bytes, start as usize, place)
            {
                return Ok(body);
            }
        }
        self.reader().read(place)
    }

    /// Something to read messages with, on any thread.
    pub fn reader(&self) -> Reader<D> {
        Reader::new(self.files.clone())
    }

    /// The message at `place` is gone, or was appended again elsewhere. To be called once per place.
    pub fn dead(&mut self, place: Place) {
        self.space.dead(place);
        // Mostly it was moved, because the cleaner said so, which is no reason to clean more.
        if self.walked == Some(place.segment) {
            self.space.forgive(2 * u64::from(place.len));
        }
    }

    /// As [`dead`](Journal::dead), for a message that cannot be read back. Its segment is set aside in the end, not
    /// deleted.
    pub fn unreadable(&mut self, place: Place) {
        self.space.damaged(place.segment);
        self.dead(place);
    }

    /// What it takes on disk.
    pub fn usage(&self) -> Usage {
        let usage = self.space.usage();
        Usage { total_bytes: usage.total_bytes + self.files.spare.bytes(), ..usage }
    }

    /// Whether the disk is nearly full: no space could be reserved ahead. Refuse what makes the journal grow; acks and
    /// the like still fit. Looked at again with every batch, and [`take_batch`](Journal::take_batch) has one as
    /// long as this is so.
    pub fn is_full(&self) -> bool {
        self.files.is_full()
    }

    /// The segment that is being written.
    pub(super) fn active_number(&self) -> Option<u32> {
        self.active.as_ref().map(|active| active.segment.name.0)
    }

    /// A batch lies in one segment, so that of a batch that was cut short no later part is there without the earlier.
    fn begin_batch(&mut self) {
        self.pending = self.files.take_buffer();
        let is_room = |active: &Active<D>| {
            active.offset < self.options.segment_bytes && active.index.size() < MAX_INDEX_BYTES
        };
        if !self.active.as_ref().is_some_and(is_room) {
            self.roll();
        }
        let active = self.active.as_ref().expect("just made");
        let segment = &active.segment;
        let len = scan::encode_batch_frame(segment.durable(), segment.seed, &mut self.pending);
        self.space.grow(len.into(), 0);
    }

    /// How long a spare may be, for the disk to stay within its bound when the segment that is being written is
    /// complete.
    fn spare_room(&self) -> u64 {
        let growth = self.active.as_ref().map_or(0, |Active { segment, index, offset }| {
            let written = u64::from(*offset);
            let file = segment.file_bytes().unwrap_or_else(|| self.files.spare.bytes());
            let complete = u64::from(self.options.segment_bytes).max(written) + index.size();
            complete.max(file).saturating_sub(written)
        });
        self.space.spare_room(growth + self.files.reserve_bytes)
    }

    fn roll(&mut self) {
        let name = SegmentName(self.next_segment);
        self.next_segment += 1;
        let segment = Arc::new(Segment::planned(Header { name, salt: self.options.salt }));
        self.files.add(segment.clone());
        let active = Active { segment, index: IndexBuilder::default(), offset: HEADER_BYTES as u32 };
        if let Some(Active { segment, index, offset: data_end }) = self.active.replace(active) {
            self.space.grow(index.size(), 0);
            self.seal = Some(Seal { segment, index, data_end });
        }
        self.space.add_segment(name.0, HEADER_BYTES as u64);
    }

    /// Has every leading segment removed in which nothing lives. All that ended or moved its messages is on disk
    /// when batch `number` is.
    fn doom_dead(&mut self, number: u64) -> bool {
        let mut has_doomed = false;
        while let Some(oldest) = self.space.oldest()
            && oldest.live == 0
            && self.active_number() != Some(oldest.number)
        {
            let name = SegmentName(oldest.number);
            self.files.doom(Doomed { name, after: number, is_damaged: oldest.is_damaged });
            self.space.drop_oldest();
            self.walk = None;
            has_doomed = true;
        }
        self.space.settle();
        has_doomed
    }
}
