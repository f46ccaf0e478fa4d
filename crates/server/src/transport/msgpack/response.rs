//! Responses: `{ok, allowed, limit, remaining, retry_after, reset_after}`, and `error` when not ok.

use rmp::Marker;
use tidegate_core::{Decision, Wait};

use super::request::Shape;
use crate::api::Refusal;
use crate::transport::framed::Line;

/// Bytes of a frame's length.
pub const HEADER: usize = 4;

/// One response.
pub enum Response<'a> {
    /// To a throttle or peek.
    Decision(Decision),
    /// To a reset or clear: how many keys. `{ok, count}`.
    Count(u64),
    /// To anything that was refused.
    Refused(&'a Refusal),
}

/// 32 bits unsigned, as the format has it: larger numbers saturate, and never is the largest.
fn saturate(n: impl TryInto<u32>) -> u32 {
    n.try_into().unwrap_or(u32::MAX)
}

impl Response<'_> {
    /// Writes the response as a frame.
    #[inline]
    pub fn write(&self, shape: Shape, output: &mut Vec<u8>) {
        let start = output.len();
        Line::add(output, |line| {
            line.push(&[0; HEADER]);
            let mut fields = Fields { line, shape };
            match self {
                Response::Decision(decision) => fields.decision(decision),
                Response::Count(count) => {
                    fields.begin(2);
                    fields.flag(b"\xa2ok", true);
                    fields.number(b"\xa5count", saturate(*count));
                }
                Response::Refused(_) => fields.refused(),
            }
        });
        if let Response::Refused(refusal) = self {
            let written = rmp::encode::write_str(output, &refusal.to_string());
            assert!(written.is_ok(), "a buffer in memory refused to grow");
        }
        let len = (output.len() - start - HEADER) as u32;
        output[start..start + HEADER].copy_from_slice(&len.to_be_bytes());
    }
}

/// A frame's length, seven names and five numbers fit; the text of a refusal comes after.
const LINE_BYTES: usize = 128;

/// Writes fields one by one. Names come as they go over the wire, behind the byte that says how long they are.
struct Fields<'l, 'o> {
    line: &'l mut Line<'o, LINE_BYTES>,
    shape: Shape,
}

impl Fields<'_, '_> {
    #[inline]
    fn decision(&mut self, decision: &Decision) {
        let retry_after = match decision.retry_after {
            Wait::Never => u32::MAX,
            wait => saturate(wait.seconds()),
        };
        self.begin(6);
        self.flag(b"\xa2ok", true);
        self.number(b"\xa7allowed", u32::from(decision.allowed));
        self.number(b"\xa5limit", saturate(decision.limit));
        self.number(b"\xa9remaining", saturate(decision.remaining));
        self.number(b"\xabretry_after", retry_after);
        self.number(b"\xabreset_after", saturate(decision.reset_after_s()));
    }

    /// All fields but the value of the last.
    fn refused(&mut self) {
        self.begin(7);
        self.flag(b"\xa2ok", false);
        self.number(b"\xa7allowed", 0);
        self.number(b"\xa5limit", 0);
        self.number(b"\xa9remaining", 0);
        self.number(b"\xabretry_after", 0);
        self.number(b"\xabreset_after", 0);
        self.name(b"\xa5error");
    }

    /// The head of a map or array of less than 16.
    fn begin(&mut self, len: u8) {
        let kind = match self.shape {
            Shape::Map => Marker::FixMap(len),
            Shape::Array => Marker::FixArray(len),
        };
        self.line.push(&[kind.to_u8()]);
    }

    #[inline]
    fn name<const N: usize>(&mut self, name: &[u8; N]) {
        if self.shape == Shape::Map {
            self.line.push(name);
        }
    }

    #[inline]
    fn flag<const N: usize>(&mut self, name: &[u8; N], value: bool) {
        self.name(name);
        self.line.push(&[if value { Marker::True } else { Marker::False }.to_u8()]);
    }

    /// A number, in as few bytes as it takes.
    #[inline]
    fn number<const N: usize>(&mut self, name: &[u8; N], value: u32) {
        self.name(name);
        let [a, b, c, d] = value.to_be_bytes();
        match value {
            0..=0x7f => self.line.push(&[d]),
            0x80..=0xff => self.line.push(&[Marker::U8.to_u8(), d]),
            0x100..=0xffff => self.line.push(&[Marker::U16.to_u8(), c, d]),
            _ => self.line.push(&[Marker::U32.to_u8(), a, b, c, d]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(response: &Response<'_>, shape: Shape) -> Vec<u8> {
        let mut output = b"before".to_vec();
        response.write(shape, &mut output);
        output.split_off(6)
    }

    #[test]
    fn frames() {
        let decision = Decision {
            allowed: false,
            limit: u64::MAX,
            remaining: 3,
            reset_after_ns: 1_500_000_000,
            retry_after: Wait::Never,
        };
        let array = write(&Response::Decision(decision), Shape::Array);
        assert_eq!(array, b"\0\0\0\x0f\x96\xc3\0\xce\xff\xff\xff\xff\x03\xce\xff\xff\xff\xff\x02");
        let map = write(&Response::Decision(decision), Shape::Map);
        assert!(
            map.starts_with(b"\0\0\0\x42\x86\xa2ok\xc3\xa7allowed\0\xa5limit\xce"),
            "{}",
            map.escape_ascii()
        );
        assert_eq!(write(&Response::Count(2), Shape::Map), b"\0\0\0\x0c\x82\xa2ok\xc3\xa5count\x02");
        let numbers = [127, 128, 255, 256, 65_535, 65_536, u32::MAX].map(|n| {
            let frame = write(&Response::Count(n.into()), Shape::Array);
            let mut rest = &frame[HEADER + 2..];
            (rmp::decode::read_int::<u32, _>(&mut rest).unwrap(), rest.len()) == (n, 0)
        });
        assert_eq!(numbers, [true; 7]);
        let refused = write(&Response::Refused(&Refusal::invalid_quantity(-1)), Shape::Array);
        assert!(refused[4..].starts_with(b"\x97\xc2\0\0\0\0\0\xd9"));
    }
}
