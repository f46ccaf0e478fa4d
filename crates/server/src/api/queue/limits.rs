//! Named limits: the same for both doors. Set through the engine, which keeps them; taken here, without it.

use serde::Serialize;
use tidegate_core::{Decision, NANOS_PER_S, Nanos};
use tidegate_limiter::Buckets;

use super::document;
use super::message::check_key;
use crate::api::Refusal;
use crate::api::namespace::NamespaceName;

/// Named limits, at one moment.
pub struct Named<'a> {
    pub(super) buckets: &'a Buckets,
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
        let decision = self.buckets.decide(&scoped(namespace, key), quantity, self.now);
        decision.ok_or_else(|| Refusal::limit_not_found(key))
    }

    /// One limit.
    pub fn report(&self, namespace: &NamespaceName, key: &[u8]) -> Result<LimitReport, Refusal> {
        let named = self.buckets.get(&scoped(namespace, key), self.now);
        named.map(|named| report(key, &named)).ok_or_else(|| Refusal::limit_not_found(key))
    }

    /// All limits of a namespace, by key.
    pub fn list(&self, namespace: &NamespaceName) -> Vec<LimitReport> {
        let prefix = scoped(namespace, b"");
        let all = self.buckets.list(self.now);
        let here = all.iter().filter_map(|named| Some((named.name.strip_prefix(prefix.as_slice())?, named)));
        here.map(|(key, named)| report(key, named)).collect()
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

fn report(key: &[u8], named: &tidegate_limiter::buckets::Named) -> LimitReport {
    LimitReport {
        key: String::from_utf8_lossy(key).into_owned(),
        burst: named.limit.map(|limit| limit.burst()),
        count: named.limit.map(|limit| limit.count()),
        period_s: named.limit.map(|limit| limit.period_ns() as f64 / NANOS_PER_S as f64),
        tokens: named.limit.map(|_| named.tokens),
        closed_until_ms: named.closed_until.map(|until| until / NANOS_PER_MS),
    }
}

const NANOS_PER_MS: u64 = 1_000_000;

/// The name of a throttle key among the limits of all namespaces.
fn scoped(namespace: &NamespaceName, key: &[u8]) -> Vec<u8> {
    [namespace.as_str().as_bytes(), b"\0", key].concat()
}
