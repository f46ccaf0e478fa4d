//! The index that ends a sealed segment: all its records once more, without headers and payloads, so that a start
//! reads a few per cent of the bytes, and the cleaner finds messages without reading them.
//!
//! It is made of frames like everything else: index frames of some 64 KiB, and the end frame, the last bytes of
//! the file. An entry is offset 4, length 4, meta length 4, meta.

use super::codec::{self, FRAME_BYTES, Input};
use super::record::Record;
use std::io;

/// An index frame is closed when it is this long.
const CHUNK_BYTES: usize = 64 * 1024;
const END_MAGIC: [u8; 8] = *b"TIDE END";
pub(crate) const END_BYTES: usize = FRAME_BYTES + 1 + 8 + 12;

/// The index of the segment that is being written.
#[derive(Debug, Default)]
pub(crate) struct IndexBuilder {
    full: Vec<Vec<u8>>,
    full_bytes: usize,
    entries: Vec<u8>,
    records: u32,
}

/// A record's frame: where, how long, and its meta.
pub(crate) struct Entry<'a> {
    pub offset: u32,
    pub len: u32,
    pub meta: &'a [u8],
}

impl<'a> Entry<'a> {
    /// The record, a message without headers and payload.
    pub fn record(&self) -> Option<Record<'a>> {
        codec::decode_meta(self.meta)
    }
}

impl IndexBuilder {
    pub fn add(&mut self, entry: &Entry<'_>) {
        if self.entries.len() + entry.meta.len() > CHUNK_BYTES && !self.entries.is_empty() {
            self.full_bytes += self.entries.len();
            self.full.push(std::mem::take(&mut self.entries));
        }
        if self.entries.capacity() == 0 {
            self.entries.reserve(CHUNK_BYTES + 64);
        }
        let mut head = [0; 12];
        head[..4].copy_from_slice(&entry.offset.to_le_bytes());
        head[4..8].copy_from_slice(&entry.len.to_le_bytes());
        head[8..].copy_from_slice(&(entry.meta.len() as u32).to_le_bytes());
        self.entries.extend_from_slice(&head);
        self.entries.extend_from_slice(entry.meta);
        self.records += 1;
    }

    /// How long its bytes will be.
    pub fn size(&self) -> u64 {
        let entries = self.full_bytes + self.entries.len();
        (entries + (self.full.len() + 1) * (FRAME_BYTES + 1) + END_BYTES) as u64
    }

    /// Hands over the bytes that end a segment whose records end at `data_end`, frame by frame.
    pub fn write(
        &self,
        data_end: u32,
        seed: u32,
        mut put: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let (mut frame, mut index_bytes) = (Vec::new(), 0);
        for entries in self.full.iter().chain([&self.entries]).filter(|entries| !entries.is_empty()) {
            frame.clear();
            index_bytes += codec::encode_own(codec::INDEX, &[entries], seed, &mut frame);
            put(&frame)?;
        }
        frame.clear();
        let numbers = [data_end, index_bytes, self.records].map(u32::to_le_bytes);
        codec::encode_own(codec::END, &[&END_MAGIC, numbers.as_flattened()], seed, &mut frame);
        put(&frame)
    }
}

/// What the end frame says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    /// Where the records end and the index begins.
    pub data_end: u32,
    pub index_bytes: u32,
    pub records: u32,
}

impl End {
    /// Reads the last bytes of a file of `size` bytes. None unless they are its end frame.
    pub fn decode(last: &[u8], size: u64, seed: u32) -> Option<End> {
        let mut input = Input(codec::frame(last, seed)?);
        if last.len() != END_BYTES || input.u8()? != codec::END || input.bytes(8)? != END_MAGIC {
            return None;
        }
        let end = End { data_end: input.u32()?, index_bytes: input.u32()?, records: input.u32()? };
        let fits = u64::from(end.data_end) + u64::from(end.index_bytes) + END_BYTES as u64 == size;
        fits.then_some(end)
    }
}

/// The entries of the index frames in `bytes`, which must be whole frames. None if one of them is not whole.
pub(crate) fn entries(bytes: &[u8], seed: u32) -> Option<Vec<Entries<'_>>> {
    let mut frames = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let body = codec::frame(rest, seed)?;
        rest = &rest[FRAME_BYTES + body.len()..];
        let (&kind, entries) = body.split_first()?;
        frames.push(Entries(Input(entries)));
        if kind != codec::INDEX {
            return None;
        }
    }
    Some(frames)
}

/// The entries of one index frame.
pub(crate) struct Entries<'a>(Input<'a>);

impl<'a> Entries<'a> {
    /// Those in the body of an index frame, after its kind.
    pub fn new(body: &'a [u8]) -> Entries<'a> {
        Entries(Input(body))
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        let (offset, len, meta_len) = (self.0.u32()?, self.0.u32()?, self.0.u32()?);
        Some(Entry { offset, len, meta: self.0.bytes(meta_len as usize)? })
    }
}
