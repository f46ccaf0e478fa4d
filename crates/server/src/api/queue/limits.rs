//! The limits of throttle keys: the same for both doors. Set through the engine, which keeps them; taken here, without it.
//! Each is the limit `rate` of the entity by that name, on the resource `_default_`.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tidegate_core::ledger::name::DEFAULT_RESOURCE;
use tidegate_core::{Decision, NANOS_PER_S, Nanos};
use tidegate_ledger::{KeyView, Ledger, Refused, SpaceId, Undecided};
use tokio::time::{Instant, timeout_at};

use super::document;
use super::message::check_key;
use super::queues::Queues;
use crate::api::Refusal;
use crate::api::namespace::NamespaceName;

/// The limits of throttle keys, at one moment.
pub struct Named<'a> {
    pub(super) ledger: &'a Ledger,
    pub(super) now: Nanos,
}

/// A named limit as it is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitReport {
    /// The throttle key.
    pub key: String,
    /// Tokens at once; nothing if the key is only closed.
    pub burst: Option<u64>,
    /// Tokens back every period.
    pub count: Option<u64>,
    /// The period in seconds.
    pub period_s: Option<f64>,
    /// Tokens now; negative is debt.
    pub tokens: Option<i64>,
    /// Until when it is to be left alone, in milliseconds since the epoch.
    pub closed_until_ms: Option<u64>,
}

/// What came of taking from a throttle key.
pub enum Taken {
    /// It is decided.
    Decided(Decision),
    /// A table is asked.
    Later(Pin<Box<dyn Future<Output = Result<Decision, Refusal>> + Send>>),
}

impl Taken {
    /// Waits for it.
    pub async fn decided(self) -> Result<Decision, Refusal> {
        match self {
            Taken::Decided(decision) => Ok(decision),
            Taken::Later(later) => later.await,
        }
    }
}

impl Queues {
    /// Takes tokens of a throttle key if they are there.
    pub fn take_key(
        self: &Arc<Self>,
        namespace: &NamespaceName,
        key: &[u8],
        quantity: Option<i64>,
    ) -> Result<Taken, Refusal> {
        check_key(key)?;
        let quantity = quantity.unwrap_or(1);
        let quantity = u64::try_from(quantity).map_err(|_| Refusal::invalid_quantity(quantity))?;
        let space = self.space(namespace)?;
        match self.try_take(space, key, quantity)? {
            Ok(decision) => Ok(Taken::Decided(decision)),
            Err(undecided) => {
                let (queues, key) = (self.clone(), key.to_vec());
                Ok(Taken::Later(Box::pin(queues.take_later(space, key, quantity, undecided))))
            }
        }
    }

    /// Takes, unless a table has to be asked first: for what is set, or for tokens.
    fn try_take(
        &self,
        space: SpaceId,
        key: &[u8],
        quantity: u64,
    ) -> Result<Result<Decision, Undecided>, Refusal> {
        let (ledger, now) = (self.ledger(), self.now());
        if let Some(missing) = ledger.missing(space, key, DEFAULT_RESOURCE, now)? {
            return Ok(Err(missing));
        }
        ledger.try_key(space, key, quantity, now).ok_or_else(|| Refusal::limit_not_found(key))
    }

    async fn take_later(
        self: Arc<Self>,
        space: SpaceId,
        key: Vec<u8>,
        quantity: u64,
        mut undecided: Undecided,
    ) -> Result<Decision, Refusal> {
        let deadline = Instant::now() + Duration::from_millis(self.bounds().max_table_wait_ms);
        while timeout_at(deadline, self.ledger().decided(undecided)).await.is_ok() {
            match self.try_take(space, &key, quantity)? {
                Ok(decision) => return Ok(decision),
                Err(still) => undecided = still,
            }
        }
        // A key that is not known has no limit to be denied by.
        let denied = self.ledger().decide_key(space, &key, quantity, self.now());
        denied.ok_or_else(|| Refused::Unavailable.into())
    }
}

impl Named<'_> {
    /// One limit.
    pub fn report(&self, namespace: &NamespaceName, key: &[u8]) -> Result<LimitReport, Refusal> {
        let space = self.ledger.find_space(namespace.as_str());
        let view = space.and_then(|space| self.ledger.key(space, key, self.now));
        view.as_ref().map(report).ok_or_else(|| Refusal::limit_not_found(key))
    }

    /// All limits of a namespace, by key.
    pub fn list(&self, namespace: &NamespaceName) -> Vec<LimitReport> {
        let space = self.ledger.find_space(namespace.as_str());
        let mut views = space.map(|space| self.ledger.keys(space, self.now)).unwrap_or_default();
        views.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        views.iter().map(report).collect()
    }

    /// One limit, as JSON.
    pub fn document(&self, namespace: &NamespaceName, key: &[u8]) -> Result<Vec<u8>, Refusal> {
        self.report(namespace, key).map(|report| document::write(&report))
    }

    /// All limits of a namespace, as JSON.
    pub fn list_document(&self, namespace: &NamespaceName) -> Vec<u8> {
        document::write(&LimitReports { limits: self.list(namespace) })
    }
}

/// Named limits as they are told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitReports {
    /// By key.
    pub limits: Vec<LimitReport>,
}

fn report(view: &KeyView) -> LimitReport {
    LimitReport {
        key: String::from_utf8_lossy(&view.key).into_owned(),
        burst: view.limit.map(|limit| limit.burst()),
        count: view.limit.map(|limit| limit.count()),
        period_s: view.limit.map(|limit| limit.period_ns() as f64 / NANOS_PER_S as f64),
        tokens: view.limit.map(|_| view.tokens),
        closed_until_ms: view.closed_until.map(|until| until / NANOS_PER_MS),
    }
}

const NANOS_PER_MS: u64 = 1_000_000;
