//! What has to be known of the table before an edit can be worked out.

use tidegate_core::ledger::name::DEFAULT_RESOURCE;
use tidegate_dynamodb::Row;
use tidegate_ledger::{Edit, EntityPatch, Scope};

use super::scratch::Scratch;
use crate::api::Refusal;
use crate::api::ledger::manifest::Manifest;

impl Scratch<'_> {
    /// Reads what an edit is about.
    pub async fn read_for(&mut self, edit: &Edit) -> Result<(), Refusal> {
        match edit {
            Edit::CreateEntity { id, patch } | Edit::UpdateEntity { id, patch, .. } => {
                self.read_placed(&[(id.clone(), patch.clone())]).await
            }
            Edit::MoveEntity { id, parent } => {
                let patch = EntityPatch { parent: Some(parent.clone()), ..EntityPatch::default() };
                self.read_placed(&[(id.clone(), patch)]).await
            }
            Edit::PutEntities(entities) => self.read_placed(entities).await,
            Edit::DeleteEntity { id } => self.read_leaving(std::slice::from_ref(id), &[]).await,
            Edit::DeleteEntities { ids, moved } => self.read_leaving(ids, moved).await,
            Edit::SetScope { scope, .. } | Edit::RemoveScope { scope } => {
                self.read([Row::Scope(scope.clone())]).await
            }
        }
    }

    /// Reads what a manifest is about, given what was applied last.
    pub async fn read_for_manifest(&mut self, manifest: &Manifest, before: &Manifest) -> Result<(), Refusal> {
        let ids = manifest.ids().chain(before.ids()).map(|id| id.clone().into_bytes()).collect();
        self.read_up(ids).await?;
        let scopes = manifest.all_scopes().into_iter().chain(before.all_scopes());
        self.read(scopes.map(Row::Scope)).await
    }

    /// Reads entities that are to be made or changed, those above them, and those below them if they move.
    async fn read_placed(&mut self, entities: &[(String, EntityPatch)]) -> Result<(), Refusal> {
        let parents = entities.iter().filter_map(|(_, patch)| patch.parent.clone().flatten());
        let ids = entities.iter().map(|(id, _)| id.clone()).chain(parents);
        self.read_up(ids.map(String::into_bytes).collect()).await?;
        for (id, patch) in entities {
            let Some(entity) = self.entity(id.as_bytes()) else { continue };
            if patch.parent.as_ref().is_some_and(|parent| *parent != entity.parent) {
                self.read_down(id.as_bytes()).await?;
            }
        }
        Ok(())
    }

    /// Reads entities that are to be deleted, all that is set for them, and whether somebody below them stays.
    async fn read_leaving(&mut self, ids: &[String], moved: &[String]) -> Result<(), Refusal> {
        self.read(ids.iter().map(|id| Row::Entity(id.clone().into_bytes()))).await?;
        for id in ids {
            self.read_scopes_of(id.as_bytes()).await?;
            let leaves = |child: &str| ids.iter().chain(moved).any(|id| id == child);
            self.read_children(id.as_bytes(), leaves).await?;
        }
        Ok(())
    }

    /// Refuses if what applies to an entity on a resource is not understood. What is further off does not matter: the
    /// first level that has limits wins whole.
    pub fn check_reach(&self, entity: &[u8], resource: &str) -> Result<(), Refusal> {
        let own = [resource, DEFAULT_RESOURCE].map(|of| Scope::Entity(entity.to_vec(), of.to_owned()));
        let others = [Scope::Resource(resource.to_owned()), Scope::System];
        for scope in own.into_iter().chain(others) {
            let found = self.ledger.scope(self.space, &scope);
            self.check(&Row::Scope(scope))?;
            if found.is_some_and(|settings| !settings.limits.is_empty()) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Reads what applies to an entity on a resource, and to those above it.
    pub async fn read_reach(&mut self, entity: &[u8], resource: &str) -> Result<(), Refusal> {
        self.read([Row::Scope(Scope::System), Row::Scope(Scope::Resource(resource.to_owned()))]).await?;
        self.read_up(vec![entity.to_vec()]).await?;
        let mut chain = vec![entity.to_vec()];
        while let Some(parent) = chain.last().and_then(|id| self.entity(id)?.parent.clone()) {
            if chain.len() > tidegate_ledger::MAX_LEVELS {
                break;
            }
            chain.push(parent.into_bytes());
        }
        let scopes = chain.into_iter().flat_map(|id| {
            [resource, DEFAULT_RESOURCE].map(|of| Row::Scope(Scope::Entity(id.clone(), of.to_owned())))
        });
        self.read(scopes).await?;
        self.check_reach(entity, resource)
    }
}
