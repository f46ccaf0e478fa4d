//! What administrators see: entities, what is set where, and what applies to whom.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tidegate_core::ledger::name::{self, Named};
use tidegate_core::ledger::{Level, Term};

use crate::entity::{Entity, MAX_LEVELS};
use crate::id::Id;
use crate::ledger::Ledger;
use crate::reach::Looked;
use crate::refused::Refused;
use crate::settings::{Mode, Scope, ScopeSettings};
use crate::shard::SHARDS;
use crate::space::{Space, SpaceId};
use crate::words::Word;

/// What applies to an entity on a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// Where its limits were set; none if no level has any.
    pub level: Option<Level>,
    /// Its limits.
    pub terms: Vec<Term>,
    /// Whether they act.
    pub mode: Option<Mode>,
    /// Whether the parent is charged, too.
    pub cascade: bool,
    /// Who is charged with it, nearest first.
    pub parents: Vec<Above>,
}

/// An entity that is charged with another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Above {
    /// Who.
    pub entity: Arc<[u8]>,
    /// Where its limits were set; none if no level has any.
    pub level: Option<Level>,
    /// Its limits.
    pub terms: Vec<Term>,
    /// Whether they act.
    pub mode: Option<Mode>,
    /// Whether its own parent is charged, too.
    pub cascade: bool,
}

/// How much there is of everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Entities with a record.
    pub entities: usize,
    /// Entities on resources that have been used lately.
    pub accounts: usize,
    /// Leases.
    pub leases: usize,
}

impl Ledger {
    /// What applies to an entity on a resource, known or not.
    pub fn resolve(&self, space: SpaceId, entity: &[u8], resource: &str) -> Result<Resolution, Refused> {
        name::check(Named::Entity, entity)?;
        name::check(Named::Resource, resource.as_bytes())?;
        let (space, resource) = (self.at(space), self.words.intern(resource)?);
        let name = self.words.name(resource);
        let mut looked = self.look(space, entity, (resource, &name));
        let mut above = looked.parent.take();
        let mut parents = Vec::new();
        while let (Some(parent), true) = (above, parents.len() + 1 < MAX_LEVELS) {
            let mut looked = self.look(space, &parent, (resource, &name));
            above = looked.parent.take();
            let (terms, mode) = (terms_of(&looked), looked.resolved.mode);
            let (level, cascade) = (looked.resolved.level, looked.cascade);
            parents.push(Above { entity: (*parent).into(), level, terms, mode, cascade });
        }
        let (terms, mode) = (terms_of(&looked), looked.resolved.mode);
        Ok(Resolution { level: looked.resolved.level, terms, mode, cascade: looked.cascade, parents })
    }

    /// An entity that has a record.
    pub fn entity(&self, space: SpaceId, entity: &[u8]) -> Option<Arc<Entity>> {
        let who = self.who(space, entity);
        let mut shard = self.shards.lock(who.shard());
        let at = shard.find(&who)?;
        shard.holder(at).entity().map(Arc::new)
    }

    /// Entities that have a record, in order.
    pub fn entities(&self, space: SpaceId, after: Option<&[u8]>, max: usize) -> Vec<Arc<Entity>> {
        let page = self.at(space).tree.read().page(after, max);
        self.each_entity(space, page)
    }

    /// The entities right below one, in order.
    pub fn children(&self, space: SpaceId, id: &[u8], after: Option<&[u8]>, max: usize) -> Vec<Arc<Entity>> {
        let page = self.at(space).tree.read().page_of_children(id, after, max);
        self.each_entity(space, page)
    }

    fn each_entity(&self, space: SpaceId, ids: Vec<Id>) -> Vec<Arc<Entity>> {
        ids.iter().filter_map(|id| self.entity(space, id)).collect()
    }

    /// Who is right above an entity.
    pub(crate) fn parent(&self, space: &Space, entity: &[u8]) -> Option<Id> {
        let who = self.who(space.id, entity);
        let mut shard = self.shards.lock(who.shard());
        let at = shard.find(&who)?;
        shard.holder(at).known.as_ref()?.parent.clone()
    }

