//! Responses: `{ok, allowed, limit, remaining, retry_after, reset_after}`, and `error` when not ok.

use rmp::encode::{self, ByteBuf};
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
        let mut buffer = ByteBuf::from_vec(std::mem::take(output));
        buffer.as_mut_vec().extend_from_slice(&[0; HEADER]);
        let mut fields = Fields { buffer: &mut buffer, shape };
        match self {
            Response::Decision(decision) => fields.decision(decision),
            Response::Count(count) => {
                fields.begin(2);
                fields.flag("ok", true);
                fields.number("count", saturate(*count));
            }
            Response::Refused(refusal) => fields.refusal(refusal),
        }
        *output = buffer.into_vec();
        let len = (output.len() - start - HEADER) as u32;
        output[start..start + HEADER].copy_from_slice(&len.to_be_bytes());
    }
}

struct Fields<'b> {
    buffer: &'b mut ByteBuf,
    shape: Shape,
}

impl Fields<'_> {
    fn decision(&mut self, decision: &Decision) {
        self.begin(6);
        self.flag("ok", true);
        self.number("allowed", u32::from(decision.allowed));
        self.number("limit", saturate(decision.limit));
        self.number("remaining", saturate(decision.remaining));
        let retry_after = match decision.retry_after {
            Wait::Never => u32::MAX,
            wait => saturate(wait.seconds()),
        };
        self.number("retry_after", retry_after);
        self.number("reset_after", saturate(decision.reset_after_s()));
    }

    fn refusal(&mut self, refusal: &Refusal) {
        self.begin(7);
        self.flag("ok", false);
        for name in ["allowed", "limit", "remaining", "retry_after", "reset_after"] {
            self.number(name, 0);
        }
        self.name("error");
        done(encode::write_str(self.buffer, &refusal.to_string()));
    }

    fn begin(&mut self, len: u32) {
        match self.shape {
            Shape::Map => done(encode::write_map_len(self.buffer, len)),
            Shape::Array => done(encode::write_array_len(self.buffer, len)),
        };
    }

    fn name(&mut self, name: &str) {
        if self.shape == Shape::Map {
            done(encode::write_str(self.buffer, name));
        }
    }

    fn flag(&mut self, name: &str, value: bool) {
        self.name(name);
        done(encode::write_bool(self.buffer, value));
    }

    fn number(&mut self, name: &str, value: u32) {
        self.name(name);
        done(encode::write_uint(self.buffer, u64::from(value)));
    }
}

/// Writing to memory has no error to return.
fn done<T, E>(result: Result<T, E>) {
    assert!(result.is_ok(), "a buffer in memory refused to grow");
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
        let refused = write(&Response::Refused(&Refusal::invalid_quantity(-1)), Shape::Array);
        assert!(refused[4..].starts_with(b"\x97\xc2\0\0\0\0\0\xd9"));
    }
}
