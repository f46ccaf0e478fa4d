//! What is left of buckets: looked up in the table, and told by the ledger that decides.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tidegate_core::Nanos;
use tidegate_dynamodb::bucket::fill::Fill;
use tidegate_ledger::{AccountKey, Acquire, Changed, Charge, Checked, Ledger, Refused, SpaceId, Status};

use super::fault::refusal;
use super::store::Asked;
use crate::api::Refusal;
use crate::api::ledger::document;
use crate::api::ledger::embedded::borrowed;
use crate::api::ledger::request::Target;

impl Asked {
    pub(super) async fn available(
        &self,
        target: Target,
        cost: Vec<(String, u64)>,
    ) -> Result<Vec<u8>, Refusal> {
        let (checked, now) = self.check(&target, &cost).await?;
        Ok(document::available(&checked, now))
    }

    pub(super) async fn why_acquire(
        &self,
        target: Target,
        cost: Vec<(String, u64)>,
    ) -> Result<Vec<u8>, Refusal> {
        let (checked, now) = self.check(&target, &cost).await?;
        Ok(document::why_acquire(&checked, &self.desk.ledger, now))
    }

    /// What an acquire would answer, by what the table holds now.
    async fn check(&self, target: &Target, cost: &[(String, u64)]) -> Result<(Checked, Nanos), Refusal> {
        let (ledger, space) = (&self.desk.ledger, self.space()?);
        self.look(target).await?;
        // Without amounts it is about every limit that applies.
        let every: Vec<(String, u64)> = match cost.is_empty() {
            true => {
                let resolved = ledger.resolve(space, &target.entity, &target.resource)?;
                resolved.terms.into_iter().map(|term| (String::from(term.name), 0)).collect()
            }
            false => cost.to_vec(),
        };
        let cost = borrowed(&every);
        let charges = [Charge { entity: &target.entity, resource: &target.resource, cost: &cost }];
        let now = self.desk.now();
        Ok((ledger.check(&Acquire::new(space, &charges), now)?, now))
    }

    /// Has the ledger know what is set for an entity and those above it, and what the table holds for them.
    pub(super) async fn look(&self, target: &Target) -> Result<(), Refusal> {
        self.load(target).await?;
        let (ledger, space) = (&self.desk.ledger, self.space()?);
        let keys = ledger.account_keys(space, &target.entity, &target.resource)?;
        for key in &keys {
            self.desk.node.look(key).await.map_err(|fault| refusal(&fault))?;
        }
        Ok(())
    }

    /// Has the ledger know what is set for an entity and those above it.
    pub(super) async fn load(&self, target: &Target) -> Result<(), Refusal> {
        let (ledger, space) = (&self.desk.ledger, self.space()?);
        let patience = Duration::from_millis(self.queues.bounds().max_table_wait_ms);
        let loaded = async {
            while let Some(missing) =
                ledger.missing(space, &target.entity, &target.resource, self.desk.now())?
            {
                ledger.decided(missing).await;
            }
            Ok(())
        };
        tokio::time::timeout(patience, loaded).await.unwrap_or_else(|_| Err(Refused::Unavailable.into()))
    }

    pub(super) async fn reset(
        &self,
        target: Target,
        limits: Vec<String>,
        key: Option<String>,
    ) -> Result<Vec<u8>, Refusal> {
        let names: Vec<&str> = limits.iter().map(String::as_str).collect();
        let filled = self.try_out(&target, |ledger, space, now| {
            let Target { entity, resource } = &target;
            ledger.reset(space, entity, resource, &names, key.as_deref(), &self.actor, now)
        });
        let fills = filled.await?.iter().map(|status| (status.limit.clone(), None)).collect();
        self.fill(&target, fills, key, "bucket_reset").await
    }

    pub(super) async fn top_up(
        &self,
        target: Target,
        added: Vec<(String, u64)>,
        key: Option<String>,
    ) -> Result<Vec<u8>, Refusal> {
        let amounts = borrowed(&added);
        self.try_out(&target, |ledger, space, now| {
            let Target { entity, resource } = &target;
            ledger.top_up(space, entity, resource, &amounts, key.as_deref(), &self.actor, now)
        })
        .await?;
        let fills = added.iter().map(|(limit, amount)| (limit.as_str().into(), Some(*amount))).collect();
        self.fill(&target, fills, key, "bucket_topped_up").await
    }

    /// Tries on a ledger of its own whether something may be done, and to which limits.
    async fn try_out(
        &self,
        target: &Target,
        work: impl FnOnce(&Ledger, SpaceId, Nanos) -> Result<Vec<Status>, Refused>,
    ) -> Result<Vec<Status>, Refusal> {
        let nsid = self.nsid().await?;
        let mut scratch = self.scratch(nsid.as_ref())?;
        scratch.read_reach(&target.entity, &target.resource).await?;
        Ok(work(&scratch.ledger, scratch.space, self.desk.now())?)
    }

    /// Puts tokens into buckets of the table: all that fits, or so many.
    async fn fill(
        &self,
        target: &Target,
        fills: Vec<(Arc<str>, Option<u64>)>,
        key: Option<String>,
        action: &'static str,
    ) -> Result<Vec<u8>, Refusal> {
        let (before, _) = self.levels(target, &fills).await?;
        let own = self.own_account(target)?;
        let wanted = fills.iter().map(|(limit, tokens)| Fill { limit: limit.to_string(), tokens: *tokens });
        let wanted: Vec<Fill> = wanted.collect();
        let filled = self.desk.node.refill(&own, &wanted, key.as_deref()).await;
        let is_new = filled.map_err(|fault| refusal(&fault))?;
        let (after, now) = self.levels(target, &fills).await?;
        if is_new {
            let subject = document::lossy(&target.entity).into_owned();
            let told = |statuses: &[Status]| Some(told_levels(&target.resource, statuses));
            let changed = Changed { subject, action, before: told(&before), after: told(&after) };
            self.write_audit(&self.registered().await?, vec![changed], now).await;
        }
        Ok(document::buckets(&after, now))
    }

    /// What the entity itself has left of some limits.
    async fn levels(
        &self,
        target: &Target,
        fills: &[(Arc<str>, Option<u64>)],
    ) -> Result<(Vec<Status>, Nanos), Refusal> {
        self.look(target).await?;
        let limits: Vec<&str> = fills.iter().map(|(limit, _)| &**limit).collect();
        let (Target { entity, resource }, now) = (target, self.desk.now());
        Ok((self.desk.ledger.levels(self.space()?, entity, resource, &limits, now)?, now))
    }

    fn own_account(&self, target: &Target) -> Result<AccountKey, Refusal> {
        let keys = self.desk.ledger.account_keys(self.space()?, &target.entity, &target.resource)?;
        keys.into_iter().next().ok_or_else(|| Refused::Unavailable.into())
    }

    pub(super) fn space(&self) -> Result<SpaceId, Refusal> {
        self.queues.space(&self.namespace)
    }
}

/// What is left, as the audit tells it.
fn told_levels(resource: &str, statuses: &[Status]) -> Value {
    let levels = statuses.iter().map(|status| (status.limit.to_string(), json!(status.available)));
    json!({"resource": resource, "available": levels.collect::<serde_json::Map<_, _>>()})
}
