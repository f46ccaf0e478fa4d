//! A whole reply, kept: what calls are answered with that are not on the hot path.

use bytes::Bytes;

use super::input::malformed;
use super::item::{Cursor, Item, Stop};
use crate::Error;

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
    /// `_`, `$-1` or `*-1`
    Null,
    /// `*5`; a map is the array of its keys and values in turn.
    Array(Vec<Reply>),
    /// `>3`: came unasked.
    Push(Vec<Reply>),
}

impl Reply {
    /// The one reply in `bytes`.
    pub(crate) fn read(bytes: &[u8]) -> Result<Reply, Error> {
        Reply::next(&mut Cursor::over(bytes)).map_err(malformed)
    }

    /// The next reply. How deep this goes was bounded when the end of the reply was found.
    fn next(cursor: &mut Cursor<'_>) -> Result<Reply, Stop> {
        let item = cursor.item()?;
        Ok(match item {
            Item::Simple(b"OK") => Reply::Simple(Bytes::from_static(b"OK")),
            Item::Simple(text) => Reply::Simple(Bytes::copy_from_slice(text)),
            Item::Error(text) => Reply::Error(String::from_utf8_lossy(text).into_owned()),
            Item::Integer(number) => Reply::Integer(number),
            Item::Bulk(text) => Reply::Bulk(Bytes::copy_from_slice(text)),
            Item::Null => Reply::Null,
            Item::Array(_) | Item::Map(_) => Reply::Array(Reply::children(cursor, item)?),
            Item::Push(_) => Reply::Push(Reply::children(cursor, item)?),
        })
    }

    fn children(cursor: &mut Cursor<'_>, item: Item<'_>) -> Result<Vec<Reply>, Stop> {
        (0..item.children()).map(|_| Reply::next(cursor)).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::resp::Input;
    use crate::resp::item::{DEPTH_MAX, LINE_MAX};

    /// Everything read out of `pieces`, and the error that ended it, if one did.
    fn read(pieces: &[&[u8]]) -> (Vec<Reply>, Option<String>) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (mut input, mut replies) = (Input::new(64), Vec::new());
        for mut piece in pieces.iter().copied() {
            while !piece.is_empty() {
                runtime.block_on(input.read(&mut piece)).unwrap();
                loop {
                    match input.decode() {
                        Ok(Some(reply)) => replies.push(reply),
                        Ok(None) => break,
                        Err(error) => return (replies, Some(error.to_string())),
                    }
                }
            }
        }
        (replies, None)
    }

    #[test]
    fn one_of_each_kind() {
        let bytes = b"+OK\r\n-ERR no\r\n:-7\r\n$4\r\n\r\n\xff\x00\r\n$-1\r\n*-1\r\n_\r\n*2\r\n:1\r\n*0\r\n\
            %1\r\n+k\r\n:1\r\n>1\r\n+p\r\n";
        let expected = vec![
            Reply::Simple(Bytes::from_static(b"OK")),
            Reply::Error("ERR no".into()),
            Reply::Integer(-7),
            Reply::Bulk(Bytes::from_static(b"\r\n\xff\x00")),
            Reply::Null,
            Reply::Null,
            Reply::Null,
            Reply::Array(vec![Reply::Integer(1), Reply::Array(vec![])]),
            Reply::Array(vec![Reply::Simple(Bytes::from_static(b"k")), Reply::Integer(1)]),
            Reply::Push(vec![Reply::Simple(Bytes::from_static(b"p"))]),
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
        check(b"$67108865\r\n", "a length out of bounds");
        check(b"*131073\r\n", "a length out of bounds");
        check(b"$1\r\nabc", "a bulk string without its end");
        check(&[b'+'; LINE_MAX], "a line too long");
        check(&b"*1\r\n".repeat(DEPTH_MAX + 1), "arrays nested too deep");
    }

    /// The bytes of a reply, as a server would send them.
    fn encode(reply: &Reply) -> Vec<u8> {
        let many = |kind: char, items: &[Reply]| {
            let head = format!("{kind}{}\r\n", items.len()).into_bytes();
            items.iter().fold(head, |bytes, item| [bytes, encode(item)].concat())
        };
        match reply {
            Reply::Simple(text) => [b"+", text.as_ref(), b"\r\n"].concat(),
            Reply::Error(text) => format!("-{text}\r\n").into_bytes(),
            Reply::Integer(number) => format!(":{number}\r\n").into_bytes(),
            Reply::Bulk(text) => [format!("${}\r\n", text.len()).as_bytes(), text.as_ref(), b"\r\n"].concat(),
            Reply::Null => b"_\r\n".to_vec(),
            Reply::Array(items) => many('*', items),
            Reply::Push(items) => many('>', items),
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
            prop_oneof![
                prop::collection::vec(item.clone(), 0..5).prop_map(Reply::Array),
                prop::collection::vec(item, 0..5).prop_map(Reply::Push),
            ]
        })
    }

    /// Bytes that look enough like RESP to get past the first one.
    fn resp_like() -> impl Strategy<Value = Vec<u8>> {
        let words: [&[u8]; 15] = [
            b"+", b"-", b":", b"$", b"*", b"%", b">", b"_", b"\r\n", b"\n", b"1", b"2", b"-1", b"x", b"\xff",
        ];
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
