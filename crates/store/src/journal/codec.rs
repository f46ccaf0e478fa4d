//! Records as bytes. Everything in a segment after its header is a frame: checksum 4, length 4, kind 1, body.
//!
//! The length counts the whole frame. The checksum covers all that follows it, and goes on from that of the
//! segment's header. The bodies are in `docs/internals/journal.md`.
//!
//! What the index repeats of a message, its **meta**, comes first; headers and payload end the frame.

use super::block::{Charges, Headers};
use super::record::{DeadLetter, MessageRecord, Record};
use tidegate_core::queue::{MessageId, QueueId};

/// Checksum and length.
pub(crate) const FRAME_BYTES: usize = 8;
/// The longest frame. Whoever makes messages refuses larger ones long before.
pub(crate) const MAX_FRAME_BYTES: usize = 256 << 20;

pub(crate) const BATCH: u8 = 7;
pub(crate) const INDEX: u8 = 8;
pub(crate) const END: u8 = 9;
const MESSAGE: u8 = 1;
const DELIVERED: u8 = 2;
const REQUEUED: u8 = 3;
const EXTENDED: u8 = 4;
const GONE: u8 = 5;
const PURGED: u8 = 6;

const HAS_ORDER: u8 = 1;
const HAS_LEASE: u8 = 2;
const HAS_DUE: u8 = 4;
const HAS_WEIGHT: u8 = 8;
const HAS_CHARGES: u8 = 16;
const HAS_DEAD: u8 = 32;
const HAS_HEADERS: u8 = 64;

/// Room for the fixed part of any record.
const FIXED_BYTES: usize = 112;

/// The fixed part of a body, put together on the stack so that it is copied once.
struct Fixed {
    bytes: [u8; FIXED_BYTES],
    used: usize,
}

impl Fixed {
    fn new(kind: u8) -> Fixed {
        let mut fixed = Fixed { bytes: [0; FIXED_BYTES], used: FRAME_BYTES };
        fixed.put([kind]);
        fixed
    }

    #[inline(always)]
    fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        self.bytes[self.used..self.used + N].copy_from_slice(&bytes);
        self.used += N;
    }

    fn u32(&mut self, number: u32) {
        self.put(number.to_le_bytes());
    }

    fn u64(&mut self, number: u64) {
        self.put(number.to_le_bytes());
    }

    /// A length. What does not fit a frame is refused when the frame is closed.
    fn length(&mut self, bytes: &[u8]) {
        self.u32(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
    }

    fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.used]
    }
}

/// What a record became in the buffer.
pub(crate) struct Encoded {
    /// Bytes of the frame.
    pub len: u32,
    /// Bytes of kind and meta, which begin after [`FRAME_BYTES`].
    pub meta_len: usize,
}

/// Adds a record to `out` as a frame.
pub(crate) fn encode(record: &Record<'_>, seed: u32, out: &mut Vec<u8>) -> Encoded {
    let start = out.len();
    let meta_end = match record {
        Record::Message(message) => put_message(message, out),
        other => {
            out.extend_from_slice(fixed_record(other).as_slice());
            out.len()
        }
    };
    let len = close_frame(start, seed, out);
    Encoded { len, meta_len: meta_end - start - FRAME_BYTES }
}

/// Adds a frame of the journal's own kinds.
pub(crate) fn encode_own(kind: u8, body: &[&[u8]], seed: u32, out: &mut Vec<u8>) -> u32 {
    let start = out.len();
    out.extend_from_slice(Fixed::new(kind).as_slice());
    for part in body {
        out.extend_from_slice(part);
    }
    close_frame(start, seed, out)
}

fn close_frame(start: usize, seed: u32, out: &mut [u8]) -> u32 {
    let len = out.len() - start;
    // A caller's bug: the segment could not be read back.
    assert!(len <= MAX_FRAME_BYTES, "a record of {len} bytes");
    out[start + 4..start + 8].copy_from_slice(&(len as u32).to_le_bytes());
    let checksum = crc32c::crc32c_append(seed, &out[start + 4..]);
    out[start..start + 4].copy_from_slice(&checksum.to_le_bytes());
    len as u32
}

