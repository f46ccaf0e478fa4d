//! Responses: `{ok, allowed, limit, remaining, retry_after, reset_after}`, and `error` when not ok.

use rmp::Marker;
use tidegate_core::{Decision, Wait};

use super::request::Shape;
use crate::api::Refusal;

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
    pub fn write(&self, shape: Shape, output: &mut Vec<u8>) {
        let start = output.len();
        output.extend_from_slice(&[0; HEADER]);
        let mut fields = Fields { output, shape };
        match self {
            Response::Decision(decision) => fields.decision(decision),
            Response::Count(count) => {
                fields.begin(2);
                fields.flag(b"\xa2ok", true);
                fields.number(b"\xa5count", saturate(*count));
            }
            Response::Refused(refusal) => fields.refusal(refusal),
        }
        let len = (output.len() - start - HEADER) as u32;
        output[start..start + HEADER].copy_from_slice(&len.to_be_bytes());
    }
}

/// Writes fields one by one. Names come as they go over the wire, behind the byte that says how long they are.
struct Fields<'o> {
    output: &'o mut Vec<u8>,
    shape: Shape,
}

impl Fields<'_> {
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

    fn refusal(&mut self, refusal: &Refusal) {
        self.begin(7);
        self.flag(b"\xa2ok", false);
        let zeroes: [&[u8]; 5] =
            [b"\xa7allowed", b"\xa5limit", b"\xa9remaining", b"\xabretry_after", b"\xabreset_after"];
        zeroes.into_iter().for_each(|name| self.number(name, 0));
        self.name(b"\xa5error");
        let written = rmp::encode::write_str(self.output, &refusal.to_string());
        assert!(written.is_ok(), "a buffer in memory refused to grow");
    }

    /// The head of a map or array of less than 16.
    fn begin(&mut self, len: u8) {
        let kind = match self.shape {
            Shape::Map => Marker::FixMap(len),
            Shape::Array => Marker::FixArray(len),
        };
        self.output.push(kind.to_u8());
    }

    #[inline]
    fn name(&mut self, name: &[u8]) {
        if self.shape == Shape::Map {
            self.output.extend_from_slice(name);
        }
    }

    fn flag(&mut self, name: &[u8], value: bool) {
        self.name(name);
        self.output.push(if value { Marker::True } else { Marker::False }.to_u8());
    }

    /// A number, in as few bytes as it takes.
    #[inline]
    fn number(&mut self, name: &[u8], value: u32) {
        self.name(name);
        let [a, b, c, d] = value.to_be_bytes();
        match value {
            0..=0x7f => self.output.push(d),
            0x80..=0xff => self.output.extend_from_slice(&[Marker::U8.to_u8(), d]),
            0x100..=0xffff => self.output.extend_from_slice(&[Marker::U16.to_u8(), c, d]),
            _ => self.output.extend_from_slice(&[Marker::U32.to_u8(), a, b, c, d]),
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
