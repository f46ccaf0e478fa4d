//! A request built once, in which only the digits of the key change.

/// Digits at the end of every key, as many as `redis-benchmark` writes.
const DIGITS: usize = 12;

/// The bytes of a request, and where the digits of its key are.
pub struct Template {
    bytes: Vec<u8>,
    digits_at: usize,
}

impl Template {
    /// Builds the request for a key of that length: `key:`, padding, twelve digits.
    pub fn new(key_len: usize, build: impl Fn(&str) -> Vec<u8>) -> Template {
        let key = format!("key:{:0>width$}", "", width = key_len.saturating_sub(4).max(DIGITS));
        let bytes = build(&key);
        let found = bytes.windows(key.len()).position(|window| window == key.as_bytes());
        let key_at = found.expect("a request holds its key");
        Template { digits_at: key_at + key.len() - DIGITS, bytes }
    }

    /// Appends the request for one key.
    pub fn append(&self, key: u64, out: &mut Vec<u8>) {
        let start = out.len() + self.digits_at;
        out.extend_from_slice(&self.bytes);
        let mut rest = key;
        for digit in out[start..start + DIGITS].iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_digits_change() {
        let template = Template::new(20, |key| format!("<{key}>").into_bytes());
        let mut out = b"..".to_vec();
        template.append(1_234_567, &mut out);
        template.append(8, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), "..<key:0000000001234567><key:0000000000000008>");
    }

    #[test]
    fn a_key_is_never_shorter_than_its_digits() {
        let template = Template::new(0, |key| key.as_bytes().to_vec());
        let mut out = Vec::new();
        template.append(999_999_999_999, &mut out);
        assert_eq!(out, b"key:999999999999");
    }
}
