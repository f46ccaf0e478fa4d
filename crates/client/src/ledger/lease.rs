//! A lease in hand: a guard.

use std::time::{Duration, SystemTime};

use super::lease_id::LeaseId;
use super::leases;
use super::status::Status;
use crate::call::Call;
use crate::{Client, Error};

/// What was taken, and is the holder's to settle: [`Acquired::Granted`](super::Acquired::Granted).
///
/// End it with [`settle`](Lease::settle) (the real cost), [`keep`](Lease::keep) (it cost what was taken) or
/// [`release`](Lease::release) (nothing came of it, all is given back). **Dropped without that, it is released**: after
/// an early return, a panic or a cancelled task. Dropping does not wait: the command is put in line for the client's
/// connection, which also sends it after the last clone of the [`Client`] is gone. A lease that cannot be ended in this
/// way, because its runtime or the server is gone, expires when its time is up.
///
/// An acquire that is cancelled before its answer has come is released too, as soon as it comes.
///
/// ```no_run
/// use tidegate_client::{Acquire, Acquired, Client};
///
/// # async fn call_the_model() -> Result<u64, std::io::Error> { Ok(812) }
/// # async fn run(client: Client) -> Result<(), Box<dyn std::error::Error>> {
/// match client.acquire(Acquire::of("acme", "gpt-4").cost("rpm", 1).cost("tpm", 500)).await? {
///     Acquired::Granted(lease) => {
///         let tokens = call_the_model().await?; // on an error, all is given back
///         lease.settle([("tpm", tokens)]).await?;
///     }
///     Acquired::Denied(denied) => println!("not now: {:?}", denied.retry_after),
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "dropped, it gives everything back"]
pub struct Lease {
    client: Client,
    /// Nothing when it is for good (`without_lease`), or has ended.
    id: Option<LeaseId>,
    expires_at: Option<SystemTime>,
    statuses: Vec<Status>,
    manner: Manner,
}

/// How it was granted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Manner {
    /// As ever.
    #[default]
    Taken,
    /// By a bypass: it was counted, and nothing was taken.
    Bypassed,
    /// While the server's store was unavailable: a crash forgets it.
    Degraded,
}

impl Lease {
    pub(super) fn new(client: Client, id: Option<LeaseId>, expires_at: Option<SystemTime>) -> Lease {
        Lease { client, id, expires_at, statuses: Vec::new(), manner: Manner::Taken }
    }

    pub(super) fn with(mut self, manner: Manner, statuses: Vec<Status>) -> Lease {
        (self.manner, self.statuses) = (manner, statuses);
        self
    }

    /// How it was granted.
    pub fn manner(&self) -> Manner {
        self.manner
    }

    /// Its id. Nothing if all was taken for good, with [`without_lease`](super::Acquire::without_lease).
    pub fn id(&self) -> Option<LeaseId> {
        self.id
    }

    /// When it expires unless it is extended, by the server's clock.
    pub fn expires_at(&self) -> Option<SystemTime> {
        self.expires_at
    }

    /// Every limit that was asked, as it stands after this. Empty if the acquire was quiet.
    pub fn statuses(&self) -> &[Status] {
        &self.statuses
    }

    /// Takes `delta` more of a limit, into debt if need be; below 0, gives so much back.
    pub async fn adjust(&self, limit: &str, delta: i64) -> Result<(), Error> {
        self.adjust_all([(limit, delta)]).await
    }

    /// The same for several limits in one step.
    pub async fn adjust_all<L: AsRef<str>>(
        &self,
        deltas: impl IntoIterator<Item = (L, i64)>,
    ) -> Result<(), Error> {
        match self.id {
            Some(id) => self.client.leases().adjust(id, deltas).await,
            None => Ok(()),
        }
    }

    /// Lets it last so long from now on.
    pub async fn extend(&self, ttl: Duration) -> Result<(), Error> {
        match self.id {
            Some(id) => self.client.leases().extend(id, ttl).await,
            None => Ok(()),
        }
    }

    /// Ends it at its real cost: what was taken too much comes back, what was taken too little is charged, into debt if
    /// need be. Limits that are not named stay as taken.
    ///
    /// Once this has been polled it is sent, even if it is dropped before its answer has come.
    pub async fn settle<L: AsRef<str>>(
        mut self,
        cost: impl IntoIterator<Item = (L, u64)>,
    ) -> Result<(), Error> {
        let Some(id) = self.id.take() else { return Ok(()) };
        let (call, answer) = Call::insisted(leases::settle(id, cost));
        self.client.end(call, answer)?.answer().await?
    }

    /// Ends it: it cost what was taken.
    pub async fn keep(self) -> Result<(), Error> {
        self.settle::<&str>([]).await
    }

    /// Ends it, and gives everything back. Dropping it does the same, without telling what came of it.
    pub async fn release(mut self) -> Result<(), Error> {
        let Some(id) = self.id.take() else { return Ok(()) };
        let (call, answer) = Call::insisted(leases::release(id));
        self.client.end(call, answer)?.answer().await?
    }

    /// Leaves it open, for somebody else to end by its id: see [`Leases`](super::Leases).
    pub fn detach(mut self) -> Option<LeaseId> {
        self.id.take()
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            self.client.end_unheard(Call::unheard(leases::release(id)));
        }
    }
}
