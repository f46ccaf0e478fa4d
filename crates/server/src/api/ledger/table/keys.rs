//! Throttle keys: the limit `rate` that is set on an entity itself, on `_default_`.

use tidegate_core::Limit;
use tidegate_core::ledger::name::{DEFAULT_RESOURCE, RATE};
use tidegate_core::ledger::{Bound, Term};
use tidegate_dynamodb::Row;
use tidegate_ledger::{Edit, Scope, ScopePatch, ScopeSettings};

use super::fault::refusal;
use super::scratch::Scratch;
use super::store::Asked;
use crate::api::Refusal;
use crate::api::ledger::request::Target;
use crate::api::queue::document::write;
use crate::api::queue::limits::{LimitReport, LimitReports};

/// Keys that are asked for at once.
const PART: usize = 100;

impl Asked {
    /// One key.
    pub(super) async fn key(&self, key: &[u8]) -> Result<Vec<u8>, Refusal> {
        self.key_report(key).await.map(|report| write(&report))
    }

    async fn key_report(&self, key: &[u8]) -> Result<LimitReport, Refusal> {
        self.look(&Target { entity: key.to_vec(), resource: DEFAULT_RESOURCE.to_owned() }).await?;
        self.queues.limits().report(&self.namespace, key)
    }

    /// All keys of the namespace, by key.
    pub(super) async fn keys(&self) -> Result<Vec<u8>, Refusal> {
        let mut limits = Vec::new();
        let mut after: Option<(Vec<u8>, String)> = None;
        let Some(nsid) = self.nsid().await? else { return Ok(write(&LimitReports { limits })) };
        loop {
            let from = after.as_ref().map(|(entity, resource)| (&entity[..], resource.as_str()));
            let page = self.desk.table.custom(&nsid, Some(DEFAULT_RESOURCE), from, PART).await;
            let page = page.map_err(|fault| refusal(&fault))?;
            for (key, _) in &page.items {
                match self.key_report(key).await {
                    Ok(report) => limits.push(report),
                    // An entity with other limits than a rate is no throttle key.
                    Err(refusal) if refusal.code() == crate::api::Code::LimitNotFound => {}
                    Err(refusal) => return Err(refusal),
                }
            }
            let is_last = page.is_last || page.items.is_empty();
            after = page.items.into_iter().next_back();
            if is_last {
                limits.sort_unstable_by(|a, b| a.key.cmp(&b.key));
                return Ok(write(&LimitReports { limits }));
            }
        }
    }
}

/// What sets the rate of a key, or removes it; other limits of that entity stay.
pub(super) async fn key_edit(
    scratch: &mut Scratch<'_>,
    key: &[u8],
    limit: Option<Limit>,
) -> Result<Edit, Refusal> {
    let scope = Scope::Entity(key.to_vec(), DEFAULT_RESOURCE.to_owned());
    scratch.read([Row::Scope(scope.clone())]).await?;
    scratch.check(&Row::Scope(scope.clone()))?;
    let found = scratch.ledger.scope(scratch.space, &scope);
    let mut settings: ScopeSettings = found.map(|found| (*found).clone()).unwrap_or_default();
    let before = settings.limits.len();
    settings.limits.retain(|term| &*term.name != RATE);
    if limit.is_none() && settings.limits.len() == before {
        return Err(Refusal::limit_not_found(key));
    }
    let bound = limit.map(Bound::Rate);
    settings.limits.extend(bound.map(|bound| Term { name: RATE.into(), bound, soft: false }));
    Ok(match settings.is_empty() {
        true => Edit::RemoveScope { scope },
        false => Edit::SetScope { scope, patch: ScopePatch::replacing(settings) },
    })
}
