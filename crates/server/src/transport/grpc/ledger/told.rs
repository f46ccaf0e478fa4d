//! What came of an acquire, as it travels: the bytes of an `AcquireResponse`, without making one. That would take five texts
//! for each limit that was asked.

use bytes::{BufMut, Bytes, BytesMut};
use prost::Message;
use prost::encoding::{encode_varint, encoded_len_varint};
use tidegate_core::Nanos;
use tidegate_ledger::{Acquired, Status as Limit};

use super::super::{frame, v1};
use crate::api::Refusal;
use crate::api::ledger::acquire::digits;
use crate::api::ledger::document::retry_after_ms;

const NANOS_PER_MS: u64 = 1_000_000;

/// What came of an acquire, and when that was.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) acquired: Acquired,
    pub(super) now: Nanos,
}

impl Told {
    /// A whole response body.
    pub(super) fn write(&self) -> Bytes {
        frame::write_by(|out| self.put(out, &mut Vec::new()))
    }

    /// The fields of an `AcquireResponse`.
    fn put(&self, out: &mut impl BufMut, room: &mut Vec<u8>) {
        let statuses = match &self.acquired {
            Acquired::Granted(granted) => {
                put_flag(out, 1, true);
                if let Some(lease) = granted.lease {
                    put_text(out, 2, &digits(lease));
                }
                put_number(out, 3, granted.expires_at / NANOS_PER_MS);
                put_optional(out, 4, Some(0));
                put_flag(out, 5, granted.bypassed);
                put_flag(out, 6, granted.degraded);
                &granted.statuses
            }
            Acquired::Denied(denied) => {
                put_optional(out, 4, retry_after_ms(denied.ready, self.now));
                &denied.statuses
            }
            Acquired::Undecided(_) => return,
        };
        for limit in statuses {
            room.clear();
            put_status(room, limit, self.now);
            put_bytes(out, 7, room);
        }
    }
}

/// A whole `AcquireBatchResponse`.
pub(super) fn write_all(results: impl Iterator<Item = Result<Told, Refusal>>) -> Bytes {
    let (mut response, mut room) = (Vec::new(), Vec::new());
    frame::write_by(|out: &mut BytesMut| {
        for result in results {
            response.clear();
            match result {
                Ok(told) => {
                    told.put(&mut response, &mut room);
                    // `acquired` of a result, in `results`.
                    put_key(out, 1, BYTES);
                    let len = response.len() as u64;
                    encode_varint(1 + encoded_len_varint(len) as u64 + len, out);
                    put_bytes(out, 1, &response);
                }
                Err(refusal) => {
                    let outcome = Some(v1::acquire_result::Outcome::Error(refusal.into()));
                    put_bytes(out, 1, &v1::AcquireResult { outcome }.encode_to_vec());
                }
            }
        }
    })
}

fn put_status(out: &mut Vec<u8>, limit: &Limit, now: Nanos) {
    put_text(out, 1, String::from_utf8_lossy(&limit.entity).as_bytes());
    put_text(out, 2, limit.resource.as_bytes());
    put_text(out, 3, limit.limit.as_bytes());
    put_text(out, 4, limit.kind.as_str().as_bytes());
    put_text(out, 5, limit.level.as_str().as_bytes());
    put_number(out, 6, limit.capacity);
    put_number(out, 7, limit.available.cast_unsigned());
    put_number(out, 8, limit.requested);
    put_flag(out, 9, limit.exceeded);
    put_flag(out, 10, limit.soft);
    put_optional(out, 11, retry_after_ms(limit.ready, now));
}

/// How a field is laid out.
const VARINT: u8 = 0;
const BYTES: u8 = 2;

/// Tags below 16 take a byte.
fn put_key(out: &mut impl BufMut, tag: u8, layout: u8) {
    debug_assert!(tag < 16);
    out.put_u8(tag << 3 | layout);
}