    /// Entities with settings of their own, and for which resource; in order.
    pub fn custom(
        &self,
        space: SpaceId,
        resource: Option<&str>,
        after: Option<(&[u8], &str)>,
        max: usize,
    ) -> Vec<(Arc<[u8]>, Arc<str>)> {
        let tree = self.at(space).tree.read();
        let all = tree.custom_from(after);
        let wanted = all.filter(|(_, of)| resource.is_none_or(|resource| **of == *resource));
        wanted.take(max).map(|(id, of)| (Arc::from(&**id), Arc::clone(of))).collect()
    }

    /// The weight of an entity.
    pub fn weight(&self, space: SpaceId, entity: &[u8]) -> Option<u32> {
        if !self.weighted.load(Ordering::Acquire) {
            return None;
        }
        let who = self.who(space, entity);
        let mut shard = self.shards.lock(who.shard());
        let at = shard.find(&who)?;
        shard.holder(at).known.as_ref().map(|known| known.weight).filter(|weight| *weight != 0)
    }

    /// What is set somewhere.
    pub fn scope(&self, space: SpaceId, scope: &Scope) -> Option<Arc<ScopeSettings>> {
        let space = self.at(space);
        match scope {
            Scope::System => space.look(|scopes| Some(Arc::clone(&scopes.system.as_ref()?.told))),
            Scope::Resource(resource) => {
                let word = self.words.find(resource)?;
                space.look(|scopes| Some(Arc::clone(&scopes.resources.get(&word)?.told)))
            }
            Scope::Entity(entity, resource) => {
                let word = self.words.find(resource)?;
                let who = self.who(space.id, entity);
                let mut shard = self.shards.lock(who.shard());
                let at = shard.find(&who)?;
                Some(Arc::clone(&shard.holder(at).known.as_ref()?.settings(word)?.told))
            }
        }
    }

    /// All that is set in a namespace: system, resources, entities; in order.
    pub fn scopes(&self, space: SpaceId) -> Vec<(Scope, Arc<ScopeSettings>)> {
        let system = self.scope(space, &Scope::System).map(|settings| (Scope::System, settings));
        let words: Vec<Word> = self.at(space).look(|scopes| scopes.resources.keys().copied().collect());
        let mut resources: Vec<String> =
            words.into_iter().map(|word| self.words.name(word).to_string()).collect();
        resources.sort_unstable();
        let custom = self.custom(space, None, None, usize::MAX);
        let entities = custom.into_iter().map(|(entity, of)| Scope::Entity(entity.to_vec(), of.to_string()));
        let others = resources.into_iter().map(Scope::Resource).chain(entities);
        let others = others.filter_map(|scope| Some((scope.clone(), self.scope(space, &scope)?)));
        system.into_iter().chain(others).collect()
    }

    /// What is set on one entity, by resource.
    pub(crate) fn scopes_of(&self, space: &Space, entity: &[u8]) -> Vec<(Arc<str>, Arc<ScopeSettings>)> {
        let who = self.who(space.id, entity);
        let mut shard = self.shards.lock(who.shard());
        let own = shard.find(&who).and_then(|at| shard.holder(at).known.as_ref()?.own.as_deref().cloned());
        drop(shard);
        let told = |(word, settings): (Word, Arc<crate::resolved::Settings>)| {
            (self.words.name(word), Arc::clone(&settings.told))
        };
        let mut all: Vec<_> = own.unwrap_or_default().into_iter().map(told).collect();
        all.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        all
    }

    /// How much there is of everything.
    pub fn stats(&self) -> Stats {
        let entities = self.spaces().into_iter().map(|space| self.at(space).tree.read().len()).sum();
        let accounts = (0..SHARDS).map(|shard| self.shards.lock(shard).accounts).sum();
        Stats { entities, accounts, leases: self.leases.len() }
    }
}

fn terms_of(looked: &Looked) -> Vec<Term> {
    looked.resolved.terms.iter().map(|term| term.to_term()).collect()
}
