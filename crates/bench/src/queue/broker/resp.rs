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
    link.next(within, |bytes| {
        let Some(len) = value_len(bytes)? else { return Ok(None) };
        Ok(Some((len, read(&mut Cursor { bytes: &bytes[..len], at: 0 })?)))
    })
}

/// The first value in these bytes, if it is all there.
pub fn first(bytes: &[u8]) -> Result<Option<Cursor<'_>>> {
    Ok(value_len(bytes)?.map(|len| Cursor { bytes: &bytes[..len], at: 0 }))
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

/// The length of the first value, nested or not, if it is all there.
fn value_len(bytes: &[u8]) -> Result<Option<usize>> {
    let (mut at, mut open) = (0, 1_usize);
    while open > 0 {
        let Some(line) = line_len(&bytes[at..]) else { return Ok(None) };
        let head = &bytes[at..at + line];
        at += line;
        open -= 1;
        match head[0] {
            b'$' | b'=' => {
                if let Some(len) = number(&head[1..])? {
                    at += len + 2;
                    if at > bytes.len() {
                        return Ok(None);
                    }
                }
            }
            b'*' | b'>' | b'~' => open += number(&head[1..])?.unwrap_or(0),
            b'%' => open += 2 * number(&head[1..])?.unwrap_or(0),
            _ => {}
        }
    }
    Ok(Some(at))
}

/// The number in the head of a value; a negative one stands for nothing.
fn number(digits: &[u8]) -> Result<Option<usize>> {
    let number: i64 = text(digits)?.parse().context("not a length")?;
    Ok(usize::try_from(number).ok())
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
        let line = line_len(rest).context("a reply that ends too soon")?;
        let head = rest[1..line].strip_suffix(b"\r\n").context("a line without its end")?;
        self.at += line;
        Ok(match rest[0] {
            b'-' => bail!("refused: {}", text(head)?),
            b'$' | b'=' => match number(head)? {
                None => Item::Nil,
                Some(len) => {
                    self.at += len + 2;
                    Item::Text(rest.get(line..line + len).context("a reply that ends too soon")?)
                }
            },
            b'*' | b'>' | b'~' => number(head)?.map_or(Item::Nil, Item::Many),
            b'%' => number(head)?.map_or(Item::Nil, |pairs| Item::Many(2 * pairs)),
            b'_' => Item::Nil,
            _ => Item::Text(head),
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
        assert_eq!(value_len(bytes.as_bytes()).unwrap(), len, "{bytes:?}");
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
