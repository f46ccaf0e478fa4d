//! Charges and headers of a message as one block of bytes each: built once, by whoever makes the message, and
//! copied as they are from then on.
//!
//! Numbers are LEB128. A charge is amount, length of the key, key; a header is length and name, length and value.

/// The charges of a message, encoded: (throttle key, amount) pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Charges<'a>(&'a [u8]);

/// The headers of a message, encoded: (name, value) pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Headers<'a>(&'a [u8]);

impl<'a> Charges<'a> {
    /// The block for these (throttle key, amount) pairs.
    pub fn encode<'k>(charges: impl IntoIterator<Item = (&'k [u8], u64)>) -> Vec<u8> {
        let mut block = Vec::new();
        for (key, amount) in charges {
            put_number(&mut block, amount);
            put_bytes(&mut block, key);
        }
        block
    }

    /// A block that [`encode`](Charges::encode) built. Anything else is read as far as it makes sense.
    pub fn from_encoded(block: &'a [u8]) -> Charges<'a> {
        Charges(block)
    }

    /// The block itself.
    pub fn as_encoded(self) -> &'a [u8] {
        self.0
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// The (throttle key, amount) pairs.
    pub fn iter(self) -> impl Iterator<Item = (&'a [u8], u64)> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let amount = take_number(&mut rest)?;
            Some((take_bytes(&mut rest)?, amount))
        })
    }
}

impl<'a> Headers<'a> {
    /// The block for these (name, value) pairs.
    pub fn encode<'k>(headers: impl IntoIterator<Item = (&'k [u8], &'k [u8])>) -> Vec<u8> {
        let mut block = Vec::new();
        for (name, value) in headers {
            put_bytes(&mut block, name);
            put_bytes(&mut block, value);
        }
        block
    }

    /// A block that [`encode`](Headers::encode) built. Anything else is read as far as it makes sense.
    pub fn from_encoded(block: &'a [u8]) -> Headers<'a> {
        Headers(block)
    }

    /// The block itself.
    pub fn as_encoded(self) -> &'a [u8] {
        self.0
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// The (name, value) pairs.
    pub fn iter(self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        let mut rest = self.0;
        std::iter::from_fn(move || Some((take_bytes(&mut rest)?, take_bytes(&mut rest)?)))
    }
}

fn put_number(block: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        block.push(number as u8 | 0x80);
        number >>= 7;
    }
    block.push(number as u8);
}

fn put_bytes(block: &mut Vec<u8>, bytes: &[u8]) {
    put_number(block, bytes.len() as u64);
    block.extend_from_slice(bytes);
}

fn take_number(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn take_bytes<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = take_number(rest)?;
    let (bytes, after) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    *rest = after;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn charges_are_read_back(charges in prop::collection::vec((any::<Vec<u8>>(), any::<u64>()), 0..5)) {
            let pairs: Vec<_> = charges.iter().map(|(key, amount)| (&key[..], *amount)).collect();
            let block = Charges::encode(pairs.iter().copied());
            prop_assert_eq!(Charges::from_encoded(&block).iter().collect::<Vec<_>>(), pairs);
        }

        #[test]
        fn headers_are_read_back(headers in prop::collection::vec((any::<Vec<u8>>(), any::<Vec<u8>>()), 0..5)) {
            let pairs: Vec<_> = headers.iter().map(|(name, value)| (&name[..], &value[..])).collect();
            let block = Headers::encode(pairs.iter().copied());
            prop_assert_eq!(Headers::from_encoded(&block).iter().collect::<Vec<_>>(), pairs);
        }

        #[test]
        fn any_bytes_end(block in any::<Vec<u8>>()) {
            prop_assert!(Charges::from_encoded(&block).iter().count() <= block.len());
            prop_assert!(Headers::from_encoded(&block).iter().count() <= block.len());
        }
    }
}
