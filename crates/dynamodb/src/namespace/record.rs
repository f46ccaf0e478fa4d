//! A namespace's two items: by name, and by id.

use crate::layout::attribute::{self, Item, text, text_of};
use crate::layout::key::{Key, Nsid};
use crate::layout::time;

/// What becomes of a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is in use.
    Active,
    /// Its name is gone, what it has is kept.
    Deleted,
    /// What it has is being deleted.
    Purging,
}

impl State {
    /// As it is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            State::Active => "active",
            State::Deleted => "deleted",
            State::Purging => "purging",
        }
    }

    fn parse(word: &str) -> Option<State> {
        [State::Active, State::Deleted, State::Purging].into_iter().find(|state| state.as_str() == word)
    }
}

/// A namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namespace {
    /// Its name.
    pub name: String,
    /// What its keys begin with.
    pub id: Nsid,
    /// What becomes of it.
    pub state: State,
    /// When it was registered.
    pub created_at_ms: u64,
    /// When it was deleted, if it was.
    pub deleted_at_ms: Option<u64>,
}

impl Namespace {
    /// One that is registered now.
    pub(super) fn new(name: &str, id: Nsid, now_ms: u64) -> Namespace {
        Namespace {
            name: name.to_owned(),
            id,
            state: State::Active,
            created_at_ms: now_ms,
            deleted_at_ms: None,
        }
    }

    /// The item by name.
    pub(super) fn by_name(&self) -> Item {
        self.item(Key::namespace(&self.name))
    }

    /// The item by id.
    pub(super) fn by_id(&self) -> Item {
        self.item(Key::nsid(&self.id))
    }

    fn item(&self, key: Key) -> Item {
        let mut item = attribute::item(&key, &Nsid::reserved(), &key.pk);
        item.insert("namespace_id".into(), text(self.id.as_str()));
        item.insert("namespace_name".into(), text(&*self.name));
        item.insert("status".into(), text(self.state.as_str()));
        item.insert("created_at".into(), text(time::text(self.created_at_ms)));
        if let Some(deleted_at_ms) = self.deleted_at_ms {
            item.insert("deleted_at".into(), text(time::text(deleted_at_ms)));
        }
        item
    }

    /// Reads either item. What nobody has written yet is not in use.
    pub(super) fn read(item: &Item) -> Option<Namespace> {
        let at_ms = |name| text_of(item, name).and_then(time::parse_ms);
        Some(Namespace {
            name: text_of(item, "namespace_name")?.to_owned(),
            id: Nsid::new(text_of(item, "namespace_id")?),
            state: State::parse(text_of(item, "status")?).unwrap_or(State::Purging),
            created_at_ms: at_ms("created_at").unwrap_or(0),
            deleted_at_ms: at_ms("deleted_at"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_items_are_as_others_write_them() {
        let namespace = Namespace::new("default", Nsid::new("a7"), 1_000);
        for (item, sk) in [(namespace.by_name(), "#NAMESPACE#default"), (namespace.by_id(), "#NSID#a7")] {
            let expected = [
                ("PK", "_/SYSTEM#"),
                ("SK", sk),
                ("namespace_id", "a7"),
                ("namespace_name", "default"),
                ("status", "active"),
                ("created_at", "1970-01-01T00:00:01Z"),
                ("GSI4PK", "_"),
                ("GSI4SK", "_/SYSTEM#"),
            ];
            assert_eq!(item, expected.map(|(name, value)| (name.into(), text(value))).into());
            assert_eq!(Namespace::read(&item), Some(namespace.clone()));
        }
    }

    #[test]
    fn a_state_of_a_later_release_is_not_in_use() {
        let deleted = Namespace {
            state: State::Deleted,
            deleted_at_ms: Some(2_000),
            ..Namespace::new("x", Nsid::new("a7"), 1_000)
        };
        let mut item = deleted.by_id();
        assert_eq!(Namespace::read(&item), Some(deleted));
        item.insert("status".into(), text("archived"));
        assert_eq!(Namespace::read(&item).unwrap().state, State::Purging);
        assert_eq!(Namespace::read(&Item::new()), None);
    }
}
