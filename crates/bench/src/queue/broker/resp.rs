//! The Redis protocol, as far as the brokers that speak it need it.

use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::link::{Link, SILENCE_WITHIN, line_len, text};

/// Appends a command: an array of bulk strings.
pub fn command(out: &mut Vec<u8>, words: &[&[u8]]) {
    array(out, words.len());
    for word in words {
        bulk(out, word);
    }
}

/// Appends the head of an array.
pub fn array(out: &mut Vec<u8>, len: usize) {
    head(out, b'*', len);
}

/// Appends a bulk string.
pub fn bulk(out: &mut Vec<u8>, word: &[u8]) {
    head(out, b'$', word.len());
    out.extend_from_slice(word);
    out.extend_from_slice(b"\r\n");
}

fn head(out: &mut Vec<u8>, kind: u8, mut number: usize) {
    let (mut digits, mut at) = ([0_u8; 20], 20);
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.push(kind);
    out.extend_from_slice(&digits[at..]);
    out.extend_from_slice(b"\r\n");
}

/// Waits for one reply, and reads it. `None` when it did not come in time.
pub fn reply<T>(
    link: &mut Link,
    within: Duration,
    mut read: impl FnMut(&mut Cursor<'_>) -> Result<T>,
) -> Result<Option<T>> {
    let mut extent = Extent::default();
    link.next(within, |bytes| {
        let Some(len) = extent.of_value(bytes)? else { return Ok(None) };
        Ok(Some((len, read(&mut Cursor { bytes: &bytes[..len], at: 0 })?)))
    })
}

/// The first value in these bytes, if it is all there.
pub fn first(bytes: &[u8]) -> Result<Option<Cursor<'_>>> {
    Ok(Extent::default().of_value(bytes)?.map(|len| Cursor { bytes: &bytes[..len], at: 0 }))
}

/// Sends one command, and reads its reply, which is an error if it is one.
pub fn ask<T>(link: &mut Link, words: &[&[u8]], read: impl FnMut(&mut Cursor<'_>) -> Result<T>) -> Result<T> {
    let mut bytes = Vec::new();
    command(&mut bytes, words);
    link.send(&bytes)?;
    let reply = reply(link, SILENCE_WITHIN, read).with_context(|| {
        words.iter().take(3).map(|word| String::from_utf8_lossy(word)).collect::<Vec<_>>().join(" ")
    })?;
    reply.context("no reply")
}

/// Reads a reply of which only matters that it is no refusal.
pub fn accepted(reply: &mut Cursor<'_>) -> Result<()> {
    reply.skip()
}

/// Reads a reply that is a number.
pub fn counted(reply: &mut Cursor<'_>) -> Result<u64> {
    text(reply.text()?)?.parse().context("not a number")
}

/// How far a value is there. What has been looked through is not looked at again when more of it has arrived: a reply of a
/// hundred messages comes in several pieces.
struct Extent {
    at: usize,
    /// Values to come.
    open: usize,
}

impl Default for Extent {
    fn default() -> Extent {
        Extent { at: 0, open: 1 }
    }
}

impl Extent {
    /// The length of the first value, nested or not, if it is all there. The bytes begin where they did the last time.
    fn of_value(&mut self, bytes: &[u8]) -> Result<Option<usize>> {
        while self.open > 0 {
            let Some(head) = bytes.get(self.at..).and_then(Head::of) else { return Ok(None) };
            let mut end = self.at + head.len;
            let mut held = 0;
            match head.kind {
                b'$' | b'=' => end += head.number()?.map_or(0, |len| len + 2),
                b'*' | b'>' | b'~' => held = head.number()?.unwrap_or(0),
                b'%' => held = 2 * head.number()?.unwrap_or(0),
                _ => {}
            }
            if end > bytes.len() {
                return Ok(None);
            }
            self.at = end;
            self.open = self.open - 1 + held;
        }
        Ok(Some(self.at))
    }
}

/// The line that a value begins with.
struct Head<'a> {
    kind: u8,
    /// What is between the kind and the end of the line.
    word: &'a [u8],
    /// What it says, if that is digits and no more.
    digits: Option<usize>,
    /// Bytes of the line with its end.
    len: usize,
}

/// More digits than any length has.
const MANY_DIGITS: usize = 18;

