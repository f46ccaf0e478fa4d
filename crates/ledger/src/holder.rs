//! An entity as a shard keeps it: its record if it has one, what is set on it, and its accounts.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::account::Account;
use crate::entity::Entity;
use crate::id::Id;
use crate::refused::shown;
use crate::resolved::{OwnPair, Settings};
use crate::space::SpaceId;
use crate::words::Word;

/// An entity, known or only limited.
pub(crate) struct Holder {
    /// 32 bits of its hash, to find it again when the table grows.
    pub(crate) tag: u32,
    pub(crate) space: SpaceId,
    pub(crate) id: Id,
    pub(crate) known: Option<Box<Known>>,
    pub(crate) accounts: Option<Box<Account>>,
}

/// What somebody has said about an entity.
#[derive(Default)]
pub(crate) struct Known {
    pub(crate) parent: Option<Id>,
    /// 0: it has no record, only settings.
    pub(crate) version: u64,
    created_at_ms: u64,
    updated_at_ms: u64,
    told: Option<Box<Told>>,
    /// Settings of its own, by resource.
    pub(crate) own: Option<Box<Own>>,
    /// 0: none.
    pub(crate) weight: u32,
    pub(crate) cascade: bool,
}

pub(crate) type Own = Vec<(Word, Arc<Settings>)>;

struct Told {
    name: Option<String>,
    metadata: Map<String, Value>,
}

impl Known {
    /// Takes on a record. Parents are shared names, and come from outside.
    pub(crate) fn set(&mut self, entity: Entity, parent: Option<Id>) {
        self.parent = parent;
        (self.version, self.cascade) = (entity.version.max(1), entity.cascade);
        (self.created_at_ms, self.updated_at_ms) = (entity.created_at_ms, entity.updated_at_ms);
        self.weight = entity.weight.unwrap_or(0);
        let told = Told { name: entity.name, metadata: entity.metadata };
        self.told = Some(told).filter(|told| told.name.is_some() || !told.metadata.is_empty()).map(Box::new);
    }

    /// Forgets the record, and keeps what is set.
    pub(crate) fn forget(&mut self) {
        *self = Known { own: self.own.take(), ..Known::default() };
    }

    pub(crate) fn settings(&self, resource: Word) -> Option<&Arc<Settings>> {
        self.own.as_ref()?.iter().find(|(word, _)| *word == resource).map(|(_, settings)| settings)
    }

    pub(crate) fn set_settings(&mut self, resource: Word, settings: Option<Arc<Settings>>) {
        let own = self.own.get_or_insert_default();
        own.retain(|(word, _)| *word != resource);
        own.extend(settings.map(|settings| (resource, settings)));
        if own.is_empty() {
            self.own = None;
        }
    }

    fn is_nothing(&self) -> bool {
        self.version == 0 && self.own.is_none()
    }
}

impl Holder {
    /// Whether it says nothing and may be forgotten.
    pub(crate) fn is_nothing(&self) -> bool {
        self.accounts.is_none() && self.known.as_ref().is_none_or(|known| known.is_nothing())
    }

    pub(crate) fn has_record(&self) -> bool {
        self.known.as_ref().is_some_and(|known| known.version != 0)
    }

    /// The record as callers see it.
    pub(crate) fn entity(&self) -> Option<Entity> {
        let known = self.known.as_ref().filter(|known| known.version != 0)?;
        let told = known.told.as_ref();
        Some(Entity {
            id: shown(&self.id),
            name: told.and_then(|told| told.name.clone()),
            parent: known.parent.as_ref().map(|parent| shown(parent)),
            cascade: known.cascade,
            weight: Some(known.weight).filter(|weight| *weight != 0),
            metadata: told.map(|told| told.metadata.clone()).unwrap_or_default(),
            version: known.version,
            created_at_ms: known.created_at_ms,
            updated_at_ms: known.updated_at_ms,
        })
    }

    /// Its own settings that matter to a resource.
    pub(crate) fn own(&self, resource: Word, default: Word) -> OwnPair {
        let Some(known) = &self.known else { return OwnPair::default() };
        let of = |resource| known.settings(resource).cloned();
        OwnPair { exact: of(resource), default: of(default).filter(|_| resource != default) }
    }

    /// The account at a position.
    #[inline]
    pub(crate) fn account(&mut self, at: usize) -> &mut Account {
        nth(&mut self.accounts, at)
    }

    /// The position of the account that is the one.
    #[inline]
    pub(crate) fn position(&self, is: impl Fn(&Account) -> bool) -> Option<usize> {
        self.each_account().position(is)
    }

    pub(crate) fn each_account(&self) -> impl Iterator<Item = &Account> {
        std::iter::successors(self.accounts.as_deref(), |account| account.next.as_deref())
    }

    pub(crate) fn each_account_mut(&mut self, mut show: impl FnMut(&mut Account)) {
        let mut next = self.accounts.as_deref_mut();
        while let Some(account) = next {
            show(account);
            next = account.next.as_deref_mut();
        }
    }

    /// Puts an account at the end, and tells its position.
    pub(crate) fn add_account(&mut self, account: Account) -> usize {
        let mut at = 0;
        let mut place = &mut self.accounts;
        while let Some(taken) = place {
            at += 1;
            place = &mut taken.next;
        }
        *place = Some(Box::new(account));
        at
    }

    /// Drops accounts; tells how many.
    pub(crate) fn drop_accounts(&mut self, mut is_dropped: impl FnMut(&mut Account) -> bool) -> usize {
        let mut dropped = 0;
        let mut place = &mut self.accounts;
        while let Some(account) = place {
            if is_dropped(account) {
                *place = account.next.take();
                dropped += 1;
            } else {
                place = &mut place.as_mut().expect("it was just looked at").next;
            }
        }
        dropped
    }
}

/// The account at a position of the list that begins here.
#[inline]
pub(crate) fn nth(first: &mut Option<Box<Account>>, at: usize) -> &mut Account {
    let first = first.as_deref_mut().expect("an account stays where it is under its lock");
    (0..at).fold(first, |account, _| {
        account.next.as_deref_mut().expect("an account stays where it is under its lock")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entity_is_small() {
        assert!(size_of::<Option<Holder>>() <= 32, "{}", size_of::<Option<Holder>>());
        assert!(size_of::<Known>() <= 56, "{}", size_of::<Known>());
    }
}
