//! The bytes of answers, read without keeping any of them.

use crate::resp::{Cursor, Stop};

/// What one request came to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer<'a> {
    Allowed,
    Denied,
    /// The text of the error.
    Refused(&'a [u8]),
}

/// Takes one answer off `input`. When it is not there whole, nothing is taken.
pub(super) fn next<'a>(input: &mut &'a [u8]) -> Result<Answer<'a>, Stop> {
    let mut cursor = Cursor { rest: input };
    let answer = match cursor.line()? {
        [b'-', text @ ..] => Answer::Refused(text),
        b"*5" => decision(&mut cursor)?,
        _ => return Err(Stop::Malformed("a decision is an array of five numbers")),
    };
    *input = cursor.rest;
    Ok(answer)
}

/// Only the first of the five numbers matters here; the rest are numbers, and that is all that is checked.
fn decision<'a>(cursor: &mut Cursor<'a>) -> Result<Answer<'a>, Stop> {
    let answer = match cursor.line()? {
        b":1" => Answer::Allowed,
        b":0" => Answer::Denied,
        _ => return Err(Stop::Malformed("a decision starts with 0 or 1")),
    };
    for _ in 0..4 {
        if !cursor.line()?.starts_with(b":") {
            return Err(Stop::Malformed("a decision is an array of five numbers"));
        }
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: &[u8] =
        b"*5\r\n:1\r\n:10\r\n:9\r\n:6\r\n:0\r\n-ERR no: x\r\n*5\r\n:0\r\n:10\r\n:0\r\n:60\r\n:-1\r\n";

    #[test]
    fn answers_in_a_row() {
        let mut input = BYTES;
        assert_eq!(next(&mut input), Ok(Answer::Allowed));
        assert_eq!(next(&mut input), Ok(Answer::Refused(b"ERR no: x")));
        assert_eq!(next(&mut input), Ok(Answer::Denied));
        assert_eq!(next(&mut input), Err(Stop::Incomplete));
    }

    #[test]
    fn a_part_of_an_answer_is_left_alone() {
        for end in 0..25 {
            let mut input = &BYTES[..end];
            assert_eq!(next(&mut input), Err(Stop::Incomplete), "{end} bytes");
            assert_eq!(input.len(), end);
        }
    }

    #[test]
    fn other_replies_are_malformed() {
        for bytes in [&b"+OK\r\n"[..], b"*4\r\n:1\r\n", b"*5\r\n:2\r\n", b"*5\r\n:1\r\n$1\r\n"] {
            assert!(matches!(next(&mut &*bytes), Err(Stop::Malformed(_))));
        }
    }
}
