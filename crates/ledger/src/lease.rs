//! A lease as callers see it.

use std::sync::Arc;

use tidegate_core::Nanos;

use crate::settings::OnExpiry;
use crate::space::SpaceId;
use crate::status::Kind;

/// Names a lease. Ids rise with time, also over restarts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LeaseId(pub u64);

impl std::fmt::Display for LeaseId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Not 16 hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a lease id has 16 hex digits")]
pub struct InvalidLeaseId;

impl std::str::FromStr for LeaseId {
    type Err = InvalidLeaseId;

    fn from_str(text: &str) -> Result<LeaseId, InvalidLeaseId> {
        let sound = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        u64::from_str_radix(text, 16).ok().filter(|_| sound).map(LeaseId).ok_or(InvalidLeaseId)
    }
}

/// What a caller wants of a lease. Unsaid is as the system has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeaseTerms {
    /// For how long.
    pub ttl_ns: Option<u64>,
    /// What becomes of its tokens when it expires.
    pub on_expiry: Option<OnExpiry>,
}

/// A lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseView {
    /// Its id.
    pub id: LeaseId,
    /// Where.
    pub space: SpaceId,
    /// Since when.
    pub taken_at: Nanos,
    /// Until when.
    pub expires_at: Nanos,
    /// What becomes of its tokens then.
    pub on_expiry: OnExpiry,
    /// What it holds.
    pub held: Vec<LeaseHeld>,
}

/// What a lease holds of one limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseHeld {
    /// Whose.
    pub entity: Arc<[u8]>,
    /// For what.
    pub resource: Arc<str>,
    /// Which limit.
    pub limit: Arc<str>,
    /// What it bounds.
    pub kind: Kind,
    /// How much.
    pub amount: u64,
    /// Whether it was only counted: the entity was bypassed.
    pub bypassed: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_as_it_is_written() {
        let id = LeaseId(0x18_f3a0_0000_0001);
        assert_eq!(id.to_string().parse(), Ok(id));
        for text in ["", "18", "+8f3a00000000018", "18f3a0000000000g", "018f3a00000000001"] {
            assert_eq!(text.parse::<LeaseId>(), Err(InvalidLeaseId));
        }
    }
}
