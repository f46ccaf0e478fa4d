//! Listing, deleting, recovering and purging namespaces.

use super::lookup::PARTS;
use super::record::{Namespace, State};
use crate::fault::Fault;
use crate::layout::attribute::{key_of, text};
use crate::layout::expression::Expression;
use crate::layout::key::{self, Key, Nsid, system_pk};
use crate::layout::time;
use crate::table::get::Freshness;
use crate::table::handle::Table;
use crate::table::query::{Index, Places, Query};
use crate::table::transact::{Token, Transacted, Write};

/// How often a purge looks again for what the index did not show yet.
const ROUNDS: usize = 3;

impl Table {
    /// All namespaces, deleted ones included, by name.
    pub async fn namespaces(&self) -> Result<Vec<Namespace>, Fault> {
        let by_id = Places::From(key::NSID.to_owned());
        let query = Query::at(Index::Table, system_pk(&Nsid::reserved()), by_id).consistent();
        let part = self.query_some(&query, usize::MAX, PARTS).await?;
        let mut found: Vec<Namespace> = part.items.iter().filter_map(Namespace::read).collect();
        found.sort_by(|a, b| (&a.name, a.created_at_ms).cmp(&(&b.name, b.created_at_ms)));
        Ok(found)
    }

    /// Takes a namespace's name away. What it has is kept, and nobody can use it.
    pub async fn delete_namespace(&self, name: &str, now_ms: u64) -> Result<(), Fault> {
        let item = self.get(&Key::namespace(name), Freshness::Consistent).await?;
        let Some(found) = item.as_ref().and_then(Namespace::read) else {
            return Err(match self.removed(name).await?.is_empty() {
                true => Fault::NoNamespace(name.to_owned()),
                false => Fault::Deleted(name.to_owned()),
            });
        };
        let mut same = Expression::new();
        same.require_equal("namespace_id", text(found.id.as_str()));
        let mut deleted = Expression::new();
        deleted.set("status", text(State::Deleted.as_str())).set("deleted_at", text(time::text(now_ms)));
        deleted.require_present("PK");
        let writes =
            [Write::Delete(Key::namespace(name), same), Write::Update(Key::nsid(&found.id), deleted)];
        self.transact_namespace(name, &writes).await
    }

    /// Gives a namespace that was deleted its name back: the one deleted last.
    pub async fn recover_namespace(&self, name: &str) -> Result<(), Fault> {
        let removed = self.removed(name).await?;
        let Some(found) = removed.into_iter().find(|found| found.state == State::Deleted) else {
            return Err(Fault::NoNamespace(name.to_owned()));
        };
        let active = Namespace { state: State::Active, deleted_at_ms: None, ..found };
        let mut absent = Expression::new();
        absent.require_absent("PK");
        let mut recovered = Expression::new();
        recovered.set("status", text(State::Active.as_str())).remove("deleted_at");
        recovered.require_equal("status", text(State::Deleted.as_str()));
        let writes = [Write::Put(active.by_name(), absent), Write::Update(Key::nsid(&active.id), recovered)];
        self.transact_namespace(name, &writes).await
    }

    /// Deletes all that deleted namespaces of this name have. If it fails, it can be called again.
    pub async fn purge_namespace(&self, name: &str) -> Result<(), Fault> {
        let removed = self.removed(name).await?;
        if removed.is_empty() {
            return Err(Fault::NoNamespace(name.to_owned()));
        }
        for namespace in removed {
            self.purge(&namespace.id).await?;
        }
        self.forget_space(name);
        Ok(())
    }

    async fn purge(&self, id: &Nsid) -> Result<(), Fault> {
        let mut purging = Expression::new();
        purging.set("status", text(State::Purging.as_str()));
        let status = purging.name("status");
        let active = purging.value(text(State::Active.as_str()));
        // Nobody recovers it from here on; one that was recovered a moment ago stays.
        purging.require_present("PK").require(format!("{status} <> {active}"));
        if self.update(&Key::nsid(id), &purging).await? != crate::table::write::Written::Done {
            return Err(Fault::Conflict(format!("the namespace with id `{}`", id.as_str())));
        }
        for _ in 0..ROUNDS {
            if !self.purge_items(id).await? {
                break;
            }
        }
        self.delete_all(&[Key::nsid(id)]).await
    }

    /// Deletes all that the index shows. True if it showed anything.
    async fn purge_items(&self, id: &Nsid) -> Result<bool, Fault> {
        let query = Query::at(Index::Gsi4, id.as_str(), Places::All);
        let (mut from, mut any) = (None, false);
        loop {
            let part = self.query(&query, from).await?;
            let keys: Vec<Key> = part.items.iter().filter_map(key_of).collect();
            any |= !keys.is_empty();
            self.delete_all(&keys).await?;
            from = part.next;
            if from.is_none() {
                return Ok(any);
            }
        }
    }

    async fn transact_namespace(&self, name: &str, writes: &[Write]) -> Result<(), Fault> {
        let transacted = self.transact(writes, &Token::new()).await?;
        self.forget_space(name);
        match transacted {
            Transacted::Done => Ok(()),
            Transacted::Refused(_) => Err(Fault::Conflict(format!("the namespace `{name}`"))),
        }
    }
}
