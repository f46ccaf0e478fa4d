//! Ids and receipts, and their text: `0192f3c4a1b20001-1`.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

const ID_DIGITS: usize = 16;
/// A delivery has ten digits at most.
const RECEIPT_BYTES: usize = ID_DIGITS + 1 + 10;

/// The id of a message. Later messages of a server have greater ids. Its text is 16 hexadecimal digits.
///
/// ```
/// let id: tidegate_client::MessageId = "0192f3c4a1b20001".parse()?;
/// assert_eq!(id.to_string(), "0192f3c4a1b20001");
/// # Ok::<(), tidegate_client::Malformed>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(pub u64);

/// What a delivery is answered by: the message, and which delivery of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Receipt {
    /// The message.
    pub id: MessageId,
    /// 1 for its first delivery.
    pub delivery: u32,
}

/// A text that is no id and no receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an id is 16 hexadecimal digits, a receipt an id, '-' and a number: 0192f3c4a1b20001-1")]
pub struct Malformed;

impl MessageId {
    /// When the message was enqueued, to the millisecond.
    pub fn enqueued_at(self) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(self.0 >> 16)
    }

    /// Reads the digits.
    pub(crate) fn from_hex(text: &[u8]) -> Option<MessageId> {
        if text.len() != ID_DIGITS {
            return None;
        }
        let digit = |digit: u8| match digit {
            b'0'..=b'9' => Some(digit - b'0'),
            b'a'..=b'f' => Some(digit - b'a' + 10),
            _ => None,
        };
        text.iter().try_fold(0, |id, &byte| Some(id << 4 | u64::from(digit(byte)?))).map(MessageId)
    }
}

impl Receipt {
    /// Reads the text.
    pub(crate) fn from_text(text: &[u8]) -> Option<Receipt> {
        let (id, rest) = text.split_at_checked(ID_DIGITS)?;
        let digits = rest.strip_prefix(b"-")?;
        // `parse` would take a sign too.
        if !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let delivery = std::str::from_utf8(digits).ok()?.parse().ok()?;
        Some(Receipt { id: MessageId::from_hex(id)?, delivery })
    }
}

/// The text of a receipt, written without a detour.
#[derive(Debug)]
pub(crate) struct ReceiptText {
    bytes: [u8; RECEIPT_BYTES],
    len: usize,
}

impl ReceiptText {
    pub(crate) fn new(receipt: Receipt) -> ReceiptText {
        let mut bytes = [b'-'; RECEIPT_BYTES];
        for (at, digit) in bytes[..ID_DIGITS].iter_mut().enumerate() {
            *digit = b"0123456789abcdef"[(receipt.id.0 >> (60 - 4 * at)) as usize & 0xf];
        }
        let mut digits = itoa::Buffer::new();
        let digits = digits.format(receipt.delivery).as_bytes();
        let len = ID_DIGITS + 1 + digits.len();
        bytes[ID_DIGITS + 1..len].copy_from_slice(digits);
        ReceiptText { bytes, len }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Display for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.id, self.delivery)
    }
}

impl FromStr for MessageId {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<MessageId, Malformed> {
        MessageId::from_hex(text.as_bytes()).ok_or(Malformed)
    }
}

impl FromStr for Receipt {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Receipt, Malformed> {
        Receipt::from_text(text.as_bytes()).ok_or(Malformed)
    }
}

impl Serialize for MessageId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for Receipt {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for MessageId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<MessageId, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Receipt {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Receipt, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receipts_survive_their_text() {
        for (id, delivery) in [(0, 0), (0x0192_f3c4_a1b2_0001, 1), (u64::MAX, u32::MAX)] {
            let receipt = Receipt { id: MessageId(id), delivery };
            assert_eq!(receipt.to_string().parse(), Ok(receipt));
            assert_eq!(ReceiptText::new(receipt).as_bytes(), receipt.to_string().as_bytes());
            assert_eq!(receipt.id.to_string().parse(), Ok(receipt.id));
        }
    }

    #[test]
    fn other_texts_are_none() {
        for text in ["", "0192f3c4a1b20001", "0192f3c4a1b20001-", "0192f3c4a1b20001-+1", "0192F3C4A1B20001-1"]
        {
            assert_eq!(text.parse::<Receipt>(), Err(Malformed), "{text}");
        }
        assert_eq!("192f3c4a1b20001".parse::<MessageId>(), Err(Malformed));
        assert_eq!("0192f3c4a1b20001-4294967296".parse::<Receipt>(), Err(Malformed));
    }

    #[test]
    fn an_id_tells_when() {
        let id = MessageId(1_700_000_000_123 << 16 | 7);
        assert_eq!(id.enqueued_at(), UNIX_EPOCH + Duration::from_millis(1_700_000_000_123));
    }
}
