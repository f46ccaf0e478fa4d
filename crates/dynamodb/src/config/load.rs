//! What holds for an entity on a resource: its record and four levels of settings, of many accounts at once.

use std::collections::HashMap;

use tidegate_core::ledger::name::DEFAULT_RESOURCE;
use tidegate_ledger::{Loaded, Mode, Scope, ScopeSettings, Unread};

use super::mode;
use super::row::{Row, unsupported};
use crate::fault::Fault;
use crate::layout::attribute::Item;
use crate::layout::entity::{self, Stamp};
use crate::layout::key::{Key, Nsid};
use crate::layout::scope::{self, Read};
use crate::table::get::Freshness;
use crate::table::handle::Table;

/// What a resource says beside its limits.
const BESIDE: [&str; 2] = ["disabled", "cascade"];

/// An entity on a resource.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Account {
    /// The namespace.
    pub ns: Nsid,
    /// Who.
    pub entity: Vec<u8>,
    /// For what.
    pub resource: String,
}

/// What was found for an account.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// As a ledger takes it.
    pub loaded: Loaded,
    /// Which entity of this name it is, and how often it was moved; none if it has no record.
    pub stamp: Option<Stamp>,
    /// Whether its limits act, as others see it.
    pub mode: Option<Mode>,
}

/// The rows that an account depends on: its record, and from the nearest level to the farthest.
fn rows(account: &Account) -> [Row; 5] {
    let own = |resource: &str| Row::Scope(Scope::Entity(account.entity.clone(), resource.to_owned()));
    [
        Row::Entity(account.entity.clone()),
        own(&account.resource),
        own(DEFAULT_RESOURCE),
        Row::Scope(Scope::Resource(account.resource.clone())),
        Row::Scope(Scope::System),
    ]
}

impl Table {
    /// What holds for these accounts, in their order. Five keys each; those that several need are read once.
    pub async fn load(&self, accounts: &[Account], freshness: Freshness) -> Result<Vec<Found>, Fault> {
        Ok(self.load_with(accounts, Vec::new(), freshness).await?.0)
    }

    /// The same, with other items that are read in the same calls.
    pub(crate) async fn load_with(
        &self,
        accounts: &[Account],
        mut keys: Vec<Key>,
        freshness: Freshness,
    ) -> Result<(Vec<Found>, HashMap<Key, Item>), Fault> {
        let wanted: Vec<[(Row, Key); 5]> = accounts
            .iter()
            .map(|account| rows(account).map(|row| (row.clone(), row.key(&account.ns))))
            .collect();
        keys.extend(wanted.iter().flatten().map(|(_, key)| key.clone()));
        let items = self.get_all(&keys, freshness).await?;
        Ok((wanted.iter().map(|rows| found(rows, &items)).collect(), items))
    }
}

