//! Requests: arrays of bulk strings, or a line of words.
//!
//! The parser looks at whole requests only and keeps nothing between calls: what has not arrived whole is
//! looked at again when more has come, which costs a step per argument, not per byte. One of very many arguments says how
//! many bytes it needs at least, so that nobody makes it be looked at again for every byte.

use super::inline;

/// The most arguments in one request: more than a batch may have.
pub const MAX_ARGS: usize = 128 * 1024;

/// So many arguments are looked at again with every piece that arrives.
const FEW_ARGS: usize = 1024;

/// What an argument takes: `:` and a line end.
const LEAST_ARG_BYTES: usize = 3;

/// What stands at the start of the input.
#[derive(Debug, PartialEq, Eq)]
pub enum Parsed {
    /// A whole request, now in the arguments, of this many bytes.
    Request(usize),
    /// A line of words, of this many bytes.
    Line(usize, Vec<Vec<u8>>),
    /// The beginning of either, which is not worth another look before there are so many bytes.
    Partial(usize),
    /// A request that is, or says that it will be, above the bound.
    TooLarge,
    /// Something that is no request. The connection cannot find its way back.
    Broken(&'static str),
}

/// Reads one request of at most `max` bytes. Its arguments, if it is an array, are added to `args`.
#[inline]
pub fn parse<'a>(input: &'a [u8], max: usize, args: &mut Vec<&'a [u8]>) -> Parsed {
    let before = args.len();
    match input.first() {
        None => Parsed::Partial(0),
        Some(b'*') => match quick(input, args) {
            Some(len) if len <= max => Parsed::Request(len),
            _ => {
                args.truncate(before);
                careful(input, max, args)
            }
        },
        Some(_) => line(input, max),
    }
}

/// Reads a request of fewer than 100 arguments, as nearly every one is. `None`: look again, carefully.
#[inline]
fn quick<'a>(input: &'a [u8], args: &mut Vec<&'a [u8]>) -> Option<usize> {
    let (count, mut rest) = small_length(b'*', input)?;
    for _ in 0..count {
        let (len, after) = small_length(b'$', rest).or_else(|| payload_length(rest))?;
        let (argument, after) = after.split_at_checked(len)?;
        rest = after.strip_prefix(b"\r\n")?;
        args.push(argument);
    }
    Some(input.len() - rest.len())
}

#[inline]
fn small_length(kind: u8, input: &[u8]) -> Option<(usize, &[u8])> {
    let &[first, a, b, c, d] = input.first_chunk()?;
    let digit = |byte: u8| usize::from(byte.wrapping_sub(b'0'));
    if first != kind || digit(a) > 9 {
        return None;
    }
    match [b, c, d] {
        [b'\r', b'\n', _] => Some((digit(a), &input[4..])),
        [b, b'\r', b'\n'] if digit(b) <= 9 => Some((digit(a) * 10 + digit(b), &input[5..])),
        _ => None,
    }
}

/// The length of an argument of 100 bytes to 10 MB: the payload of a message.
fn payload_length(input: &[u8]) -> Option<(usize, &[u8])> {
    let digits = input.strip_prefix(b"$")?;
    let count = digits.iter().take(8).position(|byte| !byte.is_ascii_digit()).filter(|count| *count > 2)?;
    let rest = digits[count..].strip_prefix(b"\r\n")?;
    let len = digits[..count].iter().fold(0, |len, digit| len * 10 + usize::from(digit - b'0'));
    Some((len, rest))
}

/// Reads any request, and says what is wrong with what is none.
#[cold]
fn careful<'a>(input: &'a [u8], max: usize, args: &mut Vec<&'a [u8]>) -> Parsed {
    let mut reader = Reader { input, at: 1, max, least: 0 };
    match reader.array(args) {
        Ok(()) if reader.at > max => Parsed::TooLarge,
        Ok(()) => Parsed::Request(reader.at),
        Err(Stop::TooLarge) => Parsed::TooLarge,
        Err(Stop::Partial) => Parsed::Partial(reader.least),
        Err(Stop::Broken(why)) => Parsed::Broken(why),
    }
}

#[cold]
fn line(input: &[u8], max: usize) -> Parsed {
    match memchr::memchr(b'\n', input) {
        Some(end) if end < max => {
            let text = input[..end].strip_suffix(b"\r").unwrap_or(&input[..end]);
            match inline::words(text) {
                Some(words) if words.len() > MAX_ARGS => Parsed::Broken("too many words in request"),
                Some(words) => Parsed::Line(end + 1, words),
                None => Parsed::Broken("unbalanced quotes in request"),
            }
        }
        None if input.len() <= max => Parsed::Partial(0),
        _ => Parsed::TooLarge,
    }
}

