//! Receipts and message ids as text: `0192f3c4a1b20001-1`.

use std::fmt::{self, Display};

use tidegate_core::queue::{MessageId, Receipt};

use crate::api::Refusal;

const ID_DIGITS: usize = 16;

/// A message id as text.
#[derive(Clone, Copy, Debug)]
pub struct IdText(pub MessageId);

impl Display for IdText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0.0)
    }
}

/// A receipt as text.
#[derive(Clone, Copy, Debug)]
pub struct ReceiptText(pub Receipt);

impl Display for ReceiptText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", IdText(self.0.id), self.0.delivery)
    }
}

/// An id in the 16 digits that go over the wire, without a detour.
pub fn id_digits(id: MessageId) -> [u8; ID_DIGITS] {
    digits_of(id.0)
}

/// A number in 16 digits.
pub fn digits_of(number: u64) -> [u8; ID_DIGITS] {
    let mut digits = [0; ID_DIGITS];
    for (at, digit) in digits.iter_mut().enumerate() {
        *digit = b"0123456789abcdef"[(number >> (60 - 4 * at)) as usize & 0xF];
    }
    digits
}

/// The number that 16 digits are.
pub fn number_of(digits: &[u8]) -> Option<u64> {
    let digits: &[u8; ID_DIGITS] = digits.try_into().ok()?;
    digits.iter().try_fold(0, |number, &digit| match digit {
        b'0'..=b'9' => Some(number << 4 | u64::from(digit - b'0')),
        b'a'..=b'f' => Some(number << 4 | u64::from(digit - b'a' + 10)),
        _ => None,
    })
}

/// The digits of an id, a mark, and those of the largest delivery.
const RECEIPT_BYTES: usize = ID_DIGITS + 1 + 10;

/// A receipt as it goes over the wire, without a detour.
pub struct ReceiptDigits {
    bytes: [u8; RECEIPT_BYTES],
    len: usize,
}

impl ReceiptDigits {
    /// Of this receipt.
    pub fn of(receipt: Receipt) -> ReceiptDigits {
        let mut number = itoa::Buffer::new();
        let number = number.format(receipt.delivery).as_bytes();
        let mut bytes = [b'-'; RECEIPT_BYTES];
        bytes[..ID_DIGITS].copy_from_slice(&id_digits(receipt.id));
        bytes[ID_DIGITS + 1..][..number.len()].copy_from_slice(number);
        ReceiptDigits { bytes, len: ID_DIGITS + 1 + number.len() }
    }

    /// The text.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// When a message came in, in milliseconds since the epoch.
pub fn enqueued_at_ms(id: MessageId) -> u64 {
    id.0 >> 16
}

/// Reads the id of a message.
pub fn parse_id(text: &[u8]) -> Result<MessageId, Refusal> {
    number_of(text).map(MessageId).ok_or_else(|| Refusal::invalid_message_id(text))
}

/// Reads a receipt.
pub fn parse(text: &[u8]) -> Result<Receipt, Refusal> {
    read(text).ok_or_else(|| Refusal::invalid_receipt(text))
}

fn read(text: &[u8]) -> Option<Receipt> {
    let (id, rest) = text.split_at_checked(ID_DIGITS)?;
    let number = rest.strip_prefix(b"-")?;
    let id = number_of(id)?;
    if !number.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let delivery = std::str::from_utf8(number).ok()?.parse().ok()?;
    Some(Receipt { id: MessageId(id), delivery })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receipt_is_read_as_it_was_written() {
        let receipt = Receipt { id: MessageId(0x0192_f3c4_a1b2_0001), delivery: 7 };
        let text = ReceiptText(receipt).to_string();
        assert_eq!(text, "0192f3c4a1b20001-7");
        assert_eq!(read(text.as_bytes()), Some(receipt));
        assert_eq!(id_digits(receipt.id), *b"0192f3c4a1b20001");
        assert_eq!(ReceiptDigits::of(receipt).as_bytes(), b"0192f3c4a1b20001-7");
        let longest = Receipt { delivery: u32::MAX, ..receipt };
        assert_eq!(ReceiptDigits::of(longest).as_bytes(), b"0192f3c4a1b20001-4294967295");
    }

    #[test]
    fn what_is_no_receipt_is_refused() {
        let wrong: [&[u8]; 7] = [
            b"",
            b"0192f3c4a1b20001",
            b"0192f3c4a1b20001-",
            b"0192f3c4a1b20001-x",
            b"0192f3c4a1b20001-+1",
            b"0192F3C4A1B20001-1",
            b"0192f3c4a1b20001-4294967296",
        ];
        for text in wrong {
            assert!(parse(text).is_err(), "{}", text.escape_ascii());
        }
    }
}
