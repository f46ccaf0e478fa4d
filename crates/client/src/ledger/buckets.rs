//! What is left of limits, and how it is put right by hand.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::status::{Kind, Status, as_ms, from_ms};
use crate::document::read;
use crate::queue::millis;
use crate::resp::Frame;
use crate::resp::command::words;
use crate::{Client, Error};

/// What is left of limits: [`Client::buckets`].
#[derive(Clone, Copy, Debug)]
pub struct Buckets<'a> {
    client: &'a Client,
}

/// Whether something would pass. Nothing was taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Availability {
    /// Whether it would pass now.
    pub allowed: bool,
    /// When it would: the time until it is available. `None` if nobody knows.
    #[serde(rename = "retry_after_ms", default, serialize_with = "as_ms", deserialize_with = "from_ms")]
    pub retry_after: Option<Duration>,
    /// Every limit that was looked at.
    pub statuses: Vec<Status>,
}

/// What all entities have of a resource.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Capacity {
    /// The resource.
    pub resource: String,
    /// Its limits.
    pub limits: Vec<LimitCapacity>,
}

/// What all entities have of one limit of a resource.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitCapacity {
    /// The limit.
    pub limit: String,
    /// What it bounds.
    pub kind: Kind,
    /// The most that could be there, over all of them.
    pub capacity: u64,
    /// What is there.
    pub available: i64,
    /// How many entities have it.
    pub entities: u64,
}

#[derive(Deserialize)]
struct Closed {
    closed_until_ms: u64,
}

#[derive(Deserialize)]
struct Statuses {
    statuses: Vec<Status>,
}

impl Client {
    /// What is left of limits, and the ways to change that by hand.
    pub fn buckets(&self) -> Buckets<'_> {
        Buckets { client: self }
    }
}

impl Buckets<'_> {
    /// What an entity has left on a resource, and whether this cost would pass. Nothing is taken.
    pub async fn available<L: AsRef<str>>(
        &self,
        entity: &str,
        resource: &str,
        cost: impl IntoIterator<Item = (L, u64)>,
    ) -> Result<Availability, Error> {
        read(self.client.call(with_amounts(&[b"AVAILABLE"], entity, resource, cost, None)).await?)
    }

    /// What all entities together have left of a resource.
    pub async fn capacity(&self, resource: &str) -> Result<Capacity, Error> {
        read(self.client.call(words(&[b"CAPACITY", resource.as_bytes()])).await?)
    }

    /// Fills the buckets of some limits of an entity on a resource, or of all if none is named. With an idempotency key,
    /// a second call with the same key does nothing.
    pub async fn reset(
        &self,
        entity: &str,
        resource: &str,
        limits: &[&str],
        key: Option<&str>,
    ) -> Result<Vec<Status>, Error> {
        let mut frame = Frame::with_room(entity.len() + resource.len());
        frame.begin(4 + limits.len() + 2 * usize::from(key.is_some())).part(b"BUCKET").part(b"RESET");
        frame.part(entity.as_bytes()).part(resource.as_bytes());
        for limit in limits {
            frame.part(limit.as_bytes());
        }
        if let Some(key) = key {
            frame.part(b"KEY").part(key.as_bytes());
        }
        read(self.client.call(frame).await?).map(|Statuses { statuses }| statuses)
    }

    /// Adds tokens to buckets, at most to their burst. With an idempotency key, a second call with the same key does
    /// nothing.
    pub async fn top_up<L: AsRef<str>>(
        &self,
        entity: &str,
        resource: &str,
        amounts: impl IntoIterator<Item = (L, u64)>,
        key: Option<&str>,
    ) -> Result<Vec<Status>, Error> {
        let frame = with_amounts(&[b"BUCKET", b"TOPUP"], entity, resource, amounts, key);
        read(self.client.call(frame).await?).map(|Statuses { statuses }| statuses)
    }

    /// Nobody takes anything of this entity on this resource for so long. Says until when, by the server's clock: if it
    /// was closed for longer already, that stays.
    pub async fn close(
        &self,
        entity: &str,
        resource: &str,
        retry_after: Duration,
    ) -> Result<SystemTime, Error> {
        let mut frame = Frame::with_room(entity.len() + resource.len());
        frame.begin(5).part(b"BUCKET").part(b"CLOSE").part(entity.as_bytes()).part(resource.as_bytes());
        frame.number(millis(retry_after));
        let Closed { closed_until_ms } = read(self.client.call(frame).await?)?;
        Ok(UNIX_EPOCH + Duration::from_millis(closed_until_ms))
    }
}

/// `command entity resource limit amount ... [KEY key]`
fn with_amounts<L: AsRef<str>>(
    command: &[&[u8]],
    entity: &str,
    resource: &str,
    amounts: impl IntoIterator<Item = (L, u64)>,
    key: Option<&str>,
) -> Frame {
    let amounts: Vec<_> = amounts.into_iter().collect();
    let mut frame = Frame::with_room(entity.len() + resource.len() + amounts.len() * 32);
    frame.begin(command.len() + 2 + 2 * amounts.len() + 2 * usize::from(key.is_some()));
    for word in command {
        frame.part(word);
    }
    frame.part(entity.as_bytes()).part(resource.as_bytes());
    for (limit, amount) in &amounts {
        frame.part(limit.as_ref().as_bytes()).number(*amount);
    }
    if let Some(key) = key {
        frame.part(b"KEY").part(key.as_bytes());
    }
    frame
}
