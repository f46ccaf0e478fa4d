//! Asking for what was used.

use tidegate_core::ledger::Window;
use tidegate_store::history::{Usage, UsageQuery};

use super::answer::Answer;
use super::place::{at, index_prefix, sort_prefix, start_ms, word};
use crate::fault::Fault;
use crate::layout::attribute::{key_of, text};
use crate::layout::key::{Key, Nsid, entity_pk, resource_pk};
use crate::table::get::Freshness;
use crate::table::handle::Table;
use crate::table::query::{Index, Places, Query};

/// Parts that are read for one answer, at most: some 1 MB each.
const PARTS: usize = 300;

/// A hand-made query, and whether what it finds are only keys.
struct Look {
    query: Query,
    keys_only: bool,
}

impl Table {
    /// What Tidegate's nodes have used, as the history on disk answers the same query.
    pub async fn usage(&self, ns: &Nsid, query: &UsageQuery<'_>) -> Result<Usage, Fault> {
        let mut answer = Answer::new(query);
        if query.from_ms >= query.to_ms {
            return Ok(answer.into_usage());
        }
        let look = look(ns, query);
        let mut from = None;
        for _ in 0..PARTS {
            let part = self.query(&look.query, from).await?;
            if look.keys_only {
                let keys: Vec<Key> = part.items.iter().filter_map(key_of).collect();
                let items = self.get_all(&keys, Freshness::Eventual).await?;
                items.values().for_each(|item| answer.add(item));
            } else {
                part.items.iter().for_each(|item| answer.add(item));
            }
            from = part.next;
            if from.is_none() {
                return Ok(answer.into_usage());
            }
        }
        answer.cut();
        Ok(answer.into_usage())
    }
}

/// Where the answer is found with the least reading.
fn look(ns: &Nsid, query: &UsageQuery<'_>) -> Look {
    let window = query.window;
    let first = start_ms(window, window.start_ms(query.from_ms));
    // The last window begins before; its item may begin earlier still, but not later.
    let last = query.to_ms;
    let between =
        |prefix: String| Places::Between(format!("{prefix}{}", at(first)), format!("{prefix}{}", at(last)));
    match (query.entity, query.resource) {
        (Some(entity), Some(resource)) => Look {
            query: Query::at(Index::Table, entity_pk(ns, entity), between(sort_prefix(window, resource))),
            keys_only: false,
        },
        (Some(entity), None) if window == Window::Minute => Look {
            query: Query::at(Index::Table, entity_pk(ns, entity), Places::From("#MINUTES#".into())),
            keys_only: false,
        },
        (Some(entity), None) => Look {
            query: Query::at(Index::Table, entity_pk(ns, entity), Places::From("#USAGE#".into())).filter(
                |filter| {
                    filter.require_equal("window", text(word(window)));
                },
            ),
            keys_only: false,
        },
        (None, Some(resource)) if window != Window::Minute => Look {
            query: Query::at(Index::Gsi2, resource_pk(ns, resource), between(index_prefix(window))),
            keys_only: false,
        },
        (None, _) => Look {
            query: Query::at(Index::Gsi4, ns.as_str(), between(index_prefix(window))).page(1_000),
            keys_only: true,
        },
    }
}
