//! RESP, inwards: replies out of a stream of bytes.
//!
//! RESP2 is all that a Tidegate server sends to a client that did not ask for more. The bytes may come in
//! pieces of any size; how they are cut never changes what is read. Every size is bounded, because the other
//! end may not be a Tidegate server at all.

use bytes::{Buf, Bytes, BytesMut};

use crate::Error;

/// The longest line: a simple string, an error, a number.
const LINE_MAX: usize = 16 * 1024;
/// The longest bulk string.
const BULK_MAX: usize = 1024 * 1024;
/// The most elements in one array.
const ITEMS_MAX: usize = 1024;
/// The deepest nesting of arrays.
const DEPTH_MAX: usize = 4;

/// One reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// `+OK`
    Simple(Bytes),
    /// `-ERR ...`, text as sent; bytes that are not UTF-8 are replaced.
    Error(String),
    /// `:1`
    Integer(i64),
    /// `$3`
    Bulk(Bytes),
    /// `$-1` or `*-1`
    Null,
    /// `*5`
    Array(Vec<Reply>),
}

/// Takes the first whole reply off `input`, or nothing if more bytes are needed.
pub(crate) fn decode(input: &mut BytesMut) -> Result<Option<Reply>, Error> {
    let mut cursor = Cursor { rest: input };
    match cursor.reply(0) {
        Ok(reply) => {
            let used = input.len() - cursor.rest.len();
            input.advance(used);
            Ok(Some(reply))
        }
        Err(Stop::Incomplete) => Ok(None),
        Err(Stop::Malformed(reason)) => Err(Error::protocol(reason)),
    }
}

/// Why no reply could be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// More bytes are needed.
    Incomplete,
    /// No further bytes can help.
    Malformed(&'static str),
}

/// What is left to read. A reply is read from its start each time: replies are small, and a long bulk string
/// is skipped by its length.
pub(crate) struct Cursor<'a> {
    pub(crate) rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    fn reply(&mut self, depth: usize) -> Result<Reply, Stop> {
        let line = self.line()?;
        let Some((kind, text)) = line.split_first() else { return Err(Stop::Malformed("an empty line")) };
        match kind {
            b'+' => Ok(Reply::Simple(Bytes::copy_from_slice(text))),
            b'-' => Ok(Reply::Error(String::from_utf8_lossy(text).into_owned())),
            b':' => integer(text).map(Reply::Integer),
            b'$' => self.bulk(length(text, BULK_MAX)?),
            b'*' => self.array(length(text, ITEMS_MAX)?, depth),
            _ => Err(Stop::Malformed("a reply of no known kind")),
        }
    }

    /// The next line, without its end.
    pub(crate) fn line(&mut self) -> Result<&'a [u8], Stop> {
        let window = &self.rest[..self.rest.len().min(LINE_MAX)];
        let Some(end) = window.iter().position(|b| *b == b'\n') else {
            return Err(if window.len() < LINE_MAX {
                Stop::Incomplete
            } else {
                Stop::Malformed("a line too long")
            });
        };
        let line = window[..end].strip_suffix(b"\r").ok_or(Stop::Malformed("a line without its CR"))?;
        self.rest = &self.rest[end + 1..];
        Ok(line)
    }

    fn bulk(&mut self, length: Option<usize>) -> Result<Reply, Stop> {
        let Some(length) = length else { return Ok(Reply::Null) };
        if self.rest.len() < length + 2 {
            return Err(Stop::Incomplete);
        }
        let (text, rest) = self.rest.split_at(length);
        self.rest = rest.strip_prefix(b"\r\n").ok_or(Stop::Malformed("a bulk string without its end"))?;
        Ok(Reply::Bulk(Bytes::copy_from_slice(text)))
    }

    fn array(&mut self, length: Option<usize>, depth: usize) -> Result<Reply, Stop> {
        let Some(length) = length else { return Ok(Reply::Null) };
        if depth == DEPTH_MAX {
            return Err(Stop::Malformed("arrays nested too deep"));
        }
        let mut items = Vec::with_capacity(length);
        for _ in 0..length {
            items.push(self.reply(depth + 1)?);
        }
        Ok(Reply::Array(items))
    }
}

fn integer(text: &[u8]) -> Result<i64, Stop> {
    std::str::from_utf8(text)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or(Stop::Malformed("a number that is none"))
}

