//! What came of an acquire.

use std::time::{Duration, UNIX_EPOCH};

use super::lease::{Lease, Manner};
use super::lease_id::LeaseId;
use super::status::Status;
use crate::resp::{Cursor, Item, Stop, input};
use crate::{Client, Error};

/// What came of an acquire. A denial is an answer, not an error.
#[derive(Debug)]
#[must_use = "a lease that is dropped gives everything back"]
pub enum Acquired {
    /// All of it was taken.
    Granted(Lease),
    /// None of it was taken.
    Denied(Denied),
}

/// Why nothing was taken, and when it could be.
#[derive(Clone, Debug, PartialEq)]
pub struct Denied {
    /// How long to wait before the next try. `None` if nobody knows: until somebody gives a slot back, for example.
    pub retry_after: Option<Duration>,
    /// Every limit that was asked, also those that would have passed. Empty if the acquire was quiet.
    pub statuses: Vec<Status>,
}

impl Denied {
    /// The limits that were short.
    pub fn exceeded(&self) -> impl Iterator<Item = &Status> {
        self.statuses.iter().filter(|status| status.exceeded && !status.soft)
    }
}

impl Acquired {
    /// Whether it was taken.
    pub fn is_granted(&self) -> bool {
        matches!(self, Acquired::Granted(_))
    }

    /// The lease, if it was granted.
    pub fn granted(self) -> Result<Lease, Denied> {
        match self {
            Acquired::Granted(lease) => Ok(lease),
            Acquired::Denied(denied) => Err(denied),
        }
    }

    /// Every limit that was asked.
    pub fn statuses(&self) -> &[Status] {
        match self {
            Acquired::Granted(lease) => lease.statuses(),
            Acquired::Denied(denied) => &denied.statuses,
        }
    }

    /// `[granted, lease, retry_after_ms, expires_at_ms, statuses]`, or a refusal. The lease is the client's to end.
    pub(crate) fn read(cursor: &mut Cursor<'_>, client: &Client) -> Result<Acquired, Error> {
        match cursor.item().map_err(input::malformed)? {
            Item::Array(len @ 4..) => parts(cursor, len, client).map_err(input::malformed),
            Item::Error(text) => Err(Error::refused(&String::from_utf8_lossy(text))),
            _ => Err(Error::protocol(NO_ACQUIRED)),
        }
    }
}

const NO_ACQUIRED: &str = "an acquire is answered by an array of five";

fn parts(cursor: &mut Cursor<'_>, len: usize, client: &Client) -> Result<Acquired, Stop> {
    let granted = integer(cursor)?;
    let manner = match granted {
        3 => Manner::Degraded,
        2 => Manner::Bypassed,
        _ => Manner::Taken,
    };
    let id = match cursor.item()? {
        Item::Null => None,
        Item::Bulk(text) | Item::Simple(text) => {
            Some(LeaseId::from_hex(text).ok_or(Stop::Malformed(NO_ACQUIRED))?)
        }
        _ => return Err(Stop::Malformed(NO_ACQUIRED)),
    };
    let retry_after_ms = integer(cursor)?;
    let expires_at_ms = match cursor.item()? {
        Item::Integer(ms) => u64::try_from(ms).ok().filter(|ms| *ms > 0),
        Item::Null => None,
        _ => return Err(Stop::Malformed(NO_ACQUIRED)),
    };
    // From here on the guard knows the lease: whatever else cannot be read, it is given back.
    let expires_at = expires_at_ms.map(|ms| UNIX_EPOCH + Duration::from_millis(ms));
    let lease = (granted != 0).then(|| Lease::new(client.clone(), id, expires_at));
    let statuses = if len > 4 { statuses(cursor)? } else { Vec::new() };
    Ok(match lease {
        Some(lease) => Acquired::Granted(lease.with(manner, statuses)),
        None => {
            let retry_after = u64::try_from(retry_after_ms).ok().map(Duration::from_millis);
            Acquired::Denied(Denied { retry_after, statuses })
        }
    })
}

fn statuses(cursor: &mut Cursor<'_>) -> Result<Vec<Status>, Stop> {
    match cursor.item()? {
        Item::Array(len) => (0..len).map(|_| Status::read(cursor)).collect(),
        Item::Null => Ok(Vec::new()),
        _ => Err(Stop::Malformed(NO_ACQUIRED)),
    }
}

pub(super) fn integer(cursor: &mut Cursor<'_>) -> Result<i64, Stop> {
    match cursor.item()? {
        Item::Integer(number) => Ok(number),
        _ => Err(Stop::Malformed("a number of an acquire that is none")),
    }
}
