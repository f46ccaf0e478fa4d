//! A line of words, as somebody types it into telnet: `THROTTLE "user 42" 10 60 60`.

use super::parse::MAX_ARGS;

/// Splits a line at white space, with Redis's two kinds of quotes, as far as one word more than there may be. `None` if a quote
/// is left open.
pub fn words(line: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut words = Vec::new();
    let mut rest = line.trim_ascii_start();
    while !rest.is_empty() && words.len() <= MAX_ARGS {
        let (word, after) = word(rest)?;
        words.push(word);
        rest = after.trim_ascii_start();
    }
    Some(words)
}

fn word(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    match text[0] {
        quote @ (b'"' | b'\'') => quoted(&text[1..], quote),
        _ => {
            let end = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
            Some((text[..end].to_vec(), &text[end..]))
        }
    }
}

fn quoted(text: &[u8], quote: u8) -> Option<(Vec<u8>, &[u8])> {
    let mut word = Vec::new();
    let mut at = 0;
    loop {
        match (*text.get(at)?, text.get(at + 1)) {
            (byte, after) if byte == quote => {
                let closed = after.is_none_or(u8::is_ascii_whitespace);
                return closed.then_some((word, &text[at + 1..]));
            }
            (b'\\', Some(&escaped)) if quote == b'"' => {
                let (byte, len) = unescape(&text[at + 1..], escaped);
                word.push(byte);
                at += len;
            }
            (b'\\', Some(b'\'')) => {
                word.push(b'\'');
                at += 1;
            }
            (byte, _) => word.push(byte),
        }
        at += 1;
    }
}

/// The byte that an escape stands for, and how many bytes of text it took after the backslash.
fn unescape(text: &[u8], escaped: u8) -> (u8, usize) {
    let hex = |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
    match (escaped, text.get(1..3).and_then(hex)) {
        (b'x', Some(byte)) => (byte, 3),
        (b'n', _) => (b'\n', 1),
        (b'r', _) => (b'\r', 1),
        (b't', _) => (b'\t', 1),
        (other, _) => (other, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Option<&[&[u8]]>) {
        let got = words(line.as_bytes());
        let got = got.as_ref().map(|words| words.iter().map(Vec::as_slice).collect::<Vec<&[u8]>>());
        assert_eq!(got.as_deref(), expected, "{line}");
    }

    #[test]
    fn words_and_quotes() {
        check(r#"PING  "a b" 'c\'d' e"#, Some(&[b"PING", b"a b", b"c'd", b"e"]));
        check(r#""\x41\n\"\\""#, Some(&[b"A\n\"\\"]));
        check(r#""open"#, None);
        check(r#""a"b"#, None);
        check("", Some(&[]));
    }
}
