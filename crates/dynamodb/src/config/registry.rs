//! What has settings at all: two items that others keep, too.
//!
//! `#RESOURCES` has a set of resources; `#ENTITY_CONFIG_RESOURCES` has a number for each resource, of entities with settings for
//! it. They change in the transaction that changes the settings.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::AttributeValue;

use crate::fault::Fault;
use crate::layout::attribute::{number, text};
use crate::layout::expression::Expression;
use crate::layout::key::{Key, Nsid, system_pk};
use crate::table::handle::Table;
use crate::table::transact::Write;

/// Names that are attributes of the registry itself: a resource called so is left out of it.
const TAKEN: [&str; 4] = ["PK", "SK", "GSI4PK", "GSI4SK"];

/// How the registries change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registered {
    /// Resources that get settings, and those that lose them.
    resources: BTreeMap<String, bool>,
    /// How many more entities have settings, by resource.
    entities: BTreeMap<String, i64>,
}

impl Registered {
    /// A resource has settings from now on, or none.
    pub fn resource(&mut self, resource: &str, is_set: bool) {
        self.resources.insert(resource.to_owned(), is_set);
    }

    /// An entity has settings for a resource from now on, or none.
    pub fn entity(&mut self, resource: &str, is_set: bool) {
        if !TAKEN.contains(&resource) {
            *self.entities.entry(resource.to_owned()).or_default() += if is_set { 1 } else { -1 };
        }
    }

    /// The writes that go with the settings: two at most. A set cannot gain and lose members in one write, so those that
    /// lose their settings are left to `afterwards` then.
    pub fn writes(&self, ns: &Nsid) -> Vec<Write> {
        let mut writes = Vec::new();
        let members = |is_set: bool| -> Vec<String> {
            let of = self.resources.iter().filter(|(_, set)| **set == is_set);
            of.map(|(resource, _)| resource.clone()).collect()
        };
        let (gained, lost) = (members(true), members(false));
        let mut resources = Expression::new();
        if !gained.is_empty() {
            found_in(ns, &mut resources);
            resources.add("resources", AttributeValue::Ss(gained));
        } else if !lost.is_empty() {
            resources.delete("resources", AttributeValue::Ss(lost));
        }
        if !resources.is_idle() {
            writes.push(Write::Update(Key::resources(ns), resources));
        }
        let mut entities = Expression::new();
        for (resource, more) in self.entities.iter().filter(|(_, more)| **more != 0) {
            entities.add(resource, number(more));
        }
        if !entities.is_idle() {
            found_in(ns, &mut entities);
            writes.push(Write::Update(Key::entity_config_resources(ns), entities));
        }
        writes
    }

    /// Tidies up after the writes: what lost its last settings, and resources that had to wait.
    fn afterwards(&self, ns: &Nsid) -> Vec<(Key, Expression)> {
        let mut updates = Vec::new();
        let lost: Vec<String> =
            self.resources.iter().filter(|(_, set)| !**set).map(|(resource, _)| resource.clone()).collect();
        if !lost.is_empty() && self.resources.values().any(|set| *set) {
            let mut resources = Expression::new();
            resources.delete("resources", AttributeValue::Ss(lost));
            updates.push((Key::resources(ns), resources));
        }
        for (resource, _) in self.entities.iter().filter(|(_, more)| **more < 0) {
            let mut empty = Expression::new();
            empty.remove(resource);
            let (name, zero) = (empty.name(resource), empty.value(number(0)));
            empty.require(format!("{name} <= {zero}"));
            updates.push((Key::entity_config_resources(ns), empty));
        }
        updates
    }
}

/// Has a new item found among all that the namespace has.
fn found_in(ns: &Nsid, expression: &mut Expression) {
    expression.set_once("GSI4PK", text(ns.as_str())).set_once("GSI4SK", text(system_pk(ns)));
}

impl Table {
    /// Tidies up the registries after settings were removed.
    pub(super) async fn tidy_registries(&self, ns: &Nsid, registered: &Registered) -> Result<(), Fault> {
        for (key, update) in registered.afterwards(ns) {
            // Refused if others have settings for it still.
            self.update(&key, &update).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(writes: &[Write]) -> Vec<String> {
        let told = |write: &Write| match write {
            Write::Update(key, expression) => format!("{} {}", key.sk, expression.update().unwrap()),
            other => panic!("{other:?}"),
        };
        writes.iter().map(told).collect()
    }

    #[test]
    fn both_registries_change_with_the_settings() {
        let ns = Nsid::new("a7");
        let mut registered = Registered::default();
        assert!(registered.writes(&ns).is_empty());
        registered.resource("gpt-4", true);
        registered.entity("gpt-4", true);
        registered.entity("gpt-4", true);
        registered.entity("gone", false);
        registered.entity("same", true);
        registered.entity("same", false);
        registered.entity("GSI4PK", true);
        assert_eq!(
            told(&registered.writes(&ns)),
            [
                "#RESOURCES SET #0 = if_not_exists(#0, :0), #1 = if_not_exists(#1, :1) ADD #2 :2",
                "#ENTITY_CONFIG_RESOURCES SET #2 = if_not_exists(#2, :2), #3 = if_not_exists(#3, :3) ADD #0 :0, #1 :1",
            ]
        );
        let after = registered.afterwards(&ns);
        assert_eq!(after.len(), 1);
        assert_eq!(after[0].1.update().unwrap(), "REMOVE #0");
        assert_eq!(after[0].1.condition().unwrap(), "#0 <= :0");
    }

    #[test]
    fn a_set_never_gains_and_loses_at_once() {
        let ns = Nsid::new("a7");
        let mut registered = Registered::default();
        registered.resource("gone", false);
        assert_eq!(told(&registered.writes(&ns)), ["#RESOURCES DELETE #0 :0"]);
        assert!(registered.afterwards(&ns).is_empty());
        registered.resource("new", true);
        assert!(
            told(&registered.writes(&ns))[0].contains("ADD")
                && !told(&registered.writes(&ns))[0].contains("DELETE")
        );
        assert_eq!(registered.afterwards(&ns).len(), 1);
    }
}
