//! Buckets that are closed for a while, for all nodes. Their items come in the order of their ends, so that a look meets those
//! that are closed now and nothing else.

use super::handle::Table;
use super::query::{Index, Places, Query};
use crate::fault::Fault;
use crate::layout::attribute::{Item, item, number, number_of, text, text_of};
use crate::layout::escape::{escaped, unescaped};
use crate::layout::expression::Expression;
use crate::layout::key::{CLOSED, Key, Nsid, system_pk};

/// How long an item stays after its end, for clocks that differ.
const KEPT_S: u64 = 60;

/// Parts of a look, at most.
const PARTS: usize = 16;

/// An account that is closed for a while.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Closing {
    /// Its namespace.
    pub space: String,
    /// The id of that: another one of the same name is none of it.
    pub ns: Nsid,
    /// Whose.
    pub entity: Vec<u8>,
    /// For what.
    pub resource: String,
    /// Until when, in milliseconds.
    pub until_ms: u64,
}

impl Closing {
    fn of(item: &Item) -> Option<Closing> {
        Some(Closing {
            space: text_of(item, "namespace_name")?.to_owned(),
            ns: Nsid::new(text_of(item, "namespace_id")?),
            entity: unescaped(text_of(item, "entity_id")?),
            resource: text_of(item, "resource")?.to_owned(),
            until_ms: number_of(item, "closed_until")?,
        })
    }
}

impl Table {
    /// Tells all nodes. To say the same twice is to say it once.
    pub async fn close(&self, closing: &Closing) -> Result<(), Fault> {
        let Closing { space, ns, entity, resource, until_ms } = closing;
        let key = Key::closing(ns, entity, resource, *until_ms);
        let mut write = Expression::new();
        for (name, value) in item(&key, ns, &key.sk) {
            if name != "PK" && name != "SK" {
                write.set(&name, value);
            }
        }
        write.set("namespace_name", text(&**space));
        write.set("namespace_id", text(ns.as_str()));
        write.set("entity_id", text(escaped(entity)));
        write.set("resource", text(&**resource));
        write.set("closed_until", number(until_ms));
        write.set("ttl", number(until_ms / 1000 + KEPT_S));
        self.update(&key, &write).await.map(drop)
    }

    /// What is closed at a time. May be a moment behind.
    pub async fn closings(&self, now_ms: u64) -> Result<Vec<Closing>, Fault> {
        let stem = CLOSED.trim_end_matches('#');
        let places = Places::Between(format!("{CLOSED}{:016}", now_ms.saturating_add(1)), format!("{stem}$"));
        let query = Query::at(Index::Table, system_pk(&Nsid::reserved()), places);
        let found = self.query_some(&query, usize::MAX, PARTS).await?;
        Ok(found.items.iter().filter_map(Closing::of).collect())
    }
}