fn put_message(message: &MessageRecord<'_>, out: &mut Vec<u8>) -> usize {
    let (charges, headers) = (message.charges.as_encoded(), message.headers.as_encoded());
    let mut fixed = Fixed::new(MESSAGE);
    let flag = |flag: u8, is_set: bool| if is_set { flag } else { 0 };
    fixed.put([flag(HAS_ORDER, message.order != message.id.0)
        | flag(HAS_LEASE, message.lease.is_some())
        | flag(HAS_DUE, message.due.is_some())
        | flag(HAS_WEIGHT, message.weight.is_some())
        | flag(HAS_CHARGES, !charges.is_empty())
        | flag(HAS_DEAD, message.dead.is_some())
        | flag(HAS_HEADERS, !headers.is_empty())]);
    fixed.u64(message.id.0);
    fixed.u32(message.queue.0);
    fixed.u32(message.attempts);
    fixed.u32(message.delivery);
    fixed.u32(message.cost);
    fixed.length(message.flow);
    if message.order != message.id.0 {
        fixed.u64(message.order);
    }
    for time in [message.lease, message.due].into_iter().flatten() {
        fixed.u64(time);
    }
    if let Some(weight) = message.weight {
        fixed.u32(weight);
    }
    if !charges.is_empty() {
        fixed.length(charges);
    }
    if let Some(dead) = message.dead {
        fixed.u64(dead.at_ms);
        fixed.u32(dead.attempts);
        fixed.length(dead.queue.as_bytes());
        fixed.length(dead.reason.as_bytes());
    }
    if !headers.is_empty() {
        fixed.length(headers);
    }
    out.reserve(FIXED_BYTES + message.flow.len() + charges.len() + headers.len() + message.payload.len());
    out.extend_from_slice(fixed.as_slice());
    out.extend_from_slice(message.flow);
    out.extend_from_slice(charges);
    if let Some(dead) = message.dead {
        out.extend_from_slice(dead.queue.as_bytes());
        out.extend_from_slice(dead.reason.as_bytes());
    }
    let meta_end = out.len();
    out.extend_from_slice(headers);
    out.extend_from_slice(message.payload);
    meta_end
}

fn fixed_record(record: &Record<'_>) -> Fixed {
    match *record {
        Record::Message(_) => unreachable!("a message is no fixed record"),
        Record::Delivered { id, delivery, deadline } => {
            let mut fixed = Fixed::new(DELIVERED);
            fixed.u64(id.0);
            fixed.u32(delivery);
            fixed.u64(deadline);
            fixed
        }
        Record::Requeued { id, queue, order, attempts, due } => {
            let mut fixed = Fixed::new(REQUEUED);
            fixed.put([if due.is_some() { HAS_DUE } else { 0 }]);
            fixed.u64(id.0);
            fixed.u32(queue.0);
            fixed.u64(order);
            fixed.u32(attempts);
            if let Some(due) = due {
                fixed.u64(due);
            }
            fixed
        }
        Record::Extended { id, deadline } => {
            let mut fixed = Fixed::new(EXTENDED);
            fixed.u64(id.0);
            fixed.u64(deadline);
            fixed
        }
        Record::Gone { id } => {
            let mut fixed = Fixed::new(GONE);
            fixed.u64(id.0);
            fixed
        }
        Record::Purged { queue, below } => {
            let mut fixed = Fixed::new(PURGED);
            fixed.u32(queue.0);
            fixed.u64(below.0);
            fixed
        }
    }
}

/// The frame at the start of `bytes`, without checksum and length, if it is whole.
pub(crate) fn frame(bytes: &[u8], seed: u32) -> Option<&[u8]> {
    let len = u32::from_le_bytes(bytes.get(4..8)?.try_into().ok()?) as usize;
    if len <= FRAME_BYTES {
        return None;
    }
    let checked = bytes.get(4..len)?;
    let checksum = u32::from_le_bytes(bytes[..4].try_into().ok()?);
    (crc32c::crc32c_append(seed, checked) == checksum).then(|| &checked[4..])
}

/// Whether kind and body are those of a message.
pub(crate) fn is_message(bytes: &[u8]) -> bool {
    bytes.first() == Some(&MESSAGE)
}

