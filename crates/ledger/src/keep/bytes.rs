//! Numbers and texts as bytes: seven bits a byte, the lowest first, so that most take few.

/// Writes a number.
pub(super) fn put(out: &mut Vec<u8>, mut n: u128) {
    if let Ok(mut n) = u64::try_from(n) {
        // Nearly always, and shifted in half the time.
        while n >= 0x80 {
            out.push(n as u8 | 0x80);
            n >>= 7;
        }
        return out.push(n as u8);
    }
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

/// Writes a number that may be below 0.
pub(super) fn put_signed(out: &mut Vec<u8>, n: i128) {
    put(out, ((n << 1) ^ (n >> 127)) as u128);
}

/// Writes bytes with their length.
pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len() as u128);
    out.extend_from_slice(bytes);
}

/// What is left to read.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn number<N: TryFrom<u128>>(&mut self) -> Option<N> {
        let (mut n, mut shift) = (0u128, 0);
        loop {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            let bits = u128::from(byte & 0x7f);
            if shift >= 128 || bits << shift >> shift != bits {
                return None;
            }
            n |= bits << shift;
            if byte & 0x80 == 0 {
                return N::try_from(n).ok();
            }
            shift += 7;
        }
    }

    pub(super) fn signed<N: TryFrom<i128>>(&mut self) -> Option<N> {
        let n: u128 = self.number()?;
        N::try_from((n >> 1) as i128 ^ -((n & 1) as i128)).ok()
    }

    pub(super) fn bytes(&mut self) -> Option<&'a [u8]> {
        let len: usize = self.number()?;
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(bytes)
    }

    pub(super) fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    pub(super) fn end(&self) -> Option<()> {
        self.0.is_empty().then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut out = Vec::new();
        let numbers = [0, 1, 127, 128, 300, u128::from(u64::MAX), u128::MAX];
        let signed = [0, -1, 1, i128::from(i64::MIN), i128::MAX, i128::MIN];
        numbers.iter().for_each(|n| put(&mut out, *n));
        signed.iter().for_each(|n| put_signed(&mut out, *n));
        put_bytes(&mut out, b"acme");
        let mut reader = Reader(&out);
        numbers.iter().for_each(|n| assert_eq!(reader.number(), Some(*n)));
        signed.iter().for_each(|n| assert_eq!(reader.signed(), Some(*n)));
        assert_eq!((reader.text(), reader.end()), (Some("acme"), Some(())));
    }

    #[test]
    fn what_was_not_written_is_not_read() {
        assert_eq!(Reader(&[]).number::<u64>(), None);
        assert_eq!(Reader(&[0x80]).number::<u64>(), None);
        assert_eq!(Reader(&[0xff; 30]).number::<u128>(), None);
        assert_eq!(Reader(&[0xff, 0x7f]).number::<u8>(), None);
        assert_eq!(Reader(&[5, b'a']).bytes(), None);
        assert_eq!(Reader(&[1, 0xff]).text(), None);
    }
}
