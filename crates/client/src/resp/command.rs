//! RESP, outwards: commands as bytes.
//!
//! A command is an array of bulk strings, so a key or a payload may hold any bytes.

use bytes::BytesMut;

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
pub(crate) fn ask<K: AsRef<[u8]>>(verb: Verb, request: &Request<K>) -> Frame {
    let Request { key, limit, quantity } = request;
    let key = key.as_ref();
    let mut frame = Frame::with_room(key.len());
    frame.begin(6).part(verb.name()).part(key);
    frame.number(limit.burst).number(limit.count).number(limit.period_s).number(*quantity);
    frame
}

/// `THROTTLE key`: the limit is the server's default.
pub(crate) fn throttle_default(key: &[u8]) -> Frame {
    words(&[Verb::Throttle.name(), key])
}

/// `THROTTLE.RESET key [key ...]`.
pub(crate) fn reset<K: AsRef<[u8]>>(keys: &[K]) -> Frame {
    let mut frame = Frame::with_room(keys.iter().map(|key| key.as_ref().len()).sum());
    frame.begin(1 + keys.len()).part(b"THROTTLE.RESET");
    for key in keys {
        frame.part(key.as_ref());
    }
    frame
}

/// A command whose parts are all at hand.
pub(crate) fn words(parts: &[&[u8]]) -> Frame {
    let mut frame = Frame::with_room(parts.iter().map(|part| part.len()).sum());
    frame.begin(parts.len());
    for part in parts {
        frame.part(part);
    }
    frame
}

/// Commands being written, one or more.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) bytes: BytesMut,
}

/// Room for the name, the numbers and the lengths of most commands, so that one allocation is enough.
const ROOM: usize = 96;

impl Frame {
    /// Room for one command whose keys and payload have `size` bytes.
    pub(crate) fn with_room(size: usize) -> Frame {
        Frame { bytes: BytesMut::with_capacity(ROOM + size) }
    }

    /// Begins a command of so many parts, its name included.
    pub(crate) fn begin(&mut self, parts: usize) -> &mut Frame {
        self.head(b'*', parts as u64);
        self
    }

    /// The next part.
    pub(crate) fn part(&mut self, part: &[u8]) -> &mut Frame {
        self.bytes.reserve(part.len() + 26);
        self.head(b'$', part.len() as u64);
        self.bytes.extend_from_slice(part);
        self.bytes.extend_from_slice(b"\r\n");
        self
    }

    /// The next part, a number.
    pub(crate) fn number(&mut self, number: u64) -> &mut Frame {
        self.part(itoa::Buffer::new().format(number).as_bytes())
    }

    fn head(&mut self, kind: u8, number: u64) {
        // One digit is most of it, and one copy then does.
        if number < 10 {
            return self.bytes.extend_from_slice(&[kind, b'0' + number as u8, b'\r', b'\n']);
        }
        self.bytes.extend_from_slice(&[kind]);
        self.bytes.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
        self.bytes.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limit;

    fn check(frame: Frame, expected: &str) {
        assert_eq!(frame.bytes.escape_ascii().to_string(), expected);
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

    #[test]
    fn one_allocation_holds_a_command() {
        let frame = ask(Verb::Peek, &Request::new([b'k'; 100], Limit { burst: 1, count: 1, period_s: 1 }));
        assert_eq!(frame.bytes.capacity(), ROOM + 100);
    }
}
