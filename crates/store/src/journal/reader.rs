//! Reading messages back, from any thread.

use super::codec::{self, FRAME_BYTES};
use super::files::Files;
use super::record::{MessageRecord, Record};
use super::segment::Segment;
use crate::Error;
use crate::disk::{Disk, DiskFile};
use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use tidegate_core::queue::Place;

/// Reads messages by place. Clones share the journal's files.
pub struct Reader<D: Disk> {
    files: Arc<Files<D>>,
}

/// A place that can be read for as long as this lives, even if the cleaner removes its segment meanwhile.
pub struct Pinned<D: Disk> {
    pub(super) pin: Arc<Pin<D>>,
    pub(super) place: Place,
}

/// What keeps a segment readable.
pub(super) struct Pin<D: Disk> {
    pub files: Arc<Files<D>>,
    pub segment: Arc<Segment<D>>,
}

impl<D: Disk> Reader<D> {
    pub(super) fn new(files: Arc<Files<D>>) -> Reader<D> {
        Reader { files }
    }

    /// Reads the message at `place`, whose batch must have been written.
    pub fn read(&self, place: Place) -> Result<Body, Error> {
        let segment = self.files.get(place.segment).ok_or_else(|| self.missing(place))?;
        read(&self.files, &segment, place)
    }

    /// Keeps `place` readable. None if its segment has been removed.
    pub fn pin(&self, place: Place) -> Option<Pinned<D>> {
        Some(Pinned { pin: Arc::new(self.pin_segment(place)?), place })
    }

    /// Keeps many places readable, one after the other.
    pub fn pins(self) -> Pins<D> {
        Pins { reader: self, last: None }
    }

    fn pin_segment(&self, place: Place) -> Option<Pin<D>> {
        Some(Pin { segment: self.files.get(place.segment)?, files: self.files.clone() })
    }

    fn missing(&self, place: Place) -> Error {
        let name = super::name::SegmentName(place.segment);
        Error::at(&self.files.disk, "read", &name)(io::Error::new(
            io::ErrorKind::NotFound,
            "the segment was removed",
        ))
    }
}

/// Pins places of which most are in the segment of the one before: that is looked up once, and all of them count as one
/// of its owners. Those who read let go of them on other threads, which would wait for one another over each place.
pub struct Pins<D: Disk> {
    reader: Reader<D>,
    last: Option<Arc<Pin<D>>>,
}

impl<D: Disk> Pins<D> {
    /// As [`Reader::pin`].
    pub fn pin(&mut self, place: Place) -> Option<Pinned<D>> {
        if self.last.as_ref().is_none_or(|last| last.segment.name.0 != place.segment) {
            self.last = self.reader.pin_segment(place).map(Arc::new);
        }
        Some(Pinned { pin: self.last.clone()?, place })
    }
}

impl<D: Disk> Pinned<D> {
    /// What is pinned.
    pub fn place(&self) -> Place {
        self.place
    }

    /// Reads the message, whose batch must have been written.
    pub fn read(&self) -> Result<Body, Error> {
        read(&self.pin.files, &self.pin.segment, self.place)
    }
}

fn read<D: Disk>(files: &Files<D>, segment: &Segment<D>, place: Place) -> Result<Body, Error> {
    match files.recent(place).and_then(|(bytes, start)| Body::kept(bytes, start, place)) {
        Some(body) => Ok(body),
        None => read_from_disk(&files.disk, segment, place),
    }
}

fn read_from_disk<D: Disk>(disk: &D, segment: &Segment<D>, place: Place) -> Result<Body, Error> {
    let mut bytes = vec![0; place.len as usize];
    let read = |file: &D::File| file.read_at(&mut bytes, place.offset.into());
    segment.file().and_then(read).map_err(Error::at(disk, "read", &segment.name))?;
    let damaged =
        || Error::Damaged { path: disk.path(&segment.name.to_string()), at_byte: place.offset.into() };
    Body::checked(Arc::new(bytes), 0, place, segment.seed).ok_or_else(damaged)
}

/// A message as it was read.
pub struct Body {
    /// What it was read with.
    bytes: Arc<Vec<u8>>,
    /// Where its frame begins there, and ends.
    frame: Range<usize>,
}

impl Body {
    /// The message at `place`, if that is what these bytes have at `start`, whole. They come from a disk.
    pub(super) fn checked(bytes: Arc<Vec<u8>>, start: usize, place: Place, seed: u32) -> Option<Body> {
        let framed = bytes.get(start..)?.get(..place.len as usize)?;
        let frame = codec::frame(framed, seed).filter(|frame| frame.len() + FRAME_BYTES == framed.len())?;
        codec::decode(frame)?;
        Body::kept(bytes, start, place)
    }

    /// The message at `place`, which these bytes have at `start`. They have never left the memory, so one look tells: with
    /// many messages that lie far apart, memory is waited for once, and not for each.
    pub(super) fn kept(bytes: Arc<Vec<u8>>, start: usize, place: Place) -> Option<Body> {
        let frame = start..start + place.len as usize;
        let is_message = codec::is_message(bytes.get(frame.clone())?.get(FRAME_BYTES..)?);
        is_message.then_some(Body { bytes, frame })
    }

    /// The message, with headers and payload. Its state (attempts, lease, ...) is that of the day it was written.
    pub fn message(&self) -> MessageRecord<'_> {
        match codec::decode(&self.bytes[self.frame.clone()][FRAME_BYTES..]) {
            Some(Record::Message(message)) => message,
            _ => unreachable!("looked at when it was read"),
        }
    }
}

impl<D: Disk> Clone for Reader<D> {
    fn clone(&self) -> Reader<D> {
        Reader { files: self.files.clone() }
    }
}

impl<D: Disk> Clone for Pinned<D> {
    fn clone(&self) -> Pinned<D> {
        Pinned { pin: self.pin.clone(), place: self.place }
    }
}

impl<D: Disk> fmt::Debug for Reader<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").finish_non_exhaustive()
    }
}

impl<D: Disk> fmt::Debug for Pins<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pins").finish_non_exhaustive()
    }
}

impl<D: Disk> fmt::Debug for Pinned<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pinned").field("place", &self.place).finish_non_exhaustive()
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message().fmt(f)
    }
}
