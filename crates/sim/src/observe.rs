//! What is looked at from time to time: who holds slots, and what the ledger has written down.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use tidegate_core::ledger::{Bound as Bounded, Window};
use tidegate_ledger::{BucketName, LeaseView, Ledger, MinuteFilter, Mode as Moded, Scope, ScopeSettings};
use tidegate_store::history::{AuditQuery, UsageQuery};

use crate::budget::name::{Entity, entity_of, limit_of, resource_of};
use crate::budget::{Bound, Bucket, Mode, Place, Record, Settings, Term, Tree};
use crate::checkers::Violation;
use crate::event::{Event, Found, Held, InFlight, LeaseFound, Rate};
use crate::hear::patiently;
use crate::world::{NAMESPACE, World};

/// More than there ever is.
const ALL: usize = 1_000_000;

impl World {
    /// Looks at who holds slots.
    pub(crate) fn look_at_slots(&mut self, is_drained: bool) -> Result<(), Violation> {
        let Some((ledger, space)) = self.ledger() else { return Ok(()) };
        let Some(engine) = &self.engine else { return Ok(()) };
        let mut slots: BTreeMap<Bucket, InFlight> = BTreeMap::new();
        let mut add = |bucket: Bucket, add: &dyn Fn(&mut InFlight)| {
            let none = InFlight { bucket, counted: 0, leases: 0, deliveries: 0 };
            add(slots.entry(bucket).or_insert(none));
        };
        for (name, count) in ledger.in_flight(space) {
            add(bucket_of(&ledger, &name), &|slots| slots.counted += u64::from(count));
        }
        for (name, count) in engine.slots_held() {
            add(bucket_of(&ledger, &name), &|slots| slots.deliveries += u64::from(count));
        }
        let leases = ledger.leases(space, None, None, ALL);
        for lease in &leases {
            let caps = lease.held.iter().filter(|held| held.kind == tidegate_ledger::Kind::Concurrency);
            for held in caps.filter(|held| !held.bypassed) {
                let (resource, limit) = (resource_of(&held.resource), limit_of(&held.limit));
                let bucket = Bucket { entity: number(&held.entity), resource, limit };
                add(bucket, &|slots| slots.leases += held.amount);
            }
        }
        let slots = slots.into_values().collect();
        let leases = leases.iter().map(|lease| lease.id.0).collect();
        self.emit(Event::Looked { slots, leases, is_drained })
    }

    /// Looks at all that the ledger has written down.
    pub(crate) fn find(&mut self, is_start: bool) -> Result<(), Violation> {
        let Some((ledger, space)) = self.ledger() else { return Ok(()) };
        let tree = tree_of(&ledger);
        let leases = ledger.leases(space, None, None, ALL);
        let leases = leases.iter().map(|lease| LeaseFound {
            lease: lease.id.0,
            expires_at: lease.expires_at,
            held: held_of(lease),
        });
        let leases: Vec<LeaseFound> = leases.collect();
        let (usage, audit) = (self.usage(&ledger)?, self.audit()?);
        if is_start {
            self.asks = leases.iter().map(|lease| lease.lease).collect();
            self.tree = tree.clone();
        }
        self.emit(Event::Found(Box::new(Found { is_start, tree, leases, usage, audit })))
    }

    /// What the history tells, and what it will be told: a minute that it has counts once.
    fn usage(&self, ledger: &Ledger) -> Result<Vec<(Bucket, i64, u64)>, Violation> {
        let (Some(keeper), Some((_, space))) = (&self.keeper, self.ledger()) else { return Ok(Vec::new()) };
        let query = UsageQuery {
            namespace: NAMESPACE,
            entity: None,
            resource: None,
            limit: None,
            window: Window::Minute,
            from_ms: 0,
            to_ms: u64::MAX / 2,
            max_rows: ALL,
        };
        let usage = patiently(|| keeper.history().usage(&query));
        let usage = usage.map_err(|error| Violation::of("the history can be read", error.to_string()))?;
        let mut sums: BTreeMap<Bucket, (i64, u64)> = BTreeMap::new();
        let mut minutes = BTreeSet::new();
        for row in &usage.rows {
            let (resource, limit) = (resource_of(&row.resource), limit_of(&row.limit));
            let bucket = Bucket { entity: number(&row.entity), resource, limit };
            minutes.insert((bucket, row.start_ms / 60_000));
            let (amount, events) = sums.entry(bucket).or_default();
            (*amount, *events) = (*amount + row.amount, *events + row.events);
        }
        for row in ledger.open_minutes(space, &MinuteFilter::default()) {
            let (resource, limit) = (resource_of(&row.resource), limit_of(&row.limit));
            let bucket = Bucket { entity: number(&row.entity), resource, limit };
            if minutes.contains(&(bucket, u64::from(row.minute))) {
                continue;
            }
            let (amount, events) = sums.entry(bucket).or_default();
            (*amount, *events) = (*amount + row.amount, *events + u64::from(row.events));
        }
        Ok(sums.into_iter().map(|(bucket, (amount, events))| (bucket, amount, events)).collect())
    }

