//! The encoding of AMQP 0-9-1: numbers in network order, short and long strings, frames with an end mark.

use anyhow::{Context, Result};

/// A frame that carries a method.
pub const METHOD: u8 = 1;
/// A frame that carries the head of a message.
pub const HEADER: u8 = 2;
/// A frame that carries the body of a message, or a part of it.
pub const BODY: u8 = 3;
/// What every frame ends with.
pub const END: u8 = 0xCE;

/// Appends a whole frame.
pub fn frame(out: &mut Vec<u8>, kind: u8, channel: u16, payload: &[u8]) {
    out.push(kind);
    out.extend_from_slice(&channel.to_be_bytes());
    out.extend_from_slice(&u32::try_from(payload.len()).unwrap_or(u32::MAX).to_be_bytes());
    out.extend_from_slice(payload);
    out.push(END);
}

/// The arguments of a method, as they are written.
pub struct Method(Vec<u8>);

impl Method {
    /// Without arguments so far.
    pub fn new((class, method): (u16, u16)) -> Method {
        Method([class.to_be_bytes(), method.to_be_bytes()].concat())
    }

    /// A number, or packed bits.
    pub fn bytes(mut self, bytes: &[u8]) -> Method {
        self.0.extend_from_slice(bytes);
        self
    }

    /// A short string.
    pub fn short(mut self, text: &str) -> Method {
        self.0.push(u8::try_from(text.len()).unwrap_or(u8::MAX));
        self.0.extend_from_slice(text.as_bytes());
        self
    }

    /// A long string.
    pub fn long(mut self, bytes: &[u8]) -> Method {
        self.0.extend_from_slice(&u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes());
        self.0.extend_from_slice(bytes);
        self
    }

    /// A table of strings.
    pub fn table(self, entries: &[(&str, &str)]) -> Method {
        let entry = |(name, value): &(&str, &str)| {
            Method(Vec::new()).short(name).bytes(b"S").long(value.as_bytes()).0
        };
        let table: Vec<u8> = entries.iter().flat_map(entry).collect();
        self.long(&table)
    }

    /// The bytes of the method.
    pub fn payload(&self) -> &[u8] {
        &self.0
    }
}

/// Reads the arguments of a method.
pub struct Arguments<'a>(pub &'a [u8]);

impl<'a> Arguments<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len).context("a method that ends too soon")?;
        self.0 = rest;
        Ok(taken)
    }

    /// One byte.
    pub fn u8(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    /// Two bytes.
    pub fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_be_bytes(self.take(2)?.try_into()?))
    }

    /// Four bytes.
    pub fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_be_bytes(self.take(4)?.try_into()?))
    }

    /// Eight bytes.
    pub fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_be_bytes(self.take(8)?.try_into()?))
    }

    /// A short string.
    pub fn short(&mut self) -> Result<&'a [u8]> {
        let len = self.u8()?;
        self.take(len.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        let method =
            Method::new((50, 10)).bytes(&7_u16.to_be_bytes()).short("jobs").bytes(&9_u64.to_be_bytes());
        let mut arguments = Arguments(method.payload());
        assert_eq!((arguments.u16().unwrap(), arguments.u16().unwrap()), (50, 10));
        assert_eq!(arguments.u16().unwrap(), 7);
        assert_eq!(arguments.short().unwrap(), b"jobs");
        assert_eq!(arguments.u64().unwrap(), 9);
        assert!(arguments.u8().is_err());
    }

    #[test]
    fn a_table_is_a_long_string_of_typed_entries() {
        let method = Method::new((0, 0)).table(&[("a", "bc")]);
        assert_eq!(&method.payload()[4..], b"\0\0\0\x09\x01aS\0\0\0\x02bc");
    }

    #[test]
    fn a_frame_is_framed() {
        let mut out = Vec::new();
        frame(&mut out, BODY, 1, b"xy");
        assert_eq!(out, [3, 0, 1, 0, 0, 0, 2, b'x', b'y', 0xCE]);
    }
}
