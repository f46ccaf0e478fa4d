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
    files: Arc<Files<D>>,
    pub(super) segment: Arc<Segment<D>>,
    pub(super) place: Place,
}

impl<D: Disk> Reader<D> {
    pub(super) fn new(files: Arc<Files<D>>) -> Reader<D> {
        Reader { files }
    }

    /// Reads the message at `place`, whose batch must have been written.
    pub fn read(&self, place: Place) -> Result<Body, Error> {
        let segment = self.files.get(place.segment).ok_or_else(|| self.missing(place))?;
        read(&self.files.disk, &segment, place)
    }

    /// Keeps `place` readable. None if its segment has been removed.
    pub fn pin(&self, place: Place) -> Option<Pinned<D>> {
        let segment = self.files.get(place.segment)?;
        Some(Pinned { files: self.files.clone(), segment, place })
    }

    fn missing(&self, place: Place) -> Error {
        let name = super::name::SegmentName(place.segment);
        Error::at(&self.files.disk, "read", &name)(io::Error::new(
            io::ErrorKind::NotFound,
            "the segment was removed",
        ))
    }
}

impl<D: Disk> Pinned<D> {
    /// What is pinned.
    pub fn place(&self) -> Place {
        self.place
    }

    /// Reads the message, whose batch must have been written.
    pub fn read(&self) -> Result<Body, Error> {
        read(&self.files.disk, &self.segment, self.place)
    }
}

fn read<D: Disk>(disk: &D, segment: &Segment<D>, place: Place) -> Result<Body, Error> {
    let mut bytes = vec![0; place.len as usize];
    let read = |file: &D::File| file.read_at(&mut bytes, place.offset.into());
    segment.file().and_then(read).map_err(Error::at(disk, "read", &segment.name))?;
    let damaged =
        || Error::Damaged { path: disk.path(&segment.name.to_string()), at_byte: place.offset.into() };
    Body::checked(bytes, segment.seed).ok_or_else(damaged)
}

/// A message as it was read.
pub struct Body {
    /// Its whole frame, checked.
    bytes: Vec<u8>,
    payload_len: usize,
}

impl Body {
    /// A frame, if it is that of a message, whole.
    fn checked(bytes: Vec<u8>, seed: u32) -> Option<Body> {
        let frame = codec::frame(&bytes, seed).filter(|frame| frame.len() + FRAME_BYTES == bytes.len())?;
        match codec::decode(frame)? {
            Record::Message(message) => {
                let payload_len = message.payload.len();
                Some(Body { bytes, payload_len })
            }
            _ => None,
        }
    }

    /// The message at `place`, if it is in these bytes, which begin at `offset` of the same segment.
    pub(super) fn from_bytes(bytes: &[u8], offset: u32, place: Place, seed: u32) -> Option<Body> {
        let at = place.offset.checked_sub(offset)? as usize;
        let frame = bytes.get(at..)?.get(..place.len as usize)?;
        Body::checked(frame.to_vec(), seed)
    }

    /// The message, with headers and payload. Its state (attempts, lease, ...) is that of the day it was written.
    pub fn message(&self) -> MessageRecord<'_> {
        match codec::decode(&self.bytes[FRAME_BYTES..]) {
            Some(Record::Message(message)) => message,
            _ => unreachable!("checked when it was read"),
        }
    }

    /// Where in [`into_bytes`](Body::into_bytes) the payload is.
    pub fn payload_range(&self) -> Range<usize> {
        self.bytes.len() - self.payload_len..self.bytes.len()
    }

    /// The buffer that it was read into, to be sliced rather than copied.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

impl<D: Disk> Clone for Reader<D> {
    fn clone(&self) -> Reader<D> {
        Reader { files: self.files.clone() }
    }
}

impl<D: Disk> Clone for Pinned<D> {
    fn clone(&self) -> Pinned<D> {
        Pinned { files: self.files.clone(), segment: self.segment.clone(), place: self.place }
    }
}

impl<D: Disk> fmt::Debug for Reader<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").finish_non_exhaustive()
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