/// Reads a record from kind and body. None for the journal's own kinds, and for what makes no sense.
pub(crate) fn decode(bytes: &[u8]) -> Option<Record<'_>> {
    let mut input = Input(bytes);
    let record = match input.u8()? {
        MESSAGE => {
            let (mut message, headers) = take_message(&mut input)?;
            message.headers = Headers::from_encoded(input.bytes(headers)?);
            message.payload = input.rest();
            Record::Message(message)
        }
        kind => take_fixed(kind, &mut input)?,
    };
    input.0.is_empty().then_some(record)
}

/// As [`decode`], for what the index holds: a message without headers and payload, any other record whole.
pub(crate) fn decode_meta(bytes: &[u8]) -> Option<Record<'_>> {
    let mut input = Input(bytes);
    let record = match input.u8()? {
        MESSAGE => Record::Message(take_message(&mut input)?.0),
        kind => take_fixed(kind, &mut input)?,
    };
    input.0.is_empty().then_some(record)
}

/// The message without headers and payload, and how long its headers are.
fn take_message<'a>(input: &mut Input<'a>) -> Option<(MessageRecord<'a>, usize)> {
    let flags = input.u8()?;
    let has = |flag: u8| flags & flag != 0;
    let id = MessageId(input.u64()?);
    let queue = QueueId(input.u32()?);
    let (attempts, delivery, cost) = (input.u32()?, input.u32()?, input.u32()?);
    let flow = input.length()?;
    let order = if has(HAS_ORDER) { input.u64()? } else { id.0 };
    let lease = if has(HAS_LEASE) { Some(input.u64()?) } else { None };
    let due = if has(HAS_DUE) { Some(input.u64()?) } else { None };
    let weight = if has(HAS_WEIGHT) { Some(input.u32()?) } else { None };
    let charges = if has(HAS_CHARGES) { input.length()? } else { 0 };
    let dead = match has(HAS_DEAD) {
        true => Some((input.u64()?, input.u32()?, input.length()?, input.length()?)),
        false => None,
    };
    let headers = if has(HAS_HEADERS) { input.length()? } else { 0 };
    let flow = input.bytes(flow)?;
    let charges = Charges::from_encoded(input.bytes(charges)?);
    let dead = match dead {
        None => None,
        Some((at_ms, attempts, queue, reason)) => {
            let (queue, reason) = (input.str(queue)?, input.str(reason)?);
            Some(DeadLetter { queue, at_ms, attempts, reason })
        }
    };
    let (payload, no_headers): (&[u8], _) = (&[], Headers::default());
    let message = MessageRecord {
        id,
        queue,
        order,
        attempts,
        delivery,
        lease,
        due,
        flow,
        weight,
        cost,
        charges,
        dead,
        headers: no_headers,
        payload,
    };
    Some((message, headers))
}

fn take_fixed<'a>(kind: u8, input: &mut Input<'a>) -> Option<Record<'a>> {
    Some(match kind {
        DELIVERED => {
            Record::Delivered { id: MessageId(input.u64()?), delivery: input.u32()?, deadline: input.u64()? }
        }
        REQUEUED => {
            let flags = input.u8()?;
            Record::Requeued {
                id: MessageId(input.u64()?),
                queue: QueueId(input.u32()?),
                order: input.u64()?,
                attempts: input.u32()?,
                due: if flags & HAS_DUE != 0 { Some(input.u64()?) } else { None },
            }
        }
        EXTENDED => Record::Extended { id: MessageId(input.u64()?), deadline: input.u64()? },
        GONE => Record::Gone { id: MessageId(input.u64()?) },
        PURGED => Record::Purged { queue: QueueId(input.u32()?), below: MessageId(input.u64()?) },
        _ => return None,
    })
}

/// Bytes being read from the front.
pub(crate) struct Input<'a>(pub &'a [u8]);

impl<'a> Input<'a> {
    pub fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    pub fn u8(&mut self) -> Option<u8> {
        Some(self.bytes(1)?[0])
    }

    pub fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.bytes(4)?.try_into().ok()?))
    }

    pub fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.bytes(8)?.try_into().ok()?))
    }

    fn length(&mut self) -> Option<usize> {
        usize::try_from(self.u32()?).ok()
    }

    fn str(&mut self, count: usize) -> Option<&'a str> {
        std::str::from_utf8(self.bytes(count)?).ok()
    }
}
