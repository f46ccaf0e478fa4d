//! Named limits: what throttle keys are held to, for both doors.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::document::read;
use crate::resp::Frame;
use crate::resp::command::words;
use crate::{Client, Decision, Error, Limit};

/// The named limits of the namespace: [`Client::limits`].
///
/// ```no_run
/// # async fn run(client: tidegate_client::Client) -> Result<(), tidegate_client::Error> {
/// use tidegate_client::Limit;
///
/// // No more than 100 a second, over all queues whose messages name it.
/// client.limits().set("provider:ses", Limit::per_second(100)).await?;
/// // Calls that go past the queues can draw on it too.
/// let decision = client.limits().take("provider:ses", 1).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    client: &'a Client,
}

/// A named limit, and how it is doing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitReport {
    /// The throttle key.
    pub key: String,
    /// Tokens that may be taken at once; nothing if the key has no limit and is only closed.
    #[serde(default)]
    pub burst: Option<u64>,
    /// Tokens that come back every period.
    #[serde(default)]
    pub count: Option<u64>,
    /// The period, in seconds.
    #[serde(default)]
    pub period_s: Option<f64>,
    /// Tokens that are there now; negative is debt.
    #[serde(default)]
    pub tokens: Option<i64>,
    /// Until when it is closed, in milliseconds since the epoch.
    #[serde(default)]
    pub closed_until_ms: Option<u64>,
}

#[derive(Deserialize)]
struct LimitList {
    limits: Vec<LimitReport>,
}

impl<'a> Limits<'a> {
    pub(crate) fn new(client: &'a Client) -> Limits<'a> {
        Limits { client }
    }

    /// Sets the limit of a throttle key, or changes it: tokens that are there stay, as far as the new burst allows.
    /// Messages that wait for it feel it at once.
    pub async fn set(&self, key: impl AsRef<[u8]>, limit: Limit) -> Result<LimitReport, Error> {
        let key = key.as_ref();
        let mut frame = Frame::with_room(key.len());
        frame.begin(6).part(b"LIMIT").part(b"SET").part(key);
        frame.number(limit.burst).number(limit.count).number(limit.period_s);
        read(self.client.call(frame).await?)
    }

    /// The limit of a throttle key. Refused with `limit_not_found` if there is none.
    pub async fn get(&self, key: impl AsRef<[u8]>) -> Result<LimitReport, Error> {
        read(self.client.call(words(&[b"LIMIT", b"GET", key.as_ref()])).await?)
    }

    /// All limits, by key.
    pub async fn list(&self) -> Result<Vec<LimitReport>, Error> {
        read(self.client.call(words(&[b"LIMIT", b"LIST"])).await?).map(|LimitList { limits }| limits)
    }

    /// Removes the limit of a throttle key: what waits for it passes.
    pub async fn remove(&self, key: impl AsRef<[u8]>) -> Result<(), Error> {
        self.client.call(words(&[b"LIMIT", b"DEL", key.as_ref()])).await.map(drop)
    }

    /// Takes `quantity` tokens, all or none, if they are there.
    pub async fn take(&self, key: impl AsRef<[u8]>, quantity: u64) -> Result<Decision, Error> {
        let key = key.as_ref();
        let mut frame = Frame::with_room(key.len());
        frame.begin(4).part(b"LIMIT").part(b"TAKE").part(key).number(quantity);
        self.client.call(frame).await.and_then(Decision::from_reply)
    }

    /// Leaves a throttle key alone for so long: nothing is taken, and no message that needs it is delivered.
    pub async fn close(&self, key: impl AsRef<[u8]>, retry_after: Duration) -> Result<LimitReport, Error> {
        let key = key.as_ref();
        let mut frame = Frame::with_room(key.len());
        let retry_after_ms = u64::try_from(retry_after.as_millis()).unwrap_or(u64::MAX);
        frame.begin(4).part(b"LIMIT").part(b"CLOSE").part(key).number(retry_after_ms);
        read(self.client.call(frame).await?)
    }
}
