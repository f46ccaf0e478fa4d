//! Reading a segment from its first record to its last, as far as it can be read.
//!
//! The first frame that fails is either the **torn tail**, what was being written when the process or the machine
//! stopped, or **damage**. Each batch begins with a frame that says how far the segment was known to be on disk
//! when it was written, and that tells them apart: bytes that were on disk cannot be torn.
//! After damage reading goes on, at the frame behind it, or else at the next batch.
//!
//! A file that was an earlier segment goes on with what that left: frames that fail, since they are checked against
//! another number. None of them says that anything was on disk, so they are a tail like any other, but an **old** one,
//! known by how it ends.

use super::codec::{self, FRAME_BYTES, Input};
use super::header::HEADER_BYTES;
use super::index::Entry;
use super::spare;
use std::ops::ControlFlow;

const BATCH_MAGIC: [u8; 8] = *b"TIDE BAT";
/// Where the magic is in a batch frame.
const MAGIC_AT: usize = FRAME_BYTES + 1;
const BATCH_BYTES: usize = MAGIC_AT + 8 + 4;

/// Adds the frame that begins a batch.
pub(crate) fn encode_batch_frame(durable: u32, seed: u32, out: &mut Vec<u8>) -> u32 {
    codec::encode_own(codec::BATCH, &[&BATCH_MAGIC, &durable.to_le_bytes()], seed, out)
}

/// How a scan went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scanned {
    pub records: u64,
    /// Where the last frame that was used ends.
    pub end: u32,
    /// Bytes after that which are not all zero: a torn tail, from `end` to here.
    pub torn_to: u64,
    /// That tail is what an earlier segment left, at least from some byte on.
    pub is_old: bool,
    /// Parts that were on disk once and cannot be read: where they begin, and where reading went on.
    pub damage: Vec<(u64, u64)>,
}

/// A segment in memory.
pub(crate) struct Scan<'a> {
    pub bytes: &'a [u8],
    pub seed: u32,
    /// A later segment has records, so all of this one was on disk before.
    pub is_sealed: bool,
}

impl Scan<'_> {
    /// Hands each record to `visit`, in order, until that breaks.
    pub fn run(&self, mut visit: impl FnMut(Entry<'_>) -> ControlFlow<()>) -> Scanned {
        let mut scanned = Scanned { end: HEADER_BYTES as u32, ..Scanned::default() };
        let mut at = HEADER_BYTES;
        while at < self.bytes.len() {
            let Some(body) = codec::frame(&self.bytes[at..], self.seed) else {
                let Some(next) = self.after_damage(at) else { break };
                scanned.damage.push((at as u64, next as u64));
                at = next;
                continue;
            };
            let len = FRAME_BYTES + body.len();
            if let Some(meta) = meta(body) {
                scanned.records += 1;
                if visit(Entry { offset: at as u32, len: len as u32, meta }).is_break() {
                    return scanned;
                }
            }
            at += len;
            // The index is no part of the records, whether it can be used or not.
            if !matches!(body[0], codec::INDEX | codec::END) {
                scanned.end = at as u32;
            }
        }
        let last = self.bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        scanned.torn_to = (last as u64).max(at as u64);
        scanned.is_old = self.bytes.get(at..last).is_some_and(|tail| tail.ends_with(&spare::MARK));
        if self.is_sealed && last > at {
            scanned.damage.push((at as u64, last as u64));
        }
        scanned
    }

    /// Where to go on after the frame at `at` failed, if those bytes were on disk once.
    fn after_damage(&self, at: usize) -> Option<usize> {
        let batches = || self.batches_after(at);
        if !self.is_sealed && !batches().any(|(_, durable)| durable as usize > at) {
            return None;
        }
        let len = self.bytes.get(at + 4..at + 8)?;
        let next = at.checked_add(u32::from_le_bytes(len.try_into().ok()?) as usize)?;
        let is_frame =
            next > at && next < self.bytes.len() && codec::frame(&self.bytes[next..], self.seed).is_some();
        if is_frame { Some(next) } else { batches().next().map(|(place, _)| place) }
    }

    /// The batch frames after `at`: where each is, and how much it says was on disk.
    fn batches_after(&self, at: usize) -> impl Iterator<Item = (usize, u32)> {
        let mut from = at + 1;
        std::iter::from_fn(move || {
            loop {
                let rest = self.bytes.get(from + MAGIC_AT..)?;
                let place = from + find(rest, &BATCH_MAGIC)?;
                from = place + 1;
                // Payloads may be full of what looks like a batch. A checksum of 21 bytes is soon done.
                let body = self.bytes.get(place..place + BATCH_BYTES);
                let body = body.and_then(|bytes| codec::frame(bytes, self.seed));
                if let Some(durable) = body.and_then(batch_durable) {
                    return Some((place, durable));
                }
            }
        })
    }
}

/// Kind and meta of a record; None for the journal's own frames.
fn meta(body: &[u8]) -> Option<&[u8]> {
    let record = codec::decode(body)?;
    match record {
        super::record::Record::Message(message) => {
            let tail = message.headers.as_encoded().len() + message.payload.len();
            Some(&body[..body.len() - tail])
        }
        _ => Some(body),
    }
}

fn batch_durable(body: &[u8]) -> Option<u32> {
    let mut input = Input(body);
    (input.u8()? == codec::BATCH && input.bytes(8)? == BATCH_MAGIC).then(|| input.u32())?
}

/// The first place of `magic` in `bytes`.
fn find(bytes: &[u8], magic: &[u8; 8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + bytes.get(from..)?.iter().position(|byte| *byte == magic[0])?;
        if bytes[at..].starts_with(magic) {
            return Some(at);
        }
        from = at + 1;
    }
}