enum Stop {
    Partial,
    TooLarge,
    Broken(&'static str),
}

struct Reader<'a> {
    input: &'a [u8],
    /// Where it reads on. When something is partial: no later than where that ends.
    at: usize,
    max: usize,
    /// Bytes without which it cannot be whole, if that is known.
    least: usize,
}

impl<'a> Reader<'a> {
    fn array(&mut self, args: &mut Vec<&'a [u8]>) -> Result<(), Stop> {
        // Less than none is none.
        let count = usize::try_from(self.length()?).unwrap_or(0);
        if count > MAX_ARGS {
            return Err(Stop::Broken("invalid multibulk length"));
        }
        for nth in 0..count {
            match self.argument() {
                Ok(argument) => args.push(argument),
                Err(Stop::Partial) if nth >= FEW_ARGS => {
                    self.least = self.at + (count - nth - 1) * LEAST_ARG_BYTES;
                    return Err(if self.least > self.max { Stop::TooLarge } else { Stop::Partial });
                }
                Err(stop) => return Err(stop),
            }
        }
        Ok(())
    }

    fn argument(&mut self) -> Result<&'a [u8], Stop> {
        let kind = *self.input.get(self.at).ok_or(Stop::Partial)?;
        self.at += 1;
        match kind {
            b'$' => {
                let len = usize::try_from(self.length()?).map_err(|_| Stop::Broken("invalid bulk length"))?;
                self.bulk(len)
            }
            // Some clients send numbers as numbers.
            b':' => self.line(),
            _ => Err(Stop::Broken("expected '$' or ':' before an argument")),
        }
    }

    /// As many bytes as announced, and their line end.
    fn bulk(&mut self, len: usize) -> Result<&'a [u8], Stop> {
        if len > self.max {
            // Said before it has arrived, so there is no need to wait for it.
            return Err(Stop::TooLarge);
        }
        let rest = &self.input[self.at..];
        self.at += len + 2;
        let (bulk, rest) = rest.split_at_checked(len).ok_or(Stop::Partial)?;
        match rest {
            [b'\r', b'\n', ..] => Ok(bulk),
            [] | [b'\r'] => Err(Stop::Partial),
            _ => Err(Stop::Broken("expected a line end after a bulk string")),
        }
    }

    fn length(&mut self) -> Result<i64, Stop> {
        integer(self.line()?).ok_or(Stop::Broken("invalid length"))
    }

    /// Up to the next line end. Lengths and numbers have at most 20 characters.
    fn line(&mut self) -> Result<&'a [u8], Stop> {
        let rest = &self.input[self.at..];
        let near = &rest[..rest.len().min(22)];
        let Some(end) = near.iter().position(|&byte| byte == b'\r') else {
            return Err(if near.len() == 22 { Stop::Broken("invalid length") } else { Stop::Partial });
        };
        match rest.get(end + 1) {
            Some(b'\n') => {
                self.at += end + 2;
                Ok(&rest[..end])
            }
            Some(_) => Err(Stop::Broken("expected a line end")),
            None => Err(Stop::Partial),
        }
    }
}

/// A decimal integer, all of it, as Redis reads one.
#[inline]
pub fn integer(text: &[u8]) -> Option<i64> {
    match text {
        [b'-', digits @ ..] => 0i64.checked_sub_unsigned(natural(digits)?),
        _ => i64::try_from(natural(text)?).ok(),
    }
}

