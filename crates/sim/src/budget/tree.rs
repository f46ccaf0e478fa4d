//! What is set, and what follows from it: which limits hold for whom, and who pays with whom.

use std::collections::BTreeMap;

use super::name::{Bucket, Charge, DEFAULT, Entity, FIRST_KEY, LimitNumber, RATE, Resource};
use crate::event::{Key, Rate};

/// The most levels of entities.
const MAX_LEVELS: usize = 8;

/// Where something is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// For all.
    System,
    /// For a resource.
    Resource(Resource),
    /// For an entity on a resource, or on all of them.
    Entity(Entity, Resource),
}

/// What a limit bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bound {
    /// What is taken over time.
    Rate(Rate),
    /// What is in flight.
    Cap(u64),
}

/// A limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Term {
    /// Which.
    pub limit: LimitNumber,
    /// What it bounds.
    pub bound: Bound,
    /// Whether it only counts.
    pub soft: bool,
}

/// Whether limits act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mode {
    /// All pass.
    Bypass,
    /// Nobody passes.
    Disabled,
}

/// What is set at a place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Settings {
    /// Limits.
    pub terms: Vec<Term>,
    /// Whether parents pay, too.
    pub cascade: Option<bool>,
    /// Whether limits act.
    pub mode: Option<Mode>,
}

/// An entity that somebody has made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// Who is above it.
    pub parent: Option<Entity>,
    /// Whether that one pays, too.
    pub cascade: bool,
}

/// Something that was changed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// An entity was made or changed.
    Put(Entity, Record),
    /// An entity has gone, with all that was set on it.
    Delete(Entity),
    /// Something was set, or removed.
    Set(Place, Option<Settings>),
}

impl Change {
    /// The rate of a throttle key is set or removed.
    pub fn of_key(key: Key, rate: Option<Rate>) -> Change {
        let term = rate.map(|rate| Term { limit: RATE, bound: Bound::Rate(rate), soft: false });
        let settings = Settings { terms: term.into_iter().collect(), ..Settings::default() };
        Change::Set(Place::Entity(FIRST_KEY + key, DEFAULT), Some(settings))
    }
}

/// All that is set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// Entities with a record.
    pub entities: BTreeMap<Entity, Record>,
    /// What is set where.
    pub scopes: BTreeMap<Place, Settings>,
}

/// What one bucket is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Which.
    pub bucket: Bucket,
    /// How much.
    pub amount: u64,
    /// How many charges name it.
    pub shares: u64,
    /// What bounds it.
    pub term: Term,
    /// Whether it is only counted.
    pub bypassed: bool,
    /// Whether it is spent for good.
    pub is_key: bool,
}

impl Ask {
    /// Whether it holds slots.
    pub fn is_cap(&self) -> bool {
        matches!(self.term.bound, Bound::Cap(_))
    }
}

impl Tree {
    /// Makes a change.
    pub fn apply(&mut self, change: &Change) {
        match change {
            Change::Put(entity, record) => drop(self.entities.insert(*entity, *record)),
            Change::Delete(entity) => {
                self.entities.remove(entity);
                self.scopes.retain(|place, _| !matches!(place, Place::Entity(of, _) if of == entity));
            }
            Change::Set(place, Some(settings)) if *settings != Settings::default() => {
                self.scopes.insert(*place, settings.clone());
            }
            Change::Set(place, _) => drop(self.scopes.remove(place)),
        }
    }

    /// What is set about an entity on a resource, the nearest first.
    fn levels(&self, entity: Entity, resource: Resource) -> impl Iterator<Item = &Settings> {
        let own = [Place::Entity(entity, resource), Place::Entity(entity, DEFAULT)];
        let own = own.into_iter().take(if resource == DEFAULT { 1 } else { 2 });
        own.chain([Place::Resource(resource)]).filter_map(|place| self.scopes.get(&place))
    }

    /// The limits of an entity on a resource.
    pub fn terms(&self, entity: Entity, resource: Resource) -> &[Term] {
        let system = self.scopes.get(&Place::System);
        let mut levels = self.levels(entity, resource).chain(system);
        levels.find(|settings| !settings.terms.is_empty()).map_or(&[], |settings| &settings.terms)
    }

    /// Whether limits act.
    pub fn mode(&self, entity: Entity, resource: Resource) -> Option<Mode> {
        self.levels(entity, resource).filter_map(|settings| settings.mode).max()
    }

    /// Who pays with an entity.
    pub fn payer(&self, entity: Entity, resource: Resource) -> Option<Entity> {
        let record = self.entities.get(&entity);
        let said = self.levels(entity, resource).find_map(|settings| settings.cascade);
        let cascade = said.unwrap_or(record.is_some_and(|record| record.cascade));
        record?.parent.filter(|_| cascade)
    }

    /// The limit of a bucket.
    pub fn term(&self, bucket: Bucket) -> Option<Term> {
        if bucket.limit == RATE {
            return self.own_rate(bucket.entity);
        }
        self.terms(bucket.entity, bucket.resource).iter().find(|term| term.limit == bucket.limit).copied()
    }

    fn own_rate(&self, key: Entity) -> Option<Term> {
        let own = self.scopes.get(&Place::Entity(key, DEFAULT))?;
        own.terms.iter().find(|term| term.limit == RATE).copied()
    }

    /// Everything that these charges ask.
    pub fn asks(&self, charges: &[Charge]) -> Vec<Ask> {
        let mut asks: Vec<Ask> = Vec::new();
        for charge in charges {
            let Charge { entity, resource, ref cost, is_key } = *charge;
            if is_key {
                let amount = cost.iter().map(|(_, amount)| amount).sum();
                let bucket = Bucket { entity, resource, limit: RATE };
                if let Some(term) = self.own_rate(entity) {
                    add(&mut asks, Ask { bucket, amount, shares: 1, term, bypassed: false, is_key });
                }
                continue;
            }
            let (mut payer, mut bypassed) = (Some(entity), false);
            for _ in 0..MAX_LEVELS {
                let Some(entity) = payer else { break };
                bypassed |= self.mode(entity, resource) == Some(Mode::Bypass);
                self.ask_one(entity, resource, cost, bypassed, &mut asks);
                payer = self.payer(entity, resource);
            }
        }
        asks.iter_mut().filter(|ask| ask.is_cap()).for_each(|ask| ask.amount = ask.amount.max(1));
        asks
    }

    fn ask_one(
        &self,
        entity: Entity,
        resource: Resource,
        cost: &[(LimitNumber, u64)],
        bypassed: bool,
        asks: &mut Vec<Ask>,
    ) {
        let terms = self.terms(entity, resource);
        let ask = |term: Term, amount, shares| {
            let bucket = Bucket { entity, resource, limit: term.limit };
            Ask { bucket, amount, shares, term, bypassed, is_key: false }
        };
        for (limit, amount) in cost {
            if let Some(term) = terms.iter().find(|term| term.limit == *limit) {
                add(asks, ask(*term, *amount, 1));
            }
        }
        for term in terms.iter().filter(|term| matches!(term.bound, Bound::Cap(_))) {
            let unnamed = ask(*term, 0, 0);
            if !asks.iter().any(|ask| ask.bucket == unnamed.bucket) {
                asks.push(unnamed);
            }
        }
    }
}

fn add(asks: &mut Vec<Ask>, ask: Ask) {
    match asks.iter_mut().find(|other| other.bucket == ask.bucket) {
        Some(other) => {
            other.amount += ask.amount;
            other.shares += ask.shares;
            other.bypassed &= ask.bypassed;
            other.is_key &= ask.is_key;
        }
        None => asks.push(ask),
    }
}
