//! Replies, in RESP2 and RESP3.

use crate::transport::framed::Line;

/// Which version of the protocol a connection speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// Without maps and nulls.
    Resp2,
    /// With them.
    Resp3,
}

/// Writes replies for one version.
pub struct Reply<'a> {
    output: &'a mut Vec<u8>,
    version: Version,
}

impl<'a> Reply<'a> {
    /// Replies that go to `output`.
    pub fn new(output: &'a mut Vec<u8>, version: Version) -> Reply<'a> {
        Reply { output, version }
    }

    /// From now on another version.
    pub fn speak(&mut self, version: Version) {
        self.version = version;
    }

    /// The version that is spoken.
    pub fn version(&self) -> Version {
        self.version
    }

    /// How much has been written.
    pub fn position(&self) -> usize {
        self.output.len()
    }

    /// What has been written.
    pub fn output(&mut self) -> &mut Vec<u8> {
        self.output
    }

    /// `+OK` and its like.
    pub fn simple(&mut self, text: &str) {
        self.line(b'+', text.as_bytes());
    }

    /// An error. Line ends would break the protocol, so they become spaces.
    pub fn error(&mut self, text: &str) {
        self.output.push(b'-');
        self.output.extend(text.bytes().map(|byte| if byte == b'\r' || byte == b'\n' { b' ' } else { byte }));
        self.output.extend_from_slice(b"\r\n");
    }

    /// A number.
    #[inline]
    pub fn integer(&mut self, n: i64) {
        self.number(b':', n);
    }

    /// Bytes.
    pub fn bulk(&mut self, bytes: &[u8]) {
        self.number(b'$', bytes.len() as i64);
        self.output.extend_from_slice(bytes);
        self.output.extend_from_slice(b"\r\n");
    }

    /// What has the form of a reply already.
    pub fn ready_made(&mut self, bytes: &[u8]) {
        self.output.extend_from_slice(bytes);
    }

    /// Nothing.
    pub fn null(&mut self) {
        let null: &[u8] = match self.version {
            Version::Resp2 => b"$-1\r\n",
            Version::Resp3 => b"_\r\n",
        };
        self.output.extend_from_slice(null);
    }

    /// The head of an array of `len` replies.
    pub fn array(&mut self, len: usize) {
        self.number(b'*', len as i64);
    }

    /// The head of a map of `len` pairs; RESP2 has a flat array instead.
    pub fn map(&mut self, len: usize) {
        match self.version {
            Version::Resp2 => self.array(2 * len),
            Version::Resp3 => self.number(b'%', len as i64),
        }
    }

    /// The head of a message of `len` replies that nobody asked for just now; RESP2 has a plain array instead.
    pub fn push(&mut self, len: usize) {
        match self.version {
            Version::Resp2 => self.array(len),
            Version::Resp3 => self.number(b'>', len as i64),
        }
    }

    /// An array of five numbers: every decision.
    #[inline]
    pub fn five(&mut self, numbers: &[i64; 5]) {
        let digit = |n: i64| b'0' + (n % 10) as u8;
        Line::<FIVE_BYTES>::add(self.output, |line| {
            line.push(b"*5\r\n");
            for &n in numbers {
                match n {
                    0..=9 => line.push(&[b':', digit(n), b'\r', b'\n']),
                    10..=99 => line.push(&[b':', digit(n / 10), digit(n), b'\r', b'\n']),
                    100..=999 => line.push(&[b':', digit(n / 100), digit(n / 10), digit(n), b'\r', b'\n']),
                    -1 => line.push(b":-1\r\n"),
                    _ => {
                        line.push(b":");
                        line.extend(itoa::Buffer::new().format(n).as_bytes());
                        line.push(b"\r\n");
                    }
                }
            }
        });
    }

    fn number(&mut self, kind: u8, n: i64) {
        self.line(kind, itoa::Buffer::new().format(n).as_bytes());
    }

    #[inline]
    fn line(&mut self, kind: u8, text: &[u8]) {
        self.output.push(kind);
        self.output.extend_from_slice(text);
        self.output.extend_from_slice(b"\r\n");
    }
}

/// A head, and five numbers of a sign, 19 digits, a mark and a line end.
const FIVE_BYTES: usize = 4 + 5 * 23;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_numbers_of_any_length() {
        let edges = [i64::MAX, 1000, 999, 101, 100, 99, 10, 9, 0, -1, -2, -10, -100, -1000, i64::MIN];
        for five in edges.as_chunks::<5>().0.iter().chain([&[100, 999, 1000, -1, 0]]) {
            let mut output = b"before".to_vec();
            Reply::new(&mut output, Version::Resp2).five(five);
            let lines: String = five.iter().map(|n| format!(":{n}\r\n")).collect();
            assert_eq!(String::from_utf8(output).unwrap(), format!("before*5\r\n{lines}"));
        }
    }

    #[test]
    fn both_versions() {
        let write = |version| {
            let mut output = Vec::new();
            let mut reply = Reply::new(&mut output, version);
            reply.map(1);
            reply.bulk(b"k");
            reply.null();
            reply.five(&[1, -1, 10, 99, i64::MIN]);
            reply.integer(7);
            reply.error("ERR two\r\nlines");
            String::from_utf8(output).unwrap()
        };
        let rest = "*5\r\n:1\r\n:-1\r\n:10\r\n:99\r\n:-9223372036854775808\r\n:7\r\n-ERR two  lines\r\n";
        assert_eq!(write(Version::Resp2), format!("*2\r\n$1\r\nk\r\n$-1\r\n{rest}"));
        assert_eq!(write(Version::Resp3), format!("%1\r\n$1\r\nk\r\n_\r\n{rest}"));
    }
}