/// What these items say.
fn found(rows: &[(Row, Key); 5], items: &HashMap<Key, Item>) -> Found {
    let mut wrong: [Option<String>; 5] = [const { None }; 5];
    let mut note = |at: usize, what: String| {
        wrong[at].get_or_insert_with(|| unsupported(&rows[at].0, &what));
    };
    let record = items.get(&rows[0].1);
    let entity = record.and_then(|item| entity::read(item).map_err(|what| note(0, what)).ok());
    let [exact, default, resource, system] = [1, 2, 3, 4].map(|at| {
        items.get(&rows[at].1).and_then(|item| scope::read(item).map_err(|what| note(at, what)).ok())
    });
    let mode = mode::in_force([exact.as_ref(), default.as_ref(), resource.as_ref()])
        .map_err(|what| note(1, what))
        .ok()
        .flatten();
    let settings = |read: Option<Read>| -> Option<ScopeSettings> {
        read.map(|read| read.settings).filter(|settings| !settings.is_empty())
    };
    // The first level with limits wins whole: what is farther than that, and says nothing else, does not matter.
    let has = |read: &Option<Read>| read.as_ref().is_some_and(|read| !read.settings.limits.is_empty());
    let plain = |at: usize| {
        items.get(&rows[at].1).is_none_or(|item| !BESIDE.iter().any(|name| item.contains_key(*name)))
    };
    let nearer = has(&exact) || has(&default);
    let mut unread = Unread::default();
    if nearer && plain(3) {
        unread.resource = wrong[3].take().is_some();
    }
    if nearer || has(&resource) {
        unread.system = wrong[4].take().is_some();
    }
    let loaded = Loaded {
        entity,
        exact: settings(exact),
        default: settings(default),
        resource: settings(resource),
        system: settings(system),
        unread,
        unsupported: wrong.into_iter().flatten().next(),
        deleted: false,
    };
    Found { loaded, stamp: record.map(Stamp::of), mode }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::attribute::text;
    use aws_sdk_dynamodb::types::AttributeValue;

    fn account() -> Account {
        Account { ns: Nsid::new("a7"), entity: b"acme".to_vec(), resource: "gpt-4".into() }
    }

    fn wanted() -> [(Row, Key); 5] {
        rows(&account()).map(|row| (row.clone(), row.key(&account().ns)))
    }

    fn limits(text: &str) -> ScopeSettings {
        ScopeSettings { limits: vec![text.parse().unwrap()], ..ScopeSettings::default() }
    }

    #[test]
    fn four_levels_and_a_record_are_read() {
        let wanted = wanted();
        let mut items = HashMap::new();
        for (at, text) in [(1, "a=1/second"), (2, "a=2/second"), (3, "a=3/second"), (4, "a=4/second")] {
            let (Row::Scope(scope), key) = &wanted[at] else { panic!("a scope") };
            items.insert(key.clone(), scope::item(&account().ns, scope, &limits(text)));
        }
        let found = found(&wanted, &items);
        assert_eq!(found.loaded.exact, Some(limits("a=1/second")));
        assert_eq!(found.loaded.default, Some(limits("a=2/second")));
        assert_eq!(found.loaded.resource, Some(limits("a=3/second")));
        assert_eq!(found.loaded.system, Some(limits("a=4/second")));
        assert_eq!((found.loaded.entity, found.loaded.unsupported, found.stamp), (None, None, None));
    }

    #[test]
    fn one_level_that_is_not_understood_is_enough() {
        let wanted = wanted();
        let strange = Item::from([("w_x_cp".to_owned(), text("1"))]);
        let found = found(&wanted, &HashMap::from([(wanted[4].1.clone(), strange)]));
        assert!(found.loaded.unsupported.unwrap().contains("session window"));
    }

    #[test]
    fn a_level_that_a_nearer_one_overrides_need_not_be_understood() {
        let wanted = wanted();
        let (Row::Scope(scope), key) = &wanted[1] else { panic!("a scope") };
        let own = scope::item(&account().ns, scope, &limits("a=1/second"));
        let strange = || Item::from([("w_x_cp".to_owned(), text("1"))]);
        let items = HashMap::from([
            (key.clone(), own),
            (wanted[3].1.clone(), strange()),
            (wanted[4].1.clone(), strange()),
        ]);
        let Loaded { unread, unsupported, exact, .. } = found(&wanted, &items).loaded;
        assert_eq!((unread, unsupported), (Unread { resource: true, system: true }, None));
        assert_eq!(exact, Some(limits("a=1/second")));
    }

    #[test]
    fn an_exemption_that_is_ours_to_misread_is_refused() {
        let wanted = wanted();
        let said = |flag| Item::from([("disabled".to_owned(), AttributeValue::Bool(flag))]);
        let items = HashMap::from([(wanted[1].1.clone(), said(false)), (wanted[3].1.clone(), said(true))]);
        let found = found(&wanted, &items);
        assert!(found.loaded.unsupported.unwrap().contains("nearest level"));
    }
}
