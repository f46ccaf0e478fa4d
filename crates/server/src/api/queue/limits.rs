//! The limits of throttle keys: the same for both doors. Set through the engine, which keeps them; taken here, without it.
//! Each is the limit `rate` of the entity by that name, on the resource `_default_`.

use serde::Serialize;
use tidegate_core::{Decision, NANOS_PER_S, Nanos};
use tidegate_ledger::{KeyView, Ledger};

use super::document;
use super::message::check_key;
use crate::api::Refusal;
use crate::api::namespace::NamespaceName;

/// The limits of throttle keys, at one moment.
pub struct Named<'a> {
    pub(super) ledger: &'a Ledger,
    pub(super) now: Nanos,
}

/// A named limit as it is told.
#[derive(Clone, Debug, PartialEq, Serialize)]
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

impl Named<'_> {
    /// Takes tokens if they are there.
    pub fn take(
        &self,
        namespace: &NamespaceName,
        key: &[u8],
        quantity: Option<i64>,
    ) -> Result<Decision, Refusal> {
        check_key(key)?;
        let quantity = quantity.unwrap_or(1);
        let quantity = u64::try_from(quantity).map_err(|_| Refusal::invalid_quantity(quantity))?;
        let decision =
            self.ledger.decide_key(self.ledger.space(namespace.as_str())?, key, quantity, self.now);
        decision.ok_or_else(|| Refusal::limit_not_found(key))
    }

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
        document::write(&std::collections::BTreeMap::from([("limits", self.list(namespace))]))
    }
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
