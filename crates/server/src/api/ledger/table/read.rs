//! What is set: entities, levels, what applies to whom.

use std::collections::HashSet;
use std::sync::Arc;

use tidegate_dynamodb::{Nsid, Row};
use tidegate_ledger::{Capacities, Entity, Refused, Scope};

use super::fault::refusal;
use super::scratch::Scratch;
use super::store::Asked;
use crate::api::Refusal;
use crate::api::ledger::document::{NANOS_PER_MS, lossy};
use crate::api::ledger::edit::scope_text;
use crate::api::ledger::listing;
use crate::api::ledger::request::{CustomPage, Page, Target};
use crate::api::queue::document::write;

/// Rows that are asked for at once where all are wanted.
const PART: usize = 1_000;

impl Asked {
    pub(super) async fn entity(&self, id: Vec<u8>) -> Result<Vec<u8>, Refusal> {
        Ok(write(&*self.found(&id).await?))
    }

    async fn found(&self, id: &[u8]) -> Result<Arc<Entity>, Refusal> {
        let nsid = self.nsid().await?;
        let mut scratch = self.scratch(nsid.as_ref())?;
        scratch.read([Row::Entity(id.to_vec())]).await?;
        scratch.check_all()?;
        let missing = || Refused::EntityNotFound(lossy(id).into_owned());
        Ok(scratch.entity(id).ok_or_else(missing)?)
    }

    pub(super) async fn entities(&self, page: Page) -> Result<Vec<u8>, Refusal> {
        let Some(nsid) = self.nsid().await? else { return Ok(listing::entities(&[], page.max)) };
        let found = self.desk.table.entities(&nsid, page.after.as_deref(), page.max).await;
        let found = found.map_err(|fault| refusal(&fault))?;
        Ok(listing::entities(&shared(found.items), page.max))
    }

    pub(super) async fn children(&self, id: Vec<u8>, page: Page) -> Result<Vec<u8>, Refusal> {
        self.found(&id).await?;
        let Some(nsid) = self.nsid().await? else { return Ok(listing::entities(&[], page.max)) };
        let found = self.desk.table.children(&nsid, &id, page.after.as_deref(), page.max).await;
        let found = found.map_err(|fault| refusal(&fault))?;
        Ok(listing::entities(&shared(found.items), page.max))
    }

    pub(super) async fn scope(&self, scope: Scope) -> Result<Vec<u8>, Refusal> {
        let nsid = self.nsid().await?;
        let mut scratch = self.scratch(nsid.as_ref())?;
        scratch.read([Row::Scope(scope.clone())]).await?;
        scratch.check_all()?;
        let missing = || Refused::NoSuchLevel(scope_text(&scope));
        Ok(write(&*scratch.ledger.scope(scratch.space, &scope).ok_or_else(missing)?))
    }

    pub(super) async fn resolve(&self, target: Target) -> Result<Vec<u8>, Refusal> {
        let nsid = self.nsid().await?;
        let mut scratch = self.scratch(nsid.as_ref())?;
        scratch.read_reach(&target.entity, &target.resource).await?;
        let resolved = scratch.ledger.resolve(scratch.space, &target.entity, &target.resource)?;
        Ok(listing::resolution(&target, &resolved))
    }

    pub(super) async fn custom(
        &self,
        resource: Option<String>,
        page: CustomPage,
    ) -> Result<Vec<u8>, Refusal> {
        let Some(nsid) = self.nsid().await? else { return Ok(listing::custom::<Vec<u8>, String>(&[], 1)) };
        let after = page.after.as_ref().map(|after| (&after.entity[..], after.resource.as_str()));
        let found = self.desk.table.custom(&nsid, resource.as_deref(), after, page.max).await;
        let found = found.map_err(|fault| refusal(&fault))?;
        Ok(listing::custom(&found.items, page.max))
    }

    /// What a resource could give over all entities that have a record or a bucket.
    pub(super) async fn capacity(&self, resource: String) -> Result<Vec<u8>, Refusal> {
        let Some(nsid) = self.nsid().await? else { return Ok(listing::capacity(&resource, &[])) };
        let mut scratch = self.scratch(Some(&nsid))?;
        self.read_all(&nsid, &mut scratch).await?;
        let (mut sums, mut counted) = (Capacities::default(), HashSet::new());
        let now_ms = self.desk.now() / NANOS_PER_MS;
        let shown = self.desk.table.standings(&nsid, &resource, now_ms, |standing| {
            let of = (scratch.space, &*standing.entity, &*resource);
            scratch.ledger.add_capacity(of, |limit, kind| standing.of(limit, kind), &mut sums);
            counted.insert(standing.entity.clone());
        });
        shown.await.map_err(|fault| refusal(&fault))?;
        for entity in scratch.ledger.entities(scratch.space, None, usize::MAX) {
            let id = entity.id.as_bytes();
            if !counted.contains(id) {
                scratch.ledger.add_capacity((scratch.space, id, &resource), |_, _| None, &mut sums);
            }
        }
        Ok(listing::capacity(&resource, &sums.into_vec()))
    }

    /// All that is set, read in parts. What changes meanwhile may be in it or not.
    pub(super) async fn export(&self) -> Result<Vec<u8>, Refusal> {
        let nsid = self.nsid().await?;
        let mut scratch = self.scratch(nsid.as_ref())?;
        if let Some(nsid) = &nsid {
            self.read_all(nsid, &mut scratch).await?;
            // What would be left out is told.
            scratch.check_all()?;
        }
        Ok(write(&scratch.ledger.export(scratch.space)))
    }

    async fn read_all(&self, nsid: &Nsid, scratch: &mut Scratch<'_>) -> Result<(), Refusal> {
        let mut after: Option<Vec<u8>> = None;
        loop {
            let page = self.desk.table.entities(nsid, after.as_deref(), PART).await;
            let page = page.map_err(|fault| refusal(&fault))?;
            page.items.iter().try_for_each(|entity| scratch.put_entity(entity))?;
            after = page.items.last().map(|entity| entity.id.clone().into_bytes());
            if page.is_last || after.is_none() {
                break;
            }
        }
        let scopes = self.desk.table.scopes(nsid, usize::MAX).await.map_err(|fault| refusal(&fault))?;
        scratch.take_in(scopes.items)
    }
}

fn shared(entities: Vec<Entity>) -> Vec<Arc<Entity>> {
    entities.into_iter().map(Arc::new).collect()
}
