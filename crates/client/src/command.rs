//! RESP, outwards: each operation as the bytes of one command.
//!
//! A command is an array of bulk strings, so a key may hold any bytes.

use std::io::Write;

use crate::Request;

/// The two ways to ask about a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    /// Take the quantity if it is there.
    Throttle,
    /// Say whether it would pass, and take nothing.
    Peek,
}

impl Verb {
    fn name(self) -> &'static [u8] {
        match self {
            Verb::Throttle => b"THROTTLE",
            Verb::Peek => b"THROTTLE.PEEK",
        }
    }
}

/// `THROTTLE key burst count period quantity`, or the same as a peek.
pub(crate) fn ask<K: AsRef<[u8]>>(verb: Verb, request: &Request<K>) -> Vec<u8> {
    let Request { key, limit, quantity } = request;
    let key = key.as_ref();
    Frame::new(6, key.len())
        .part(verb.name())
        .part(key)
        .number(limit.burst)
        .number(limit.count)
        .number(limit.period_s)
        .number(*quantity)
        .bytes
}

/// `THROTTLE key`: the limit is the server's default.
pub(crate) fn throttle_default(key: &[u8]) -> Vec<u8> {
    words(&[Verb::Throttle.name(), key])
}

/// `THROTTLE.RESET key [key ...]`.
pub(crate) fn reset<K: AsRef<[u8]>>(keys: &[K]) -> Vec<u8> {
    let size = keys.iter().map(|key| key.as_ref().len()).sum();
    let frame = Frame::new(1 + keys.len(), size).part(b"THROTTLE.RESET");
    keys.iter().fold(frame, |frame, key| frame.part(key.as_ref())).bytes
}

/// A command whose parts are all at hand.
pub(crate) fn words(parts: &[&[u8]]) -> Vec<u8> {
    let size = parts.iter().map(|part| part.len()).sum();
    parts.iter().fold(Frame::new(parts.len(), size), |frame, part| frame.part(part)).bytes
}

/// A command being written.
struct Frame {
    bytes: Vec<u8>,
}

/// Room for the name, the numbers and the lengths of most commands, so that one allocation is enough.
const ROOM: usize = 96;

impl Frame {
    fn new(parts: usize, payload: usize) -> Frame {
        let mut frame = Frame { bytes: Vec::with_capacity(ROOM + payload) };
        frame.write(format_args!("*{parts}\r\n"));
        frame
    }

    fn part(mut self, part: &[u8]) -> Frame {
        self.write(format_args!("${}\r\n", part.len()));
        self.bytes.extend_from_slice(part);
        self.bytes.extend_from_slice(b"\r\n");
        self
    }

    fn number(mut self, number: u64) -> Frame {
        let digits = number.checked_ilog10().unwrap_or(0) + 1;
        self.write(format_args!("${digits}\r\n{number}\r\n"));
        self
    }

    fn write(&mut self, text: std::fmt::Arguments<'_>) {
        self.bytes.write_fmt(text).expect("a Vec takes every write");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limit;

    fn check(frame: Vec<u8>, expected: &str) {
        assert_eq!(frame.escape_ascii().to_string(), expected);
    }

    #[test]
    fn asks_carry_every_parameter() {
        let request =
            Request::new(b"a\r\n\xff", Limit { burst: 0, count: 9, period_s: 10 }).quantity(u64::MAX);
        check(
            ask(Verb::Throttle, &request),
            r"*6\r\n$8\r\nTHROTTLE\r\n$4\r\na\r\n\xff\r\n$1\r\n0\r\n$1\r\n9\r\n$2\r\n10\r\n$20\r\n18446744073709551615\r\n",
        );
        check(
            ask(Verb::Peek, &Request::new("", Limit::per_second(99))),
            r"*6\r\n$13\r\nTHROTTLE.PEEK\r\n$0\r\n\r\n$2\r\n99\r\n$2\r\n99\r\n$1\r\n1\r\n$1\r\n1\r\n",
        );
    }

    #[test]
    fn other_commands() {
        check(throttle_default(b"k"), r"*2\r\n$8\r\nTHROTTLE\r\n$1\r\nk\r\n");
        check(reset(&["a", "bc"]), r"*3\r\n$14\r\nTHROTTLE.RESET\r\n$1\r\na\r\n$2\r\nbc\r\n");
        check(words(&[b"PING"]), r"*1\r\n$4\r\nPING\r\n");
    }
}
