//! RESP, inwards: one item after the other out of bytes.
//!
//! Of RESP3, only the kinds that a Tidegate server sends are known. Every size is bounded, because the other end may
//! not be a Tidegate server at all.

/// The longest line: a simple string, an error, a number.
pub(crate) const LINE_MAX: usize = 16 * 1024;
/// The longest bulk string.
pub(crate) const BULK_MAX: usize = 64 * 1024 * 1024;
/// The most elements in one array, and pairs in one map.
pub(crate) const ITEMS_MAX: usize = 128 * 1024;
/// The deepest nesting of arrays and maps.
pub(crate) const DEPTH_MAX: usize = 4;

/// One item. Arrays, maps and pushes are told by their length; what is in them follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item<'a> {
    /// `+OK`
    Simple(&'a [u8]),
    /// `-ERR ...`
    Error(&'a [u8]),
    /// `:1`
    Integer(i64),
    /// `$3`
    Bulk(&'a [u8]),
    /// `_`, `$-1` or `*-1`
    Null,
    /// `*5`
    Array(usize),
    /// `%5`: pairs.
    Map(usize),
    /// `>5`: comes unasked.
    Push(usize),
}

impl Item<'_> {
    /// How many items follow that belong to this one.
    pub(crate) fn children(self) -> usize {
        match self {
            Item::Array(len) | Item::Push(len) => len,
            Item::Map(pairs) => 2 * pairs,
            Item::Simple(_) | Item::Error(_) | Item::Integer(_) | Item::Bulk(_) | Item::Null => 0,
        }
    }
}

/// Why no item could be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// More bytes are needed.
    Incomplete,
    /// No further bytes can help.
    Malformed(&'static str),
}

/// What is left to read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    pub(crate) rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    /// From the start of `bytes`.
    pub(crate) fn over(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { rest: bytes }
    }

    /// The next item.
    #[inline]
    pub(crate) fn item(&mut self) -> Result<Item<'a>, Stop> {
        let line = self.line()?;
        let Some((kind, text)) = line.split_first() else { return Err(Stop::Malformed("an empty line")) };
        match kind {
            b'+' => Ok(Item::Simple(text)),
            b'-' => Ok(Item::Error(text)),
            b':' => integer(text).map(Item::Integer),
            b'$' => length(text, BULK_MAX)?.map_or(Ok(Item::Null), |length| self.bulk(length)),
            b'*' => Ok(length(text, ITEMS_MAX)?.map_or(Item::Null, Item::Array)),
            b'%' => Ok(length(text, ITEMS_MAX)?.map_or(Item::Null, Item::Map)),
            b'>' => Ok(length(text, ITEMS_MAX)?.map_or(Item::Null, Item::Push)),
            b'_' => Ok(Item::Null),
            _ => Err(Stop::Malformed("a reply of no known kind")),
        }
    }

    /// Leaves out the next item and all that belongs to it.
    pub(crate) fn skip(&mut self) -> Result<(), Stop> {
        let mut left = 1;
        while left > 0 {
            left += self.item()?.children();
            left -= 1;
        }
        Ok(())
    }

    /// The next line, without its end.
    #[inline]
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

    #[inline]
    fn bulk(&mut self, length: usize) -> Result<Item<'a>, Stop> {
        if self.rest.len() < length + 2 {
            return Err(Stop::Incomplete);
        }
        let (text, rest) = self.rest.split_at(length);
        self.rest = rest.strip_prefix(b"\r\n").ok_or(Stop::Malformed("a bulk string without its end"))?;
        Ok(Item::Bulk(text))
    }
}

#[inline]
fn integer(text: &[u8]) -> Result<i64, Stop> {
    // Almost every number is short, and cannot overflow.
    if (1..=18).contains(&text.len()) && text.iter().all(u8::is_ascii_digit) {
        return Ok(text.iter().fold(0, |number, digit| number * 10 + i64::from(digit - b'0')));
    }
    std::str::from_utf8(text)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or(Stop::Malformed("a number that is none"))
}

/// A length, or `None` for the -1 that means null.
#[inline]
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

    #[test]
    fn one_of_each_kind() {
        let bytes = b"+OK\r\n-ERR no\r\n:-7\r\n$4\r\n\r\n\xff\x00\r\n$-1\r\n*-1\r\n_\r\n*2\r\n%1\r\n>3\r\n";
        let mut cursor = Cursor { rest: bytes };
        for expected in [
            Item::Simple(b"OK"),
            Item::Error(b"ERR no"),
            Item::Integer(-7),
            Item::Bulk(b"\r\n\xff\x00"),
            Item::Null,
            Item::Null,
            Item::Null,
            Item::Array(2),
            Item::Map(1),
            Item::Push(3),
        ] {
            assert_eq!(cursor.item(), Ok(expected));
        }
        assert_eq!(cursor.item(), Err(Stop::Incomplete));
    }

    #[test]
    fn numbers() {
        let check = |text: &str, expected: Option<i64>| assert_eq!(integer(text.as_bytes()).ok(), expected);
        check("0", Some(0));
        check("999999999999999999", Some(999_999_999_999_999_999));
        check("9223372036854775807", Some(i64::MAX));
        check("-9223372036854775808", Some(i64::MIN));
        check("9223372036854775808", None);
        check("", None);
        check("1x", None);
    }

    #[test]
    fn what_is_skipped_is_skipped_whole() {
        let mut cursor = Cursor { rest: b"%2\r\n+a\r\n*2\r\n:1\r\n$1\r\nx\r\n+b\r\n%0\r\n:9\r\n" };
        cursor.skip().unwrap();
        assert_eq!(cursor.item(), Ok(Item::Integer(9)));
    }
}
