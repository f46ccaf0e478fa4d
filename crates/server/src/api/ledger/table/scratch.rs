//! What a question is about, read from the table into a ledger of its own.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use tidegate_core::Nanos;
use tidegate_dynamodb::{Nsid, Row, Seen, SeenValue, Table};
use tidegate_ledger::{Edit, Entity, Kept, Ledger, MAX_LEVELS, Options, Plan, Scope, ScopeSettings, SpaceId};

use super::fault::refusal;
use crate::api::Refusal;

/// Children that are asked for at once.
const CHILDREN: usize = 1_000;

/// A ledger that knows only what was read for one question.
pub struct Scratch<'a> {
    pub ledger: Ledger,
    pub space: SpaceId,
    namespace: &'a str,
    table: &'a Table,
    /// Where to read; nothing if nobody has ever written into the namespace.
    nsid: Option<&'a Nsid>,
    seen: Vec<Seen>,
    known: BTreeSet<Vec<u8>>,
    /// What is there and is not understood, by row: it is refused where it would be used or changed.
    unsupported: BTreeMap<Vec<u8>, String>,
}

impl<'a> Scratch<'a> {
    /// One that knows nothing yet.
    pub fn new(
        options: &Options,
        namespace: &'a str,
        table: &'a Table,
        nsid: Option<&'a Nsid>,
    ) -> Result<Scratch<'a>, Refusal> {
        let ledger = Ledger::new(options.clone());
        let space = ledger.space(namespace)?;
        let (seen, known, unsupported) = (Vec::new(), BTreeSet::new(), BTreeMap::new());
        Ok(Scratch { ledger, space, namespace, table, nsid, seen, known, unsupported })
    }

    /// Refuses a row that is there and is not understood.
    pub fn check(&self, row: &Row) -> Result<(), Refusal> {
        self.unsupported.get(&name(row)).map_or(Ok(()), |why| Err(Refusal::unsupported_in_table(why)))
    }

    /// Refuses if any row is not understood.
    pub fn check_all(&self) -> Result<(), Refusal> {
        self.unsupported.values().next().map_or(Ok(()), |why| Err(Refusal::unsupported_in_table(why)))
    }

    /// What was read, for whoever commits what was made of it.
    pub fn seen(&self) -> &[Seen] {
        &self.seen
    }

    /// Whether an entity is there.
    pub fn entity(&self, id: &[u8]) -> Option<std::sync::Arc<Entity>> {
        self.ledger.entity(self.space, id)
    }

    /// What an edit would do.
    pub fn plan(&self, edit: &Edit, now: Nanos) -> Result<Plan, Refusal> {
        Ok(self.ledger.plan(self.space, edit, now)?)
    }

    /// Reads rows that are not known yet.
    pub async fn read(&mut self, rows: impl IntoIterator<Item = Row>) -> Result<(), Refusal> {
        let Some(nsid) = self.nsid else { return Ok(()) };
        let known = &mut self.known;
        let rows: Vec<Row> = rows.into_iter().filter(|row| known.insert(name(row))).collect();
        if rows.is_empty() {
            return Ok(());
        }
        let seen = self.table.read(nsid, &rows).await.map_err(|fault| refusal(&fault))?;
        self.take_in(seen)
    }

    /// The manifest that was applied last.
    pub async fn manifest(&self) -> Result<Option<Vec<u8>>, Refusal> {
        match self.nsid {
            Some(nsid) => self.table.manifest(nsid).await.map_err(|fault| refusal(&fault)),
            None => Ok(None),
        }
    }

    /// Reads entities and all that are above them.
    pub async fn read_up(&mut self, ids: Vec<Vec<u8>>) -> Result<(), Refusal> {
        let mut ids = ids;
        // One level more than there may be: whoever is too deep is found out by the ledger.
        for _ in 0..=MAX_LEVELS {
            if ids.is_empty() {
                return Ok(());
            }
            self.read(ids.iter().cloned().map(Row::Entity)).await?;
            let parent = |id: &Vec<u8>| Some(self.entity(id)?.parent.clone()?.into_bytes());
            let above: BTreeSet<Vec<u8>> = ids.iter().filter_map(parent).collect();
            ids = above.into_iter().filter(|id| !self.known.contains(&entity_name(id))).collect();
        }
        Ok(())
    }

    /// Reads what is below an entity, as far down as anything may be.
    pub async fn read_down(&mut self, id: &[u8]) -> Result<(), Refusal> {
        let mut level = vec![id.to_vec()];
        for _ in 0..MAX_LEVELS {
            let mut below = Vec::new();
            for id in &level {
                below.extend(self.read_children(id, |_| true).await?);
            }
            if below.is_empty() {
                return Ok(());
            }
            level = below;
        }
        Ok(())
    }

    /// Reads the children of an entity for as long as `more` says so of the last one.
    pub async fn read_children(
        &mut self,
        id: &[u8],
        more: impl Fn(&str) -> bool,
    ) -> Result<Vec<Vec<u8>>, Refusal> {
        let Some(nsid) = self.nsid else { return Ok(Vec::new()) };
        let (mut ids, mut after) = (Vec::new(), None::<Vec<u8>>);
        loop {
            let page = self.table.children(nsid, id, after.as_deref(), CHILDREN).await;
            let page = page.map_err(|fault| refusal(&fault))?;
            let go_on = !page.is_last && page.items.iter().all(|child| more(&child.id));
            after = page.items.last().map(|child| child.id.clone().into_bytes());
            for child in page.items {
                ids.push(child.id.clone().into_bytes());
                self.put_entity(&child)?;
            }
            if !go_on {
                return Ok(ids);
            }
        }
    }

    /// Reads all that is set for one entity.
    pub async fn read_scopes_of(&mut self, id: &[u8]) -> Result<(), Refusal> {
        let Some(nsid) = self.nsid else { return Ok(()) };
        let seen = self.table.scopes_of(nsid, id).await.map_err(|fault| refusal(&fault))?;
        let fresh = seen.into_iter().filter(|seen| self.known.insert(name(&seen.row))).collect();
        self.take_in(fresh)
    }

    /// Takes an entity over as it was read.
    pub fn put_entity(&self, entity: &Entity) -> Result<(), Refusal> {
        let (space, id) = (self.namespace.to_owned(), entity.id.clone().into_bytes());
        Ok(self.ledger.apply(&[Kept::Entity { space, id, json: json(entity) }], 0)?)
    }

    /// Takes over what is set at a level as it was read.
    pub fn put_scope(&self, scope: &Scope, settings: &ScopeSettings) -> Result<(), Refusal> {
        let (space, key) = (self.namespace.to_owned(), scope.to_bytes());
        Ok(self.ledger.apply(&[Kept::Scope { space, key, json: json(settings) }], 0)?)
    }

    /// Takes over what was read.
    pub fn take_in(&mut self, seen: Vec<Seen>) -> Result<(), Refusal> {
        for one in seen {
            if let Some(why) = &one.unsupported {
                self.unsupported.insert(name(&one.row), why.clone());
            }
            match (&one.value, &one.row) {
                (SeenValue::Entity(Some(entity)), _) => self.put_entity(entity)?,
                (SeenValue::Scope(Some(settings)), Row::Scope(scope)) => self.put_scope(scope, settings)?,
                _ => {}
            }
            self.seen.push(one);
        }
        Ok(())
    }
}

fn json(value: &impl Serialize) -> Option<Vec<u8>> {
    serde_json::to_vec(value).ok()
}

fn entity_name(id: &[u8]) -> Vec<u8> {
    [b"entity ", id].concat()
}

fn name(row: &Row) -> Vec<u8> {
    match row {
        Row::Entity(id) => entity_name(id),
        Row::Scope(scope) => [&b"scope "[..], &scope.to_bytes()].concat(),
    }
}
