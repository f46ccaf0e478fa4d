//! Finding an account, or making it, and bringing it up to date with what is set.

use std::sync::Arc;

use tidegate_core::Nanos;
use tidegate_core::ledger::Term;
use tidegate_core::ledger::name::{self, Named};

use crate::account::Account;
use crate::holder::Holder;
use crate::ledger::Ledger;
use crate::refused::{Refused, shown};
use crate::resolved::{Resolved, number};
use crate::settings::Mode;
use crate::shard::{Shard, Who};
use crate::space::Space;
use crate::words::Word;

/// A resource or a limit, as callers name it or as it is numbered.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Name<'a> {
    Text(&'a str),
    Word(Word),
}

/// Where an account is, under the lock of its shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) holder: u32,
    pub(crate) account: usize,
}

/// Whether an account is made for whom no level has limits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Made {
    /// Never: it is refused.
    IfLimited,
    /// Also then.
    Always,
}

impl Name<'_> {
    #[inline]
    fn is_resource(&self, resolved: &Resolved) -> bool {
        match self {
            Name::Text(text) => *resolved.resource_name == **text,
            Name::Word(word) => resolved.resource == *word,
        }
    }

    #[inline]
    pub(crate) fn position(&self, resolved: &Resolved) -> Option<usize> {
        match self {
            Name::Text(text) => resolved.position_of(text),
            Name::Word(word) => resolved.position(*word),
        }
    }
}

impl Ledger {
    /// The stored account of an entity on a resource, up to date.
    #[inline]
    pub(crate) fn reach(
        &self,
        shard: &mut Shard,
        space: &Space,
        who: &Who<'_>,
        resource: Name<'_>,
        made: Made,
        now: Nanos,
    ) -> Result<Place, Refused> {
        let Some(at) = shard.find(who) else { return self.make(shard, space, who, resource, made, now) };
        let holder = shard.holder(at);
        let stored = |account: &Account| {
            account.resolved.call == Word::NONE && resource.is_resource(&account.resolved)
        };
        match holder.position(stored) {
            Some(account) => {
                self.refresh(space, holder, account, now);
                Ok(Place { holder: at, account })
            }
            None => self.make(shard, space, who, resource, made, now),
        }
    }

    #[cold]
    fn make(
        &self,
        shard: &mut Shard,
        space: &Space,
        who: &Who<'_>,
        resource: Name<'_>,
        made: Made,
        now: Nanos,
    ) -> Result<Place, Refused> {
        // What is numbered was checked when it got its number, or is a throttle key, which may be any bytes.
        let is_checked = matches!(resource, Name::Word(_));
        let resource = match resource {
            Name::Text(text) => {
                name::check(Named::Resource, text.as_bytes())?;
                self.words.intern(text)?
            }
            Name::Word(word) => word,
        };
        let resource_name = self.words.name(resource);
        let found = shard.find(who);
        let own = found.map(|at| shard.holder(at).own(resource, self.default_word)).unwrap_or_default();
        let resolved = space.resolve((resource, &resource_name), own, &self.defaults);
        // What is disabled is told to be so, limited or not.
        let limited = resolved.level.is_some() || resolved.mode == Some(Mode::Disabled);
        if !limited && made == Made::IfLimited {
            return Err(Refused::NoLimits { entity: shown(who.entity), resource: resource_name.to_string() });
        }
        let holder = match found {
            Some(at) => at,
            None => {
                if !is_checked {
                    name::check(Named::Entity, who.entity)?;
                }
                shard.holder_of(who)
            }
        };
        Ok(Place { holder, account: shard.add_account(holder, self.account(resolved, now)) })
    }

    /// A new account, here or of buckets in a table.
    pub(crate) fn account(&self, resolved: Arc<Resolved>, now: Nanos) -> Account {
        match self.remote {
            None => Account::new(resolved, now),
            Some(_) => Account::new_remote(resolved, now),
        }
    }

    /// Brings an account up to date with what is set.
    #[inline]
    pub(crate) fn refresh(&self, space: &Space, holder: &mut Holder, account: usize, now: Nanos) {
        if !holder.account(account).is_fresh(space.version()) {
            self.adopt(space, holder, account, now);
        }
    }

    #[cold]
    fn adopt(&self, space: &Space, holder: &mut Holder, account: usize, now: Nanos) {
        let old = Arc::clone(&holder.account(account).resolved);
        let own = holder.own(old.resource, self.default_word);
        let mut resolved = space.resolve((old.resource, &old.resource_name), own, &self.defaults);
        if old.call != Word::NONE {
            resolved = space.resolve_call(&resolved, old.call, Arc::clone(&old.terms));
        }
        holder.account(account).adopt(resolved, now);
    }

    /// Brings all accounts of a holder up to date. Those whose terms are others now are to be written down.
    pub(crate) fn adopt_all(&self, shard: &mut Shard, at: u32, now: Nanos) {
        let Some(holder) = shard.holders.get_mut(at) else { return };
        let (space, mut changed) = (self.at(holder.space), false);
        for account in 0..holder.each_account().count() {
            self.refresh(space, holder, account, now);
            changed |= holder.account(account).is_changed();
        }
        if changed {
            shard.changed.set(at);
            self.note_change();
        }
    }

    /// The account of a limit that came with the call, beside a stored one.
    pub(crate) fn reach_call(
        &self,
        shard: &mut Shard,
        space: &Space,
        stored: Place,
        term: &Term,
        now: Nanos,
    ) -> Result<Place, Refused> {
        let holder = shard.holder(stored.holder);
        let resource = holder.account(stored.account).resolved.resource;
        let found = holder.position(|account| {
            let resolved = &account.resolved;
            resolved.call != Word::NONE
                && resolved.resource == resource
                && resolved.terms.iter().any(|at| at.is(term))
        });
        if let Some(account) = found {
            self.refresh(space, holder, account, now);
            return Ok(Place { account, ..stored });
        }
        let call = self.words.intern(&term.to_string())?;
        let terms = number(&self.words, std::slice::from_ref(term))?;
        let resolved = space.resolve_call(&holder.account(stored.account).resolved, call, terms);
        let mut account = self.account(resolved, now);
        // What came with the call need not be loaded.
        if let Some(remote) = account.remote() {
            remote.set_loaded(true);
        }
        let account = shard.add_account(stored.holder, account);
        Ok(Place { account, ..stored })
    }

    /// What holds for an entity on a resource, without an account, and who is above it. Looks at one shard.
    pub(crate) fn look(&self, space: &Space, entity: &[u8], resource: (Word, &Arc<str>)) -> Looked {
        let who = self.who(space.id, entity);
        let mut shard = self.shards.lock(who.shard());
        let holder = shard.find(&who).map(|at| &*shard.holder(at));
        let own = holder.map(|holder| holder.own(resource.0, self.default_word)).unwrap_or_default();
        let known = holder.and_then(|holder| holder.known.as_ref());
        let (parent, cascade) = known.map_or((None, false), |known| (known.parent.clone(), known.cascade));
        drop(shard);
        let resolved = space.resolve(resource, own, &self.defaults);
        let cascade = resolved.cascade.unwrap_or(cascade);
        Looked { parent: parent.filter(|_| cascade), cascade, resolved }
    }
}

/// See [`Ledger::look`].
pub(crate) struct Looked {
    pub(crate) resolved: Arc<Resolved>,
    pub(crate) cascade: bool,
    /// The parent, if it is charged, too.
    pub(crate) parent: Option<crate::id::Id>,
}
