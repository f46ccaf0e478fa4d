//! Leases by their ids, and what goes over the wire about them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::acquire::{Acquire, OnExpiry};
use super::acquired::Acquired;
use super::lease::Lease;
use super::lease_id::LeaseId;
use super::status::Kind;
use super::waiting;
use crate::call::Call;
use crate::document::read;
use crate::queue::millis;
use crate::resp::{Frame, Reply};
use crate::{Client, Error};

/// A batch is cut where it passes this many acquires: each piece is one write, and one turn of the server.
const BATCH: usize = 1024;

/// Leases by their ids: [`Client::leases`]. For leases that were [detached](Lease::detach), or belong to others.
#[derive(Clone, Copy, Debug)]
pub struct Leases<'a> {
    client: &'a Client,
}

/// A lease, and what it holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeaseReport {
    /// Its id.
    pub lease: LeaseId,
    /// When it expires, in milliseconds since the epoch.
    pub expires_at_ms: u64,
    /// What becomes of its tokens then.
    pub on_expiry: OnExpiry,
    /// What it holds.
    pub holds: Vec<Hold>,
}

/// What a lease holds of one limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hold {
    /// The entity.
    pub entity: String,
    /// The resource.
    pub resource: String,
    /// The limit.
    pub limit: String,
    /// What it bounds.
    pub kind: Kind,
    /// How much.
    pub amount: i64,
}

/// Some leases, and where the next ones begin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeasePage {
    /// The leases, by id.
    pub leases: Vec<LeaseReport>,
    /// What to continue [after](Leases::list); nothing if these were all.
    #[serde(default)]
    pub next: Option<LeaseId>,
}

impl LeaseReport {
    /// When it expires.
    pub fn expires_at(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(self.expires_at_ms)
    }
}

impl Client {
    /// Takes what is asked for, all or none, and gives a lease on it.
    ///
    /// ```no_run
    /// # async fn run(client: tidegate_client::Client) -> Result<(), tidegate_client::Error> {
    /// use tidegate_client::{Acquire, Acquired};
    ///
    /// // An estimate before the call, the real cost after it.
    /// if let Acquired::Granted(lease) = client.acquire(Acquire::of("acme", "gpt-4").cost("tpm", 500)).await? {
    ///     lease.adjust("tpm", 312).await?; // it turns out to be more
    ///     lease.settle([("tpm", 812)]).await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn acquire(&self, acquire: Acquire<'_>) -> Result<Acquired, Error> {
        let mut frame = Frame::with_room(acquire.size());
        acquire.write(&mut frame);
        if !acquire.waits().is_zero() {
            return waiting::acquire(self, frame, acquire.waits()).await;
        }
        let (call, answers) = Call::acquires(frame, 1, self.clone());
        let answers = self.hand_over(call, answers).await?.answer().await?;
        answers.into_iter().next().unwrap_or(Err(Error::Disconnected))
    }

    /// Acquires all of these together and gives one result for each, in the same order. Each stands alone: one that is
    /// denied does not keep the next from passing. Many go in one write. None of them waits, whatever it says.
    pub async fn acquire_batch(&self, acquires: &[Acquire<'_>]) -> Vec<Result<Acquired, Error>> {
        let mut handed = Vec::new();
        for some in acquires.chunks(BATCH) {
            let mut frame = Frame::with_room(some.iter().map(|acquire| acquire.size() + FRAMING).sum());
            for acquire in some {
                acquire.clone().wait(Duration::ZERO).write(&mut frame);
            }
            let (call, answers) = Call::acquires(frame, some.len(), self.clone());
            handed.push((some.len(), self.hand_over(call, answers).await));
        }
        let mut results = Vec::with_capacity(acquires.len());
        for (count, call) in handed {
            let answer = match call {
                Ok(call) => call.answer().await,
                Err(error) => Err(error),
            };
            match answer {
                Ok(answers) => results.extend(answers),
                Err(error) => results.extend((0..count).map(|_| Err(error.clone()))),
            }
        }
        results
    }

    /// Settles leases at their real costs, many in one write, with one result for each in the same order.
    pub async fn settle_batch<L: AsRef<str>>(
        &self,
        leases: impl IntoIterator<Item = (Lease, Vec<(L, u64)>)>,
    ) -> Vec<Result<(), Error>> {
        let handed: Vec<_> = leases
            .into_iter()
            .map(|(lease, cost)| {
                let Some(id) = lease.detach() else { return Ok(None) };
                let (call, answer) = Call::insisted(settle(id, cost));
                self.end(call, answer).map(Some)
            })
            .collect();
        let mut results = Vec::with_capacity(handed.len());
        for call in handed {
            results.push(match call {
                Ok(Some(call)) => call.answer().await.and_then(|answer| answer),
                Ok(None) => Ok(()),
                Err(error) => Err(error),
            });
        }
        results
    }

    /// Leases by their ids.
    pub fn leases(&self) -> Leases<'_> {
        Leases { client: self }
    }
}

