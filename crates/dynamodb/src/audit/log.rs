//! Writing and reading events.

use std::sync::LazyLock;

use tidegate_ledger::Event;
use tidegate_store::history::{AuditEvent, AuditQuery};

use super::record;
use super::ulid::{self, Ulids};
use crate::fault::Fault;
use crate::layout::attribute::{Item, key_of, text};
use crate::layout::key::{AUDIT, Key, Nsid, audit_pk};
use crate::table::get::Freshness;
use crate::table::handle::Table;
use crate::table::query::{Index, Places, Query};

/// Parts that are read for one page, at most: some thousand events each.
const PARTS: usize = 200;

/// The most of a page.
const MOST: usize = 10_000;

/// Rise over all tables of a process.
static NAMES: LazyLock<Ulids> = LazyLock::new(Ulids::default);

/// An event with the name that it is kept under: sent again it is the same one.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// The event.
    pub event: Event,
    name: String,
}

impl Named {
    /// Gives an event its name.
    pub fn new(event: Event) -> Named {
        let name = NAMES.next(event.at_ms);
        Named { event, name }
    }
}

impl Table {
    /// Keeps events. If it fails, some may be kept; sent again, none is there twice.
    pub async fn put_audit(&self, ns: &Nsid, events: &[Named]) -> Result<(), Fault> {
        let kept_ms = self.settings().retention.audit_ms;
        let items = events.iter().map(|named| record::item(ns, &named.event, &named.name, kept_ms)).collect();
        self.put_all(items).await
    }

    /// Events, newest first, as the history on disk answers the same query.
    pub async fn audit(&self, ns: &Nsid, query: &AuditQuery<'_>) -> Result<Vec<AuditEvent>, Fault> {
        let from = ulid::number_at(query.from_ms);
        let to = ulid::number_at(query.to_ms).min(query.before.unwrap_or(u64::MAX));
        if from >= to {
            return Ok(Vec::new());
        }
        let max = query.max.clamp(1, MOST);
        // Both ends are part of it; a name of exactly the first number after the last one wanted is cut off below.
        let (first, last) = (place(from), place(to));
        let items = match query.subject {
            Some(subject) => self.audit_of(audit_pk(ns, subject), (first, last), max).await?,
            None => self.audit_of_all(ns, (first, last), max).await?,
        };
        let events = items.iter().filter_map(record::read).filter(|event| (from..to).contains(&event.seq));
        Ok(events.take(max).collect())
    }

    async fn audit_of(
        &self,
        pk: String,
        (first, last): (String, String),
        max: usize,
    ) -> Result<Vec<Item>, Fault> {
        let query = Query::at(Index::Table, pk, Places::Between(first, last));
        let query = query.newest_first().consistent().page(max + 1);
        Ok(self.query_some(&query, max + 1, PARTS).await?.items)
    }

    /// The index has them by subject, so all their keys are read, and the newest ones found.
    async fn audit_of_all(
        &self,
        ns: &Nsid,
        (first, last): (String, String),
        max: usize,
    ) -> Result<Vec<Item>, Fault> {
        let query = Query::at(Index::Gsi4, ns.as_str(), Places::From(format!("{}/AUDIT#", ns.as_str())));
        let query = query.filter(|filter| {
            let name = filter.name("SK");
            let (first, last) = (filter.value(text(first)), filter.value(text(last)));
            filter.require(format!("{name} BETWEEN {first} AND {last}"));
        });
        let part = self.query_some(&query, usize::MAX, PARTS).await?;
        let mut keys: Vec<Key> = part.items.iter().filter_map(key_of).collect();
        keys.sort_unstable_by(|a, b| b.sk.cmp(&a.sk));
        keys.truncate(max + 1);
        let mut items = self.get_all(&keys, Freshness::Consistent).await?;
        Ok(keys.iter().filter_map(|key| items.remove(key)).collect())
    }
}

fn place(number: u64) -> String {
    format!("{AUDIT}{}", ulid::first_of(number))
}
