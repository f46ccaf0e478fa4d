//! From a name to an id.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use super::record::{Namespace, State};
use crate::fault::Fault;
use crate::layout::attribute::text;
use crate::layout::expression::Expression;
use crate::layout::key::{self, Key, Nsid, system_pk};
use crate::random;
use crate::table::get::Freshness;
use crate::table::handle::Table;
use crate::table::query::{Index, Places, Query};
use crate::table::transact::{Token, Transacted, Write};

/// The namespace that is always there.
const DEFAULT: &str = "default";

/// Parts that are read of the registry, at most: some 5,000 namespaces each.
pub(super) const PARTS: usize = 200;

/// Names that are remembered, at most: who makes names up cannot fill the memory.
const MOST_KNOWN: usize = 10_000;

/// What is known of a name, for a while.
#[derive(Clone, Debug)]
pub struct Known {
    /// Nothing while it is looked up for the first time.
    what: Option<What>,
    until: Instant,
    /// Tells it from what was known of the same name before it was forgotten.
    number: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    Active(Nsid),
    Deleted,
    Absent,
}

/// Numbers of what is known.
static NUMBERS: AtomicU64 = AtomicU64::new(0);

impl Table {
    /// The id of a namespace. One that nobody has used is registered.
    pub async fn space(&self, name: &str, now_ms: u64) -> Result<Nsid, Fault> {
        if let Some(id) = self.find_space(name).await? {
            return Ok(id);
        }
        self.register(name, now_ms).await?;
        // Whoever was first has given it its id.
        self.forget_space(name);
        self.find_space(name).await?.ok_or_else(|| Fault::NoNamespace(name.to_owned()))
    }

    /// The id of a namespace that somebody has used; a fault if it is deleted.
    pub async fn find_space(&self, name: &str) -> Result<Option<Nsid>, Fault> {
        let before = self.begin(name);
        let what = match before.what {
            Some(what) if before.until > Instant::now() => what,
            last => match self.look_up(name).await {
                Ok(what) => {
                    self.remember(name, before.number, what.clone());
                    what
                }
                // While the table cannot be asked, what it said last holds.
                Err(fault) if fault.is_retryable() => last.ok_or(fault)?,
                Err(fault) => return Err(fault),
            },
        };
        match what {
            What::Active(id) => Ok(Some(id)),
            What::Absent => Ok(None),
            What::Deleted => Err(Fault::Deleted(name.to_owned())),
        }
    }

    /// Has a name looked up again: it was deleted or recovered. What is being looked up now is not remembered.
    pub fn forget_space(&self, name: &str) {
        self.known(|known| drop(known.remove(name)));
    }

    /// What is known of a name. If that is nothing, a place for it.
    fn begin(&self, name: &str) -> Known {
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let nothing = Known { what: None, until: Instant::now(), number };
        self.known(|known| {
            if let Some(known) = known.get(name) {
                return known.clone();
            }
            if known.len() >= MOST_KNOWN {
                known.retain(|_, known| {
                    known.until > Instant::now()
                        && known.what.as_ref().is_some_and(|what| *what != What::Absent)
                });
            }
            if known.len() < MOST_KNOWN {
                known.insert(name.to_owned(), nothing.clone());
            }
            nothing
        })
    }

    /// Remembers what was looked up, unless the name was forgotten meanwhile.
    fn remember(&self, name: &str, number: u64, what: What) {
        let until = Instant::now() + Duration::from_millis(self.settings().config_refresh_ms);
        self.known(|known| {
            if let Some(known) = known.get_mut(name).filter(|known| known.number == number) {
                (known.what, known.until) = (Some(what), until);
            }
        });
    }

    async fn look_up(&self, name: &str) -> Result<What, Fault> {
        let item = self.get(&Key::namespace(name), Freshness::Consistent).await?;
        match item.as_ref().and_then(Namespace::read) {
            Some(found) if found.state == State::Active => Ok(What::Active(found.id)),
            Some(_) => Ok(What::Deleted),
            None if self.removed(name).await?.is_empty() => Ok(What::Absent),
            None => Ok(What::Deleted),
        }
    }

    /// The id of the namespace of this name that was deleted last, and can be recovered.
    pub(crate) async fn deleted_space(&self, name: &str) -> Result<Option<Nsid>, Fault> {
        let removed = self.removed(name).await?;
        Ok(removed.into_iter().find(|found| found.state == State::Deleted).map(|found| found.id))
    }

    /// The namespaces that once had this name, the one deleted last first.
    pub(super) async fn removed(&self, name: &str) -> Result<Vec<Namespace>, Fault> {
        let by_id = Places::From(key::NSID.to_owned());
        let query = Query::at(Index::Table, system_pk(&Nsid::reserved()), by_id).consistent();
        let query = query.filter(|filter| {
            filter.require_equal("namespace_name", text(name));
        });
        let part = self.query_some(&query, usize::MAX, PARTS).await?;
        let found = part.items.iter().filter_map(Namespace::read);
        let mut removed: Vec<Namespace> = found.filter(|found| found.state != State::Active).collect();
        removed.sort_by_key(|found| std::cmp::Reverse(found.deleted_at_ms));
        Ok(removed)
    }

    /// Registers a name, unless somebody has. True if it was done now.
    async fn register(&self, name: &str, now_ms: u64) -> Result<bool, Fault> {
        let namespace = Namespace::new(name, Nsid::new(&random::token()), now_ms);
        let mut absent = Expression::new();
        absent.require_absent("PK");
        let writes = [Write::Put(namespace.by_name(), absent.clone()), Write::Put(namespace.by_id(), absent)];
        Ok(self.transact(&writes, &Token::new()).await? == Transacted::Done)
    }

    /// Registers the namespace that is always there. True if it was missing.
    pub(crate) async fn register_default(&self, now_ms: u64) -> Result<bool, Fault> {
        match self.find_space(DEFAULT).await {
            Ok(Some(_)) => Ok(false),
            Ok(None) | Err(Fault::Deleted(_)) => self.register(DEFAULT, now_ms).await,
            Err(fault) => Err(fault),
        }
    }
}