#[inline]
fn natural(digits: &[u8]) -> Option<u64> {
    // 19 digits fit u64.
    if digits.is_empty() || digits.len() > 19 {
        return None;
    }
    let mut value = 0;
    for &byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + u64::from(digit);
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MAX: usize = 1000;

    fn check(input: &[u8], expected: Parsed, words: &[&[u8]]) {
        let mut args = Vec::new();
        assert_eq!(parse(input, MAX, &mut args), expected, "{}", input.escape_ascii());
        if matches!(expected, Parsed::Request(_)) {
            assert_eq!(args, words);
        }
    }

    fn line(len: usize, words: &[&str]) -> Parsed {
        Parsed::Line(len, words.iter().map(|word| word.as_bytes().to_vec()).collect())
    }

    #[test]
    fn requests() {
        check(b"", Parsed::Partial(0), &[]);
        check(b"*1\r\n$4\r\nPING\r\n", Parsed::Request(14), &[b"PING"]);
        check(b"*2\r\n$4\r\nECHO\r\n:-12\r\nX", Parsed::Request(20), &[b"ECHO", b"-12"]);
        check(b"*2\r\n$1\r\na\r\n$0\r\n\r\n", Parsed::Request(17), &[b"a", b""]);
        check(b"*0\r\n", Parsed::Request(4), &[]);
        check(b"*-1\r\n", Parsed::Request(5), &[]);
        check(b"PING\r\n*1", line(6, &["PING"]), &[]);
        check(b"  throttle  k 1 \n", line(17, &["throttle", "k", "1"]), &[]);
        check(b"\r\n", line(2, &[]), &[]);
        check(b"PI", Parsed::Partial(0), &[]);
    }

    #[test]
    fn a_payload_may_be_long() {
        let long = [b'x'; 900];
        let whole = [&b"*2\r\n$7\r\nENQUEUE\r\n$900\r\n"[..], &long, b"\r\n"].concat();
        check(&whole, Parsed::Request(whole.len()), &[b"ENQUEUE", &long]);
        for end in 0..whole.len() {
            check(&whole[..end], Parsed::Partial(0), &[]);
        }
        let wrong = [&b"*1\r\n$900\r\n"[..], &long, b"--"].concat();
        check(&wrong, Parsed::Broken("expected a line end after a bulk string"), &[]);
        check(b"*1\r\n$0001\r\nx\r\n", Parsed::Request(14), &[b"x"]);
    }

    #[test]
    fn one_of_very_many_arguments_is_looked_at_seldom() {
        let words: Vec<String> =
            (0..10_000).map(|n| format!("${}\r\n{n}\r\n", n.to_string().len())).collect();
        let whole = format!("*{}\r\n{}", words.len(), words.concat()).into_bytes();
        let (mut end, mut looks) = (0, 0);
        loop {
            looks += 1;
            match parse(&whole[..end], usize::MAX, &mut Vec::new()) {
                Parsed::Partial(least) => end = least.max(end + 1),
                parsed => break assert_eq!(parsed, Parsed::Request(whole.len())),
            }
        }
        // Those of the few at its start among them, which cost little.
        assert!(looks < FEW_ARGS * 12, "{looks}");
        let begun = &whole[..whole.len() / 2];
        assert!(
            matches!(parse(begun, usize::MAX, &mut Vec::new()), Parsed::Partial(least) if least > begun.len())
        );
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        check(b"*x\r\n", Parsed::Broken("invalid length"), &[]);
        check(b"*131073\r\n", Parsed::Broken("invalid multibulk length"), &[]);
        check(b"*1\r\n$-1\r\n", Parsed::Broken("invalid bulk length"), &[]);
        check(b"*1\r\n+OK\r\n", Parsed::Broken("expected '$' or ':' before an argument"), &[]);
        check(b"*1\r\n$1\r\nabc", Parsed::Broken("expected a line end after a bulk string"), &[]);
        check(b"*1\r\n$99999999999999999999999", Parsed::Broken("invalid length"), &[]);
        check(b"*1\r\n$9223372036854775807\r\n", Parsed::TooLarge, &[]);
        check(b"*1\r\n$1001\r\n", Parsed::TooLarge, &[]);
        check(&[b'x'; MAX + 1], Parsed::TooLarge, &[]);
        let many = b"$90\r\n".iter().copied().chain([b'x'; 90]).chain(*b"\r\n").collect::<Vec<u8>>();
        check(&[b"*11\r\n".as_slice(), &many.repeat(11)].concat(), Parsed::TooLarge, &[]);
        check(b"GET \"a\r\n", Parsed::Broken("unbalanced quotes in request"), &[]);
    }

    #[test]
    fn integers() {
        assert_eq!(integer(b"9223372036854775807"), Some(i64::MAX));
        assert_eq!(integer(b"-9223372036854775808"), Some(i64::MIN));
        let wrong: [&[u8]; 8] =
            [b"", b"-", b"+1", b" 1", b"1 ", b"9223372036854775808", b"1e3", b"99999999999999999999"];
        assert!(wrong.iter().all(|text| integer(text).is_none()));
    }

    proptest! {
        #[test]
        fn any_bytes_get_an_answer(input in prop::collection::vec(any::<u8>(), 0..200)) {
            parse(&input, MAX, &mut Vec::new());
        }

        #[test]
        fn a_request_is_partial_until_its_last_byte(words in prop::collection::vec(".{0,12}", 1..6)) {
            let mut input = format!("*{}\r\n", words.len()).into_bytes();
            for word in &words {
                input.extend(format!("${}\r\n{word}\r\n", word.len()).into_bytes());
            }
            for end in 0..input.len() {
                prop_assert_eq!(parse(&input[..end], MAX, &mut Vec::new()), Parsed::Partial(0));
            }
            let mut args = Vec::new();
            prop_assert_eq!(parse(&input, MAX, &mut args), Parsed::Request(input.len()));
            prop_assert!(args.iter().zip(&words).all(|(arg, word)| *arg == word.as_bytes()));
        }
    }
}