impl<'a> Head<'a> {
    /// By hand, since this is most of what a driver does for a message.
    #[inline]
    fn of(bytes: &'a [u8]) -> Option<Head<'a>> {
        let (&kind, rest) = bytes.split_first()?;
        let mut number = 0;
        for (at, byte) in rest.iter().enumerate().take(MANY_DIGITS) {
            match byte {
                b'0'..=b'9' => number = number * 10 + usize::from(byte - b'0'),
                b'\r' if at > 0 && rest.get(at + 1) == Some(&b'\n') => {
                    return Some(Head { kind, word: &rest[..at], digits: Some(number), len: at + 3 });
                }
                _ => break,
            }
        }
        let len = line_len(rest)?;
        let word = rest[..len].strip_suffix(b"\r\n").unwrap_or_default();
        Some(Head { kind, word, digits: None, len: 1 + len })
    }

    /// The number that it says; a negative one stands for nothing.
    fn number(&self) -> Result<Option<usize>> {
        match self.word {
            [b'-', ..] => Ok(None),
            word => self.digits.map(Some).with_context(|| format!("not a length: {}", word.escape_ascii())),
        }
    }
}

/// Reads a value that is all there.
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// One value, or the head of one that holds others.
#[derive(Debug, PartialEq, Eq)]
pub enum Item<'a> {
    /// A string of either kind, or a number.
    Text(&'a [u8]),
    /// Nothing.
    Nil,
    /// So many values follow; a map counts twice.
    Many(usize),
}

impl<'a> Cursor<'a> {
    /// Bytes of the whole value, read or not.
    pub fn whole_len(&self) -> usize {
        self.bytes.len()
    }

    /// The next value. A refusal is an error.
    pub fn item(&mut self) -> Result<Item<'a>> {
        let rest = &self.bytes[self.at..];
        let head = Head::of(rest).context("a reply that ends too soon")?;
        self.at += head.len;
        Ok(match head.kind {
            b'-' => bail!("refused: {}", text(head.word)?),
            b'$' | b'=' => match head.number()? {
                None => Item::Nil,
                Some(len) => {
                    self.at += len + 2;
                    Item::Text(rest.get(head.len..head.len + len).context("a reply that ends too soon")?)
                }
            },
            b'*' | b'>' | b'~' => head.number()?.map_or(Item::Nil, Item::Many),
            b'%' => head.number()?.map_or(Item::Nil, |pairs| Item::Many(2 * pairs)),
            b'_' => Item::Nil,
            _ => Item::Text(head.word),
        })
    }

    /// The next value, which is a string or a number.
    pub fn text(&mut self) -> Result<&'a [u8]> {
        match self.item()? {
            Item::Text(text) => Ok(text),
            other => bail!("not a text: {other:?}"),
        }
    }

    /// The head of the next value, which holds others. Nothing holds none.
    pub fn many(&mut self) -> Result<usize> {
        match self.item()? {
            Item::Many(len) => Ok(len),
            Item::Nil => Ok(0),
            Item::Text(text) => bail!("not an array: {}", String::from_utf8_lossy(text)),
        }
    }

    /// Passes over the next value, and all that it holds. A refusal in it is an error.
    pub fn skip(&mut self) -> Result<()> {
        let mut open = 1;
        while open > 0 {
            open -= 1;
            if let Item::Many(len) = self.item()? {
                open += len;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &str, len: Option<usize>) {
        assert_eq!(Extent::default().of_value(bytes.as_bytes()).unwrap(), len, "{bytes:?}");
        // The same if it comes byte by byte.
        let mut extent = Extent::default();
        let found = (0..=bytes.len()).find_map(|end| extent.of_value(&bytes.as_bytes()[..end]).unwrap());
        assert_eq!(found, len, "{bytes:?} in pieces");
    }

    #[test]
    fn a_value_is_as_long_as_all_it_holds() {
        check("", None);
        check("+OK\r\n+OK\r\n", Some(5));
        check("$5\r\nhe\r\no\r\n", Some(11));
        check("$5\r\nhell", None);
        check("$-1\r\n", Some(5));
        check("*-1\r\n", Some(5));
        check("*2\r\n*1\r\n:1\r\n$1\r\nx\r\n:9\r\n", Some(19));
        check("*2\r\n*1\r\n:1\r\n", None);
        check("%1\r\n+a\r\n:1\r\n", Some(12));
    }

    #[test]
    fn a_command_reads_back() {
        let mut bytes = Vec::new();
        command(&mut bytes, &[b"XADD", b"", &[b'x'; 1024]]);
        assert!(bytes.starts_with(b"*3\r\n$4\r\nXADD\r\n$0\r\n\r\n$1024\r\nxx"));
        let mut cursor = Cursor { bytes: &bytes, at: 0 };
        assert_eq!(cursor.many().unwrap(), 3);
        assert_eq!(cursor.text().unwrap(), b"XADD");
        cursor.skip().unwrap();
        assert_eq!(cursor.text().unwrap().len(), 1024);
    }

    #[test]
    fn a_length_is_a_number() {
        for wrong in ["$1x\r\n", "*99999999999999999999999\r\n"] {
            assert!(Extent::default().of_value(wrong.as_bytes()).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_refusal_is_an_error_wherever_it_is() {
        let mut cursor = Cursor { bytes: b"*2\r\n+OK\r\n-ERR no\r\n", at: 0 };
        assert!(cursor.skip().unwrap_err().to_string().contains("ERR no"));
    }

    #[test]
    fn nothing_holds_nothing() {
        let mut cursor = Cursor { bytes: b"*-1\r\n$-1\r\n:12\r\n", at: 0 };
        assert_eq!(cursor.many().unwrap(), 0);
        assert_eq!(cursor.item().unwrap(), Item::Nil);
        assert_eq!(counted(&mut cursor).unwrap(), 12);
    }
}
