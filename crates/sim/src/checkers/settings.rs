//! Entities and what is set on them are as they were last answered, after whatever restart.

use std::collections::BTreeSet;

use super::checker::{Checker, Violation};
use crate::budget::name::Entity;
use crate::budget::{Change, Place, Tree};
use crate::event::Event;

const RULE: &str = "no acknowledged change of entities and settings is lost";

/// Watches what is set.
#[derive(Default)]
pub struct Settings {
    tree: Tree,
    entities: BTreeSet<Entity>,
    places: BTreeSet<Place>,
}

impl Checker for Settings {
    fn see(&mut self, event: &Event) -> Result<(), Violation> {
        match event {
            Event::Edited { changes, .. } => changes.iter().for_each(|change| self.tree.apply(change)),
            Event::LimitSet { key, rate, .. } => self.tree.apply(&Change::of_key(*key, *rate)),
            Event::EditUncertain { changes } => changes.iter().for_each(|change| self.doubt(change)),
            Event::LimitUncertain { key } => self.doubt(&Change::of_key(*key, None)),
            Event::Found(found) => {
                self.compare(&found.tree)?;
                if found.is_start {
                    self.tree = found.tree.clone();
                    self.entities.clear();
                    self.places.clear();
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl Settings {
    fn doubt(&mut self, change: &Change) {
        match change {
            Change::Put(entity, _) => drop(self.entities.insert(*entity)),
            Change::Set(place, _) => drop(self.places.insert(*place)),
            Change::Delete(entity) => {
                self.entities.insert(*entity);
                let own = |place: &&Place| matches!(place, Place::Entity(of, _) if of == entity);
                let places: Vec<Place> = self.tree.scopes.keys().filter(own).copied().collect();
                self.places.extend(places);
            }
        }
    }

    fn compare(&self, found: &Tree) -> Result<(), Violation> {
        let entities = found.entities.keys().chain(self.tree.entities.keys());
        for entity in entities.filter(|entity| !self.entities.contains(entity)) {
            let (is, was) = (found.entities.get(entity), self.tree.entities.get(entity));
            if is != was {
                return Err(Violation::of(RULE, format!("e{entity} was {was:?}, and is {is:?}")));
            }
        }
        let places = found.scopes.keys().chain(self.tree.scopes.keys());
        for place in places.filter(|place| !self.places.contains(place)) {
            let (is, was) = (found.scopes.get(place), self.tree.scopes.get(place));
            if is != was {
                return Err(Violation::of(RULE, format!("{place:?} was {was:?}, and is {is:?}")));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::checker::history::{found, show};
    use super::*;
    use crate::budget::Record;

    #[test]
    fn what_was_answered_is_found() {
        let change = Change::Put(1, Record { parent: None, cascade: true });
        let edited = Event::Edited { changes: vec![change.clone()], actor: 0, rows: 1, at: 1 };
        let uncertain = Event::EditUncertain { changes: vec![change.clone()] };
        let mut tree = Tree::default();
        tree.apply(&change);
        let check = |events: &[Event]| show(&mut Settings::default(), events);
        assert_eq!(check(&[edited.clone(), found(true, tree.clone())]), Ok(()));
        assert!(check(&[edited, found(true, Tree::default())]).is_err());
        assert!(check(&[found(true, tree.clone())]).is_err());
        assert_eq!(check(&[uncertain, found(true, tree)]), Ok(()));
    }
}
