//! Listing entities, children and settings, a page at a time, in order of their ids.
//!
//! Which there are is read from an index, which may be a moment behind; what they say is read from the table.

use std::collections::BTreeSet;

use tidegate_ledger::{Entity, Scope};

use super::row::{Row, Seen};
use crate::fault::Fault;
use crate::layout::attribute::{Item, key_of, text, text_of};
use crate::layout::escape::{escaped, unescaped};
use crate::layout::expression::Expression;
use crate::layout::key::{self, Key, Nsid, entity_of, index};
use crate::layout::{entity, scope};
use crate::table::get::Freshness;
use crate::table::handle::Table;
use crate::table::query::{Index, Places, Query};

/// Keys looked at for one part of an index.
const LOOKED_AT: usize = 1_000;

/// Parts that are read for one page, at most: an index of keys holds more than what a page is about.
const PARTS: usize = 500;

/// The most of a page.
const MOST: usize = 10_000;

/// The sign after all that an id begins with.
const LAST: &str = "~";

/// Some of what there is.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T> {
    /// In order.
    pub items: Vec<T>,
    /// Whether there is nothing after it.
    pub is_last: bool,
}

impl<T> Page<T> {
    /// At most so many of what was found.
    fn cut(mut items: Vec<T>, max: usize, is_end: bool) -> Page<T> {
        let is_last = is_end && items.len() <= max;
        items.truncate(max);
        Page { items, is_last }
    }
}

fn entity_places(ns: &Nsid, after: Option<&[u8]>) -> Places {
    Places::after(&format!("{}/ENTITY#", ns.as_str()), after.map(escaped).as_deref())
}

/// Only items whose sort key this condition holds for, over its alias and that of a text.
fn whose_place(query: Query, told: &str, condition: impl FnOnce(&str, &str) -> String) -> Query {
    query.filter(|filter: &mut Expression| {
        let (name, value) = (filter.name("SK"), filter.value(text(told)));
        filter.require(condition(&name, &value));
    })
}

impl Table {
    /// Entities that have a record.
    pub async fn entities(&self, ns: &Nsid, after: Option<&[u8]>, max: usize) -> Result<Page<Entity>, Fault> {
        let max = max.clamp(1, MOST);
        let query = Query::at(Index::Gsi4, ns.as_str(), entity_places(ns, after)).page(LOOKED_AT);
        let query = whose_place(query, key::META, |name, value| format!("{name} = {value}"));
        let part = self.query_some(&query, max + 1, PARTS).await?;
        let mut keys: Vec<Key> = part.items.iter().filter_map(key_of).collect();
        let is_end = part.next.is_none() && keys.len() <= max;
        keys.truncate(max);
        let mut items = self.get_all(&keys, Freshness::Consistent).await?;
        let found: Vec<Item> = keys.iter().filter_map(|key| items.remove(key)).collect();
        Ok(Page { items: entities(&found)?, is_last: is_end })
    }

    /// The entities right below one.
    pub async fn children(
        &self,
        ns: &Nsid,
        parent: &[u8],
        after: Option<&[u8]>,
        max: usize,
    ) -> Result<Page<Entity>, Fault> {
        let max = max.clamp(1, MOST);
        let places = Places::after("CHILD#", after.map(escaped).as_deref());
        let query = Query::at(Index::Gsi1, index::parent(ns, parent), places).page(max + 1);
        let part = self.query_some(&query, max + 1, PARTS).await?;
        Ok(Page::cut(entities(&part.items)?, max, part.next.is_none()))
    }

    /// Entities with settings of their own, and for which resource.
    pub async fn custom(
        &self,
        ns: &Nsid,
        resource: Option<&str>,
        after: Option<(&[u8], &str)>,
        max: usize,
    ) -> Result<Page<(Vec<u8>, String)>, Fault> {
        let max = max.clamp(1, MOST);
        match resource {
            Some(resource) => self.custom_for(ns, resource, after.map(|(id, _)| id), max).await,
            None => self.custom_for_any(ns, after, max).await,
        }
    }

    async fn custom_for(
        &self,
        ns: &Nsid,
        resource: &str,
        after: Option<&[u8]>,
        max: usize,
    ) -> Result<Page<(Vec<u8>, String)>, Fault> {
        let places = match after {
            Some(after) => Places::Between(format!("{}\u{1}", escaped(after)), LAST.into()),
            None => Places::All,
        };
        let query = Query::at(Index::Gsi3, index::entity_config(ns, resource), places).page(max + 1);
        let part = self.query_some(&query, max + 1, PARTS).await?;
        let ids = part.items.iter().filter_map(|item| text_of(item, "GSI3SK"));
        let found = ids.map(|id| (unescaped(id), resource.to_owned())).collect();
        Ok(Page::cut(found, max, part.next.is_none()))
    }

