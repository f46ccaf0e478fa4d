//! What a queue, a message, a delivery of it, a consumer and a limit are called inside one server.

use std::fmt;
use std::str::FromStr;

/// A queue. Given by whoever keeps the catalog, and never reused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueId(pub u32);

/// A subscription to one queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConsumerId(pub u32);

/// A bucket that a message may be charged to: a small number for this run, in place of its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LimitId(pub u32);

/// A message: milliseconds since the epoch, then a counter of 16 bits. Strictly increasing on one server, so
/// order of ids is order of arrival.
///
/// Its text is 16 lowercase hex digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(pub u64);

impl MessageId {
    /// When it was enqueued.
    pub fn millis(self) -> u64 {
        self.0 >> 16
    }
}

/// Where the record of a message is kept. Only `len` means something here: it counts against a queue's bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The journal segment.
    pub segment: u32,
    /// The first byte in it.
    pub offset: u32,
    /// How many bytes.
    pub len: u32,
}

/// One delivery of a message: what a consumer shows to settle it.
///
/// Its text is `<message id>-<delivery>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Receipt {
    /// The message.
    pub id: MessageId,
    /// The number of the delivery: 1 on the first, and higher in later runs of the server, for no receipt is given out
    /// twice.
    pub delivery: u32,
}

/// Text that is no message id, or no receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message id is 16 lowercase hex digits; a receipt is that, a dash and a number from 1")
    }
}

impl std::error::Error for Malformed {}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for MessageId {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<MessageId, Malformed> {
        let plain = text.len() == 16 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if !plain {
            return Err(Malformed);
        }
        u64::from_str_radix(text, 16).map(MessageId).map_err(|_| Malformed)
    }
}

impl fmt::Display for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.id, self.delivery)
    }
}

impl FromStr for Receipt {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Receipt, Malformed> {
        let (id, delivery) = text.split_once('-').ok_or(Malformed)?;
        // One text per receipt: no sign, no leading zero.
        if !delivery.starts_with(|c: char| matches!(c, '1'..='9')) {
            return Err(Malformed);
        }
        Ok(Receipt { id: id.parse()?, delivery: delivery.parse().map_err(|_| Malformed)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_goes_both_ways() {
        let receipt = Receipt { id: MessageId(0x0192_f3c4_a1b2_0001), delivery: 1 };
        assert_eq!(receipt.to_string(), "0192f3c4a1b20001-1");
        assert_eq!("0192f3c4a1b20001-1".parse(), Ok(receipt));
        assert_eq!("0000000000000000-4294967295".parse::<Receipt>().unwrap().delivery, u32::MAX);
        assert_eq!(receipt.id.millis(), 0x0192_f3c4_a1b2);
    }

    #[test]
    fn nothing_else_is_a_receipt() {
        for text in [
            "",
            "-",
            "0192f3c4a1b20001",
            "0192f3c4a1b20001-",
            "0192f3c4a1b20001-0",
            "0192f3c4a1b20001-01",
            "0192f3c4a1b20001-+1",
            "0192f3c4a1b20001-1 ",
            "0192f3c4a1b20001-4294967296",
            "0192F3C4A1B20001-1",
            "+192f3c4a1b20001-1",
            "192f3c4a1b20001-1",
            "é192f3c4a1b2001-1",
        ] {
            assert_eq!(text.parse::<Receipt>(), Err(Malformed), "{text:?}");
        }
    }
}