    fn audit(&self) -> Result<Vec<(u64, usize)>, Violation> {
        let Some(keeper) = &self.keeper else { return Ok(Vec::new()) };
        let to_ms = u64::MAX / 2;
        let query =
            AuditQuery { namespace: NAMESPACE, subject: None, from_ms: 0, to_ms, before: None, max: ALL };
        let rows = patiently(|| keeper.history().audit(&query));
        let rows = rows.map_err(|error| Violation::of("the history can be read", error.to_string()))?;
        let mut actors: BTreeMap<u64, usize> = BTreeMap::new();
        for row in rows {
            let json: Value = serde_json::from_slice(&row.json).unwrap_or_default();
            let actor = json["actor"].as_str().and_then(|actor| actor.strip_prefix('a')?.parse().ok());
            if let Some(actor) = actor {
                *actors.entry(actor).or_default() += 1;
            }
        }
        Ok(actors.into_iter().collect())
    }
}

fn number(entity: &[u8]) -> Entity {
    entity_of(entity).unwrap_or(Entity::MAX)
}

fn bucket_of(ledger: &Ledger, name: &BucketName) -> Bucket {
    let (resource, limit) = (ledger.word(name.resource), ledger.word(name.limit));
    Bucket { entity: number(&name.entity), resource: resource_of(&resource), limit: limit_of(&limit) }
}

/// What a lease is told to hold.
pub fn held_of(lease: &LeaseView) -> Vec<Held> {
    let held = lease.held.iter().map(|held| {
        let (resource, limit) = (resource_of(&held.resource), limit_of(&held.limit));
        let bucket = Bucket { entity: number(&held.entity), resource, limit };
        Held { bucket, amount: held.amount, bypassed: held.bypassed }
    });
    let mut held: Vec<Held> = held.collect();
    held.sort_unstable();
    held
}

/// What is set, as the ledger tells it.
fn tree_of(ledger: &Ledger) -> Tree {
    let mut tree = Tree::default();
    let Ok(space) = ledger.space(NAMESPACE) else { return tree };
    for entity in ledger.entities(space, None, ALL) {
        let parent = entity.parent.as_ref().map(|parent| number(parent.as_bytes()));
        tree.entities.insert(number(entity.id.as_bytes()), Record { parent, cascade: entity.cascade });
    }
    for (scope, settings) in ledger.scopes(space) {
        let place = match scope {
            Scope::System => Place::System,
            Scope::Resource(resource) => Place::Resource(resource_of(&resource)),
            Scope::Entity(entity, resource) => Place::Entity(number(&entity), resource_of(&resource)),
        };
        tree.scopes.insert(place, settings_of(&settings));
    }
    tree
}

fn settings_of(told: &ScopeSettings) -> Settings {
    let terms = told.limits.iter().map(|term| {
        let bound = match &term.bound {
            Bounded::Rate(limit) => {
                let period_ns = u64::try_from(limit.period_ns()).unwrap_or(u64::MAX);
                Bound::Rate(Rate { burst: limit.burst(), count: limit.count(), period_ns })
            }
            Bounded::Concurrency(cap) => Bound::Cap(*cap),
        };
        Term { limit: limit_of(&term.name), bound, soft: term.soft }
    });
    let mode = told.mode.map(|mode| match mode {
        Moded::Bypass => Mode::Bypass,
        Moded::Disabled => Mode::Disabled,
    });
    Settings { terms: terms.collect(), cascade: told.cascade, mode }
}