fn put_bytes(out: &mut impl BufMut, tag: u8, bytes: &[u8]) {
    put_key(out, tag, BYTES);
    encode_varint(bytes.len() as u64, out);
    out.put_slice(bytes);
}

fn put_text(out: &mut impl BufMut, tag: u8, text: &[u8]) {
    if !text.is_empty() {
        put_bytes(out, tag, text);
    }
}

fn put_number(out: &mut impl BufMut, tag: u8, number: u64) {
    put_optional(out, tag, Some(number).filter(|number| *number != 0));
}

fn put_optional(out: &mut impl BufMut, tag: u8, number: Option<u64>) {
    if let Some(number) = number {
        put_key(out, tag, VARINT);
        encode_varint(number, out);
    }
}

fn put_flag(out: &mut impl BufMut, tag: u8, flag: bool) {
    put_number(out, tag, u64::from(flag));
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use tidegate_core::bucket::Ready;
    use tidegate_core::ledger::Level;
    use tidegate_ledger::{Granted, Kind, LeaseId};

    use super::*;
    use crate::api::ledger::document;

    fn granted(statuses: Vec<Limit>) -> Told {
        let lease = Some(LeaseId(7));
        let granted = Granted { lease, expires_at: 5_000_000, statuses, bypassed: false, degraded: true };
        Told { acquired: Acquired::Granted(granted), now: 0 }
    }

    fn limit(entity: &[u8]) -> Limit {
        Limit {
            entity: entity.into(),
            resource: "gpt-4".into(),
            limit: "tpm".into(),
            level: Level::System,
            kind: Kind::Rate,
            capacity: 1 << 40,
            available: -5,
            requested: 0,
            exceeded: true,
            soft: true,
            ready: Ready::At(2_000_000),
            period_ns: 1,
            refill: 1,
            until_full_ns: 1,
        }
    }

    fn read(told: &Told) -> v1::AcquireResponse {
        frame::read(told.write()).unwrap()
    }

    #[test]
    fn what_json_tells_is_told_here_by_the_same_names() {
        let told = granted(Vec::new());
        let json: Value = serde_json::from_slice(&document::acquired(&told.acquired, 0)).unwrap();
        assert_eq!(serde_json::to_value(read(&told)).unwrap(), json);
    }

    #[test]
    fn a_limit_is_told_whole() {
        let told = read(&granted(vec![limit(b"acme"), Limit { ready: Ready::Pending, ..limit(b"\xff") }]));
        let expected = v1::LimitStatus {
            entity: "acme".to_owned(),
            resource: "gpt-4".to_owned(),
            limit: "tpm".to_owned(),
            kind: "rate".to_owned(),
            level: "system".to_owned(),
            capacity: 1 << 40,
            available: -5,
            requested: 0,
            exceeded: true,
            soft: true,
            retry_after_ms: Some(2),
        };
        let other =
            v1::LimitStatus { entity: "\u{fffd}".to_owned(), retry_after_ms: None, ..expected.clone() };
        assert_eq!(told.statuses, [expected, other]);
    }

    #[test]
    fn a_batch_tells_all_in_order() {
        use v1::acquire_result::Outcome;
        // One that is short, one whose length takes two bytes, and one that is refused.
        let all = || [granted(Vec::new()), granted(vec![limit(b"acme"); 3])];
        let refused = Refusal::invalid_request("no", "yes");
        let written = write_all(all().into_iter().map(Ok).chain([Err(refused)]));
        let told: v1::AcquireBatchResponse = frame::read(written).unwrap();
        let [one, two] = all().map(|told| Outcome::Acquired(read(&told)));
        let outcomes: Vec<_> = told.results.into_iter().map(|result| result.outcome.unwrap()).collect();
        assert_eq!(outcomes[..2], [one, two]);
        assert!(matches!(&outcomes[2..], [Outcome::Error(refusal)] if refusal.code == "invalid_request"));
    }
}
