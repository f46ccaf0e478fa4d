//! The id of a lease: 16 hexadecimal digits.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::queue::MessageId;

/// The id of a lease. Its text is 16 hexadecimal digits.
///
/// ```
/// let id: tidegate_client::LeaseId = "0192f3c4a1b20001".parse()?;
/// assert_eq!(id.to_string(), "0192f3c4a1b20001");
/// # Ok::<(), tidegate_client::NoLease>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseId(pub u64);

/// A text that is no id of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the id of a lease is 16 hexadecimal digits: 0192f3c4a1b20001")]
pub struct NoLease;

impl LeaseId {
    pub(super) fn from_hex(text: &[u8]) -> Option<LeaseId> {
        MessageId::from_hex(text).map(|MessageId(digits)| LeaseId(digits))
    }
}

impl fmt::Display for LeaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for LeaseId {
    type Err = NoLease;

    fn from_str(text: &str) -> Result<LeaseId, NoLease> {
        LeaseId::from_hex(text.as_bytes()).ok_or(NoLease)
    }
}

impl Serialize for LeaseId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for LeaseId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LeaseId, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}