/// A length, or `None` for the -1 that means null.
fn length(text: &[u8], max: usize) -> Result<Option<usize>, Stop> {
    match integer(text)? {
        -1 => Ok(None),
        length => match usize::try_from(length) {
            Ok(length) if length <= max => Ok(Some(length)),
            _ => Err(Stop::Malformed("a length out of bounds")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Everything read out of `pieces`, and the error that ended it, if one did.
    fn read(pieces: &[&[u8]]) -> (Vec<Reply>, Option<String>) {
        let (mut input, mut replies) = (BytesMut::new(), Vec::new());
        for piece in pieces {
            input.extend_from_slice(piece);
            loop {
                match decode(&mut input) {
                    Ok(Some(reply)) => replies.push(reply),
                    Ok(None) => break,
                    Err(error) => return (replies, Some(error.to_string())),
                }
            }
        }
        (replies, None)
    }

    #[test]
    fn one_of_each_kind() {
        let bytes = b"+OK\r\n-ERR no\r\n:-7\r\n$4\r\n\r\n\xff\x00\r\n$-1\r\n*-1\r\n*2\r\n:1\r\n*0\r\n";
        let expected = vec![
            Reply::Simple(Bytes::from_static(b"OK")),
            Reply::Error("ERR no".into()),
            Reply::Integer(-7),
            Reply::Bulk(Bytes::from_static(b"\r\n\xff\x00")),
            Reply::Null,
            Reply::Null,
            Reply::Array(vec![Reply::Integer(1), Reply::Array(vec![])]),
        ];
        assert_eq!(read(&[bytes]), (expected.clone(), None));
        let one_by_one: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(read(&one_by_one), (expected, None));
    }

    #[test]
    fn nonsense_is_refused_and_bounded() {
        let check = |bytes: &[u8], reason: &str| {
            let (replies, error) = read(&[bytes]);
            assert!(replies.is_empty());
            assert!(error.as_ref().is_some_and(|e| e.ends_with(reason)), "{error:?} is not: {reason}");
        };
        check(b"HTTP/1.1 400 Bad Request\r\n", "a reply of no known kind");
        check(b"\r\n", "an empty line");
        check(b"+OK\n", "a line without its CR");
        check(b":one\r\n", "a number that is none");
        check(b":9223372036854775808\r\n", "a number that is none");
        check(b"$-2\r\n", "a length out of bounds");
        check(b"$1048577\r\n", "a length out of bounds");
        check(b"*1025\r\n", "a length out of bounds");
        check(b"$1\r\nabc", "a bulk string without its end");
        check(&[b'+'; LINE_MAX], "a line too long");
        check(&b"*1\r\n".repeat(DEPTH_MAX + 1), "arrays nested too deep");
    }

    /// The bytes of a reply, as a server would send them.
    fn encode(reply: &Reply) -> Vec<u8> {
        match reply {
            Reply::Simple(text) => [b"+", text.as_ref(), b"\r\n"].concat(),
            Reply::Error(text) => format!("-{text}\r\n").into_bytes(),
            Reply::Integer(number) => format!(":{number}\r\n").into_bytes(),
            Reply::Bulk(text) => [format!("${}\r\n", text.len()).as_bytes(), text.as_ref(), b"\r\n"].concat(),
            Reply::Null => b"$-1\r\n".to_vec(),
            Reply::Array(items) => {
                let head = format!("*{}\r\n", items.len()).into_bytes();
                items.iter().fold(head, |bytes, item| [bytes, encode(item)].concat())
            }
        }
    }

    fn replies() -> impl Strategy<Value = Reply> {
        let leaf = prop_oneof![
            "[^\r\n]{0,20}".prop_map(|text| Reply::Simple(Bytes::from(text))),
            "[^\r\n]{0,20}".prop_map(Reply::Error),
            any::<i64>().prop_map(Reply::Integer),
            prop::collection::vec(any::<u8>(), 0..20).prop_map(|bytes| Reply::Bulk(Bytes::from(bytes))),
            Just(Reply::Null),
        ];
        leaf.prop_recursive(DEPTH_MAX as u32, 16, 5, |item| {
            prop::collection::vec(item, 0..5).prop_map(Reply::Array)
        })
    }

    /// Bytes that look enough like RESP to get past the first one.
    fn resp_like() -> impl Strategy<Value = Vec<u8>> {
        let words: [&[u8]; 12] =
            [b"+", b"-", b":", b"$", b"*", b"\r\n", b"\n", b"1", b"2", b"-1", b"x", b"\xff"];
        prop::collection::vec(prop::sample::select(words.to_vec()), 0..40).prop_map(|words| words.concat())
    }

    /// `bytes` cut at each of `cuts` (taken modulo the length).
    fn cut<'a>(bytes: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
        let mut ends: Vec<usize> =
            cuts.iter().map(|at| at % (bytes.len() + 1)).chain([bytes.len()]).collect();
        ends.sort_unstable();
        let mut start = 0;
        ends.iter().map(|&end| &bytes[std::mem::replace(&mut start, end)..end]).collect()
    }

    proptest! {
        #[test]
        fn replies_survive_any_split(
            replies in prop::collection::vec(replies(), 0..6),
            cuts in prop::collection::vec(any::<usize>(), 0..8),
        ) {
            let bytes: Vec<u8> = replies.iter().flat_map(encode).collect();
            prop_assert_eq!(read(&cut(&bytes, &cuts)), (replies, None));
        }

        #[test]
        fn any_bytes_read_the_same_however_they_are_split(
            bytes in prop_oneof![resp_like(), prop::collection::vec(any::<u8>(), 0..64)],
            cuts in prop::collection::vec(any::<usize>(), 0..8),
        ) {
            prop_assert_eq!(read(&cut(&bytes, &cuts)), read(&[&bytes]));
        }
    }
}