/// Lengths and line ends of a command, beside what an acquire counts itself.
const FRAMING: usize = 32;

impl Leases<'_> {
    /// What a lease holds. Refused with `lease_not_found` if it has ended.
    pub async fn get(&self, id: LeaseId) -> Result<LeaseReport, Error> {
        let mut frame = Frame::with_room(0);
        frame.begin(3).part(b"LEASE").part(b"GET").part(id.to_string().as_bytes());
        read(self.client.call(frame).await?)
    }

    /// At most `count` open leases, of one entity or of all, after the one that is named.
    pub async fn list(
        &self,
        entity: Option<&str>,
        count: u32,
        after: Option<LeaseId>,
    ) -> Result<LeasePage, Error> {
        let after = after.map(|id| id.to_string());
        let words = 4 + usize::from(entity.is_some()) + 2 * usize::from(after.is_some());
        let mut frame = Frame::with_room(entity.map_or(0, str::len));
        frame.begin(words).part(b"LEASE").part(b"LIST");
        if let Some(entity) = entity {
            frame.part(entity.as_bytes());
        }
        frame.part(b"COUNT").number(count.into());
        if let Some(after) = after {
            frame.part(b"AFTER").part(after.as_bytes());
        }
        read(self.client.call(frame).await?)
    }

    /// Takes more of some limits, or gives back.
    pub async fn adjust<L: AsRef<str>>(
        &self,
        id: LeaseId,
        deltas: impl IntoIterator<Item = (L, i64)>,
    ) -> Result<(), Error> {
        let deltas: Vec<_> = deltas.into_iter().collect();
        let mut frame = begin(b"ADJUST", id, 2 * deltas.len());
        for (limit, delta) in &deltas {
            frame.part(limit.as_ref().as_bytes()).part(delta.to_string().as_bytes());
        }
        self.client.call(frame).await.and_then(ok)
    }

    /// Ends it at its real cost.
    pub async fn settle<L: AsRef<str>>(
        &self,
        id: LeaseId,
        cost: impl IntoIterator<Item = (L, u64)>,
    ) -> Result<(), Error> {
        self.client.call(settle(id, cost)).await.and_then(ok)
    }

    /// Ends it, and gives everything back.
    pub async fn release(&self, id: LeaseId) -> Result<(), Error> {
        self.client.call(release(id)).await.and_then(ok)
    }

    /// Lets it last so long from now on.
    pub async fn extend(&self, id: LeaseId, ttl: Duration) -> Result<(), Error> {
        let mut frame = begin(b"EXTEND", id, 1);
        frame.number(millis(ttl));
        self.client.call(frame).await.and_then(ok)
    }
}

/// `LEASE SETTLE id [limit amount ...]`
pub(super) fn settle<L: AsRef<str>>(id: LeaseId, cost: impl IntoIterator<Item = (L, u64)>) -> Frame {
    let cost: Vec<_> = cost.into_iter().collect();
    let mut frame = begin(b"SETTLE", id, 2 * cost.len());
    for (limit, amount) in &cost {
        frame.part(limit.as_ref().as_bytes()).number(*amount);
    }
    frame
}

/// `LEASE RELEASE id`
pub(super) fn release(id: LeaseId) -> Frame {
    begin(b"RELEASE", id, 0)
}

/// `LEASE verb id`, and so many words to follow.
fn begin(verb: &[u8], id: LeaseId, more: usize) -> Frame {
    let mut frame = Frame::with_room(more * 16);
    frame.begin(3 + more).part(b"LEASE").part(verb).part(id.to_string().as_bytes());
    frame
}

fn ok(reply: Reply) -> Result<(), Error> {
    match reply {
        Reply::Simple(_) | Reply::Bulk(_) => Ok(()),
        _ => Err(Error::protocol("this is answered by OK")),
    }
}