    async fn custom_for_any(
        &self,
        ns: &Nsid,
        after: Option<(&[u8], &str)>,
        max: usize,
    ) -> Result<Page<(Vec<u8>, String)>, Fault> {
        let prefix = format!("{}/ENTITY#", ns.as_str());
        let places = match after {
            // Of this entity there may be more.
            Some((id, _)) => {
                Places::Between(format!("{prefix}{}", escaped(id)), format!("{}/ENTITY$", ns.as_str()))
            }
            None => Places::From(prefix),
        };
        let query = Query::at(Index::Gsi4, ns.as_str(), places).page(LOOKED_AT);
        let query = whose_place(query, "#CONFIG#", |name, value| format!("begins_with({name}, {value})"));
        // One more than a page and what may be before it.
        let enough = max + 1 + usize::from(after.is_some());
        let part = self.query_some(&query, enough, PARTS).await?;
        let mut found = BTreeSet::new();
        for item in &part.items {
            let Some(key) = key_of(item) else { continue };
            if let Some(Scope::Entity(id, resource)) = scope::of_key(ns, &key) {
                found.insert((escaped(&id), resource));
            }
        }
        if let Some(next) = part.next.as_ref().and_then(|next| entity_of(ns, text_of(next, "PK")?)) {
            // The index has one entity's settings in no order, and not all of the last one's were read.
            let next = escaped(&next);
            if found.first().is_some_and(|(id, _)| *id != next) {
                found.retain(|(id, _)| *id != next);
            }
        }
        if let Some((id, resource)) = after {
            let after = (escaped(id), resource.to_owned());
            found = found.split_off(&after);
            found.remove(&after);
        }
        let found = found.into_iter().map(|(id, resource)| (unescaped(&id), resource)).collect();
        Ok(Page::cut(found, max, part.next.is_none()))
    }

    /// All that is set on one entity, as it is now, in order of resources.
    pub async fn scopes_of(&self, ns: &Nsid, id: &[u8]) -> Result<Vec<Seen>, Fault> {
        let places = Places::From(format!("{}#", key::CONFIG));
        let query = Query::at(Index::Table, key::entity_pk(ns, id), places).consistent();
        let part = self.query_some(&query, usize::MAX, PARTS).await?;
        let seen = part.items.into_iter().filter_map(|item| {
            let scope = scope::of_key(ns, &key_of(&item)?)?;
            Some(Seen::new(Row::Scope(scope), Some(item)))
        });
        Ok(seen.collect())
    }

    /// Resources that something is set on, by name.
    pub async fn resources(&self, ns: &Nsid) -> Result<Vec<String>, Fault> {
        let registry = self.get(&Key::resources(ns), Freshness::Consistent).await?;
        let listed = registry.as_ref().and_then(|item| item.get("resources")?.as_ss().ok());
        let mut names: BTreeSet<String> = listed.into_iter().flatten().cloned().collect();
        // Who only sets a flag is not in the registry of others.
        let places = Places::From(format!("{}/RESOURCE#", ns.as_str()));
        let query = Query::at(Index::Gsi4, ns.as_str(), places);
        let query = whose_place(query, key::CONFIG, |name, value| format!("{name} = {value}"));
        let part = self.query_some(&query, usize::MAX, PARTS).await?;
        let keys = part.items.iter().filter_map(key_of);
        names.extend(keys.filter_map(|key| match scope::of_key(ns, &key)? {
            Scope::Resource(resource) => Some(resource),
            _ => None,
        }));
        Ok(names.into_iter().collect())
    }

    /// All that is set in a namespace: system, resources, entities; at most so much, in order. What sets nothing is left out.
    pub async fn scopes(&self, ns: &Nsid, max: usize) -> Result<Page<Seen>, Fault> {
        let mut scopes = vec![Scope::System];
        scopes.extend(self.resources(ns).await?.into_iter().map(Scope::Resource));
        let mut after: Option<(Vec<u8>, String)> = None;
        let mut is_last = true;
        loop {
            let from = after.as_ref().map(|(id, resource)| (&id[..], &resource[..]));
            let page = self.custom(ns, None, from, MOST).await?;
            scopes
                .extend(page.items.iter().map(|(id, resource)| Scope::Entity(id.clone(), resource.clone())));
            after = page.items.last().cloned();
            if page.is_last || after.is_none() {
                break;
            }
            if scopes.len() > max {
                is_last = false;
                break;
            }
        }
        let rows: Vec<Row> = scopes.into_iter().map(Row::Scope).collect();
        let mut seen = self.read(ns, &rows).await?;
        seen.retain(|seen| seen.item.is_some() && (seen.is_set() || seen.unsupported.is_some()));
        Ok(Page::cut(seen, max, is_last))
    }
}

fn entities(items: &[Item]) -> Result<Vec<Entity>, Fault> {
    items.iter().map(entity::read).collect::<Result<_, _>>().map_err(Fault::Layout)
}
