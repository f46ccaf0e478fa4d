//! An entity or a scope, as it was read.

use tidegate_ledger::{Entity, Kept, Scope, ScopeSettings};

use crate::fault::Fault;
use crate::layout::attribute::Item;
use crate::layout::escape::{self, escaped};
use crate::layout::key::{Key, Nsid};
use crate::layout::{entity, scope};
use crate::table::get::Freshness;
use crate::table::handle::Table;

/// What can be read and changed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Row {
    /// An entity.
    Entity(Vec<u8>),
    /// What is set somewhere.
    Scope(Scope),
}

impl Row {
    /// Where it is.
    pub fn key(&self, ns: &Nsid) -> Key {
        match self {
            Row::Entity(id) => Key::entity(ns, id),
            Row::Scope(scope) => scope::key(ns, scope),
        }
    }

    /// The row that is kept; none if it names none.
    pub fn of(kept: &Kept) -> Option<Row> {
        match kept {
            Kept::Entity { id, .. } => Some(Row::Entity(id.clone())),
            Kept::Scope { key, .. } => Some(Row::Scope(Scope::from_bytes(key)?)),
        }
    }

    /// Refuses an id that is too long to be part of a key.
    pub(super) fn check(&self) -> Result<(), Fault> {
        let (Row::Entity(id) | Row::Scope(Scope::Entity(id, _))) = self else { return Ok(()) };
        let most = escape::MAX_BYTES;
        match escaped(id).len() <= most {
            true => Ok(()),
            false => Err(Fault::layout(format!(
                "the id of {} is too long for the table: at most {most} bytes, where anything but letters, digits and \
                 _.:@/- counts three",
                self.told()
            ))),
        }
    }

    /// As people read it.
    pub fn told(&self) -> String {
        match self {
            Row::Entity(id) => format!("entity `{}`", String::from_utf8_lossy(id)),
            Row::Scope(Scope::System) => "what is set on the system".into(),
            Row::Scope(Scope::Resource(resource)) => format!("what is set on resource `{resource}`"),
            Row::Scope(Scope::Entity(id, resource)) => {
                format!("what is set on entity `{}` for resource `{resource}`", String::from_utf8_lossy(id))
            }
        }
    }
}

/// What a row says; none if it is not there.
#[derive(Clone, Debug, PartialEq)]
pub enum SeenValue {
    /// An entity.
    Entity(Option<Entity>),
    /// What is set somewhere.
    Scope(Option<ScopeSettings>),
}

/// A row as it was read. Whoever changes it hands this in, so that nothing is changed that was not read.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// Which row.
    pub row: Row,
    /// What it says. Nothing if it is not understood.
    pub value: SeenValue,
    /// What of it is not understood here, in words: then it cannot be changed.
    pub unsupported: Option<String>,
    /// The item, for whoever changes it.
    pub(super) item: Option<Item>,
}

impl Seen {
    /// A row that was looked for, and its item if there is one.
    pub fn new(row: Row, item: Option<Item>) -> Seen {
        let (value, wrong) = match &row {
            Row::Entity(_) => match item.as_ref().map(entity::read).transpose() {
                Ok(found) => (SeenValue::Entity(found), None),
                Err(what) => (SeenValue::Entity(None), Some(what)),
            },
            Row::Scope(_) => match item.as_ref().map(scope::read).transpose() {
                Ok(found) => {
                    let settings = found.map(|read| read.settings).filter(|settings| !settings.is_empty());
                    (SeenValue::Scope(settings), None)
                }
                Err(what) => (SeenValue::Scope(None), Some(what)),
            },
        };
        let unsupported = wrong.map(|what| unsupported(&row, &what));
        Seen { row, value, unsupported, item }
    }

    /// Whether it says anything.
    pub fn is_set(&self) -> bool {
        !matches!(self.value, SeenValue::Entity(None) | SeenValue::Scope(None))
    }

    /// The row as it is kept, to be applied.
    pub fn kept(&self, space: &str) -> Kept {
        let space = space.to_owned();
        match (&self.row, &self.value) {
            (Row::Entity(id), SeenValue::Entity(found)) => Kept::Entity {
                space,
                id: id.clone(),
                json: found.as_ref().and_then(|found| serde_json::to_vec(found).ok()),
            },
            (Row::Scope(scope), SeenValue::Scope(found)) => Kept::Scope {
                space,
                key: scope.to_bytes(),
                json: found.as_ref().and_then(|found| serde_json::to_vec(found).ok()),
            },
            // Made together in `new`, so they match.
            (Row::Entity(id), _) => Kept::Entity { space, id: id.clone(), json: None },
            (Row::Scope(scope), _) => Kept::Scope { space, key: scope.to_bytes(), json: None },
        }
    }
}

/// What is not understood of a row, and what to do about it.
pub(super) fn unsupported(row: &Row, what: &str) -> String {
    format!("{} cannot be used by Tidegate: {what}; change it with zae-limiter, which set it", row.told())
}

impl Table {
    /// Rows as they are now, in the order in which they are asked for.
    pub async fn read(&self, ns: &Nsid, rows: &[Row]) -> Result<Vec<Seen>, Fault> {
        rows.iter().try_for_each(Row::check)?;
        let keys: Vec<Key> = rows.iter().map(|row| row.key(ns)).collect();
        let items = self.get_all(&keys, Freshness::Consistent).await?;
        let seen = rows.iter().zip(&keys).map(|(row, key)| Seen::new(row.clone(), items.get(key).cloned()));
        Ok(seen.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::attribute::{number, text};

    #[test]
    fn a_row_that_is_not_understood_says_nothing_and_why() {
        let row = Row::Scope(Scope::Resource("gpt-4".into()));
        let item = Item::from([
            ("l_tpm_cp".to_owned(), number(1)),
            ("l_tpm_ra".to_owned(), number(1)),
            ("l_tpm_rp".to_owned(), number(1)),
            ("l_tpm_sched".to_owned(), text("x")),
        ]);
        let seen = Seen::new(row, Some(item));
        assert_eq!(seen.value, SeenValue::Scope(None));
        let told = seen.unsupported.unwrap();
        assert!(
            told.contains("resource `gpt-4`") && told.contains("a schedule") && told.contains("zae-limiter")
        );
    }

    #[test]
    fn an_item_that_sets_nothing_is_none() {
        let item = Item::from([("audit_retention_days".to_owned(), number(30))]);
        let seen = Seen::new(Row::Scope(Scope::System), Some(item));
        assert_eq!((seen.value, seen.unsupported), (SeenValue::Scope(None), None));
    }
}
