//! Ids of any bytes as the text of a key.
//!
//! An entity's id needs nothing. A throttle key is any bytes: what a key's text cannot hold, or would be read as its
//! structure (`#`), is written `%XX`. Two ids never have the same text.

use std::fmt::Write as _;

/// The longest text: with it every key stays within the 1,024 bytes of an index's sort key.
pub const MAX_BYTES: usize = 768;

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_.:@/-".contains(&byte)
}

/// An id as text.
pub fn escaped(id: &[u8]) -> String {
    let mut text = String::with_capacity(id.len());
    for byte in id {
        match is_plain(*byte) {
            true => text.push(char::from(*byte)),
            // Writing to a string does not fail.
            false => write!(text, "%{byte:02X}").unwrap_or_default(),
        }
    }
    text
}

/// The id that has this text. A text that is none is taken as it is: somebody else wrote it.
pub fn unescaped(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut id = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = (bytes[at] == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                id.push(byte);
                at += 3;
            }
            None => {
                id.push(bytes[at]);
                at += 1;
            }
        }
    }
    id
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_are_themselves_and_anything_else_is_escaped() {
        for plain in ["acme", "acme/eu:1@x.y_z-", "_default_"] {
            assert_eq!(escaped(plain.as_bytes()), plain);
        }
        assert_eq!(escaped(b"a#b%\0\xff "), "a%23b%25%00%FF%20");
        assert_eq!(unescaped("a%2"), b"a%2");
        assert_eq!(unescaped("100%"), b"100%");
    }

    proptest! {
        #[test]
        fn an_id_is_read_as_it_was_written(id in proptest::collection::vec(any::<u8>(), 0..64)) {
            let text = escaped(&id);
            prop_assert!(!text.contains('#'));
            prop_assert_eq!(unescaped(&text), id);
        }
    }
}
