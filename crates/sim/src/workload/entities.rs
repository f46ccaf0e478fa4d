//! Entities that are made, moved and deleted, and settings of all levels that change.

use serde_json::{Value, json};
use tidegate_engine::Task;
use tidegate_ledger::{Edit, EntityPatch, Scope, ScopePatch};

use super::limits::admin;
use crate::budget::name::{CAP, DEFAULT, Entity, RATES, Resource, entity_name, limit_name, resource_name};
use crate::budget::{Bound, Change, Mode, Place, Record, Settings, Term};
use crate::checkers::Violation;
use crate::clock::{MS, SECOND};
use crate::event::Rate;
use crate::plan::{ENTITIES, RESOURCES};
use crate::world::{Asked, World};

impl World {
    /// Does something about some entity, or what is set somewhere.
    pub(crate) fn reform(&mut self) -> Result<(), Violation> {
        let entity = self.chance.below(ENTITIES.into()) as Entity;
        let record = self.tree.entities.get(&entity).copied();
        match (self.chance.weighted(&[6, 4, 1, 10, 2]), record) {
            (0 | 1, None) => {
                let record = Record { parent: self.some_parent(entity), cascade: self.chance.percent(75) };
                let patch = patch_of(record);
                let edit = Edit::CreateEntity { id: entity_name(entity), patch };
                self.edit(edit, Change::Put(entity, record))
            }
            (0, Some(record)) => {
                let parent = self.some_parent(entity);
                let edit = Edit::MoveEntity { id: entity_name(entity), parent: parent.map(entity_name) };
                self.edit(edit, Change::Put(entity, Record { parent, ..record }))
            }
            (1, Some(record)) => {
                let record = Record { cascade: !record.cascade, ..record };
                let (id, patch) = (entity_name(entity), patch_of(record));
                self.edit(Edit::UpdateEntity { id, patch, version: None }, Change::Put(entity, record))
            }
            (2, Some(_)) => self.edit(Edit::DeleteEntity { id: entity_name(entity) }, Change::Delete(entity)),
            (4, _) => {
                let place = self.place(entity);
                match self.tree.scopes.contains_key(&place) && place != Place::System {
                    true => self.remove(place),
                    false => Ok(()),
                }
            }
            _ => {
                let place = self.place(entity);
                let settings = self.draw_settings(place);
                self.set(place, settings)
            }
        }
    }

    fn some_parent(&mut self, entity: Entity) -> Option<Entity> {
        let parent = self.chance.below(u64::from(ENTITIES) + 1) as Entity;
        // Now and then one that is refused: itself, or one that is not there.
        let is_there = self.tree.entities.contains_key(&parent) && parent != entity;
        (parent < ENTITIES && (is_there || self.chance.percent(5))).then_some(parent)
    }

    fn place(&mut self, entity: Entity) -> Place {
        let resource = self.chance.below(u64::from(RESOURCES) + 1) as Resource;
        let resource = if resource == RESOURCES { DEFAULT } else { resource };
        match self.chance.weighted(&[2, 3, 6]) {
            0 => Place::System,
            1 if resource != DEFAULT => Place::Resource(resource),
            _ => Place::Entity(entity, resource),
        }
    }

    fn draw_settings(&mut self, place: Place) -> Settings {
        let mut terms = Vec::new();
        for limit in RATES {
            if limit == 0 || self.chance.percent(50) {
                let rate = Rate {
                    burst: self.chance.between(6, 30),
                    count: self.chance.between(1, 60),
                    period_ns: *self.chance.pick(&[100 * MS, SECOND, 7 * SECOND, 333_333_333]),
                };
                terms.push(Term { limit, bound: Bound::Rate(rate), soft: self.chance.percent(6) });
            }
        }
        if self.chance.percent(45) {
            let cap = self.chance.between(2, 8);
            terms.push(Term { limit: CAP, bound: Bound::Cap(cap), soft: self.chance.percent(4) });
        }
        if place == Place::System {
            return Settings { terms, ..Settings::default() };
        }
        if self.chance.percent(15) {
            terms.clear();
        }
        let cascade = self.chance.percent(15).then(|| self.chance.percent(50));
        let mode = match self.chance.below(40) {
            0 | 1 => Some(Mode::Bypass),
            2 => Some(Mode::Disabled),
            _ => None,
        };
        Settings { terms, cascade, mode }
    }

    /// Sets something in place of whatever is set there.
    pub(crate) fn set(&mut self, place: Place, settings: Settings) -> Result<(), Violation> {
        let patch: ScopePatch =
            serde_json::from_value(patch_of_scope(&settings)).expect("what is drawn can be set");
        let edit = Edit::SetScope { scope: scope_of(place), patch };
        self.edit(edit, Change::Set(place, Some(settings)))
    }

    /// Removes what is set.
    pub(crate) fn remove(&mut self, place: Place) -> Result<(), Violation> {
        self.edit(Edit::RemoveScope { scope: scope_of(place) }, Change::Set(place, None))
    }

    fn edit(&mut self, edit: Edit, change: Change) -> Result<(), Violation> {
        let actor = self.new_actor();
        self.note(format_args!("a{actor}: {change:?}"));
        let task = Task::Edit { edits: vec![edit], actor: format!("a{actor}").into(), manifest: None };
        self.submit(vec![(admin(task), Asked::Edit { changes: vec![change], actor })])
    }

    pub(crate) fn new_actor(&mut self) -> u64 {
        self.next_actor += 1;
        self.next_actor
    }
}

fn patch_of(record: Record) -> EntityPatch {
    let parent = Some(record.parent.map(entity_name));
    EntityPatch { parent, cascade: Some(record.cascade), ..EntityPatch::default() }
}

fn scope_of(place: Place) -> Scope {
    match place {
        Place::System => Scope::System,
        Place::Resource(resource) => Scope::Resource(resource_name(resource).to_owned()),
        Place::Entity(entity, resource) => {
            Scope::Entity(entity_name(entity).into_bytes(), resource_name(resource).to_owned())
        }
    }
}

fn patch_of_scope(settings: &Settings) -> Value {
    let limit = |term: &Term| {
        let soft = if term.soft { ",soft" } else { "" };
        let name = limit_name(term.limit);
        match term.bound {
            Bound::Cap(cap) => format!("{name}={cap}{soft}"),
            Bound::Rate(Rate { burst, count, period_ns }) => {
                format!("{name}={count}/{period_ns}ns,burst={burst}{soft}")
            }
        }
    };
    let mode = settings.mode.map(|mode| match mode {
        Mode::Bypass => "bypass",
        Mode::Disabled => "disabled",
    });
    json!({
        "limits": settings.terms.iter().map(limit).collect::<Vec<_>>(),
        "cascade": settings.cascade,
        "mode": mode,
    })
}
