//! Entities, resources and limits by number, and their names.

use std::fmt;

use crate::event::Key;

/// An entity. Throttle keys are entities, too.
pub type Entity = u8;
/// A resource.
pub type Resource = u8;
/// A limit.
pub type LimitNumber = u8;

/// The first throttle key.
pub const FIRST_KEY: Entity = 100;
/// What throttle keys are limited on.
pub const DEFAULT: Resource = 9;
/// The limit of throttle keys.
pub const RATE: LimitNumber = 9;
/// Rates that entities have.
pub const RATES: [LimitNumber; 2] = [0, 1];
/// The cap that entities have.
pub const CAP: LimitNumber = 2;

/// One bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Bucket {
    /// Whose.
    pub entity: Entity,
    /// For what.
    pub resource: Resource,
    /// Which limit.
    pub limit: LimitNumber,
}

/// What somebody pays: amounts of limits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Charge {
    /// Who.
    pub entity: Entity,
    /// For what.
    pub resource: Resource,
    /// How much of which limits.
    pub cost: Vec<(LimitNumber, u64)>,
    /// Whether this is what a message says of a throttle key: spent for good, and only by a limit of its own.
    pub is_key: bool,
}

impl Charge {
    /// A message's charge of a throttle key.
    pub fn of_key(key: Key, amount: u64) -> Charge {
        Charge { entity: FIRST_KEY + key, resource: DEFAULT, cost: vec![(RATE, amount)], is_key: true }
    }
}

/// The name of an entity.
pub fn entity_name(entity: Entity) -> String {
    match entity.checked_sub(FIRST_KEY) {
        Some(key) => format!("k{key}"),
        None => format!("e{entity}"),
    }
}

/// The number of an entity.
pub fn entity_of(name: &[u8]) -> Option<Entity> {
    let (kind, number) = name.split_first()?;
    let number: u8 = std::str::from_utf8(number).ok()?.parse().ok()?;
    match kind {
        b'k' => Some(FIRST_KEY + number),
        b'e' => Some(number),
        _ => None,
    }
}

/// The name of a resource.
pub fn resource_name(resource: Resource) -> &'static str {
    ["r0", "r1", "r2"].get(usize::from(resource)).copied().unwrap_or("_default_")
}

/// The number of a resource.
pub fn resource_of(name: &str) -> Resource {
    (0..3).find(|resource| resource_name(*resource) == name).unwrap_or(DEFAULT)
}

/// The name of a limit.
pub fn limit_name(limit: LimitNumber) -> &'static str {
    ["tpm", "rpm", "slots"].get(usize::from(limit)).copied().unwrap_or("rate")
}

/// The number of a limit.
pub fn limit_of(name: &str) -> LimitNumber {
    (0..3).find(|limit| limit_name(*limit) == name).unwrap_or(RATE)
}

/// Costs by name.
pub fn named<T: Copy>(cost: &[(LimitNumber, T)]) -> Vec<(&'static str, T)> {
    cost.iter().map(|(limit, amount)| (limit_name(*limit), *amount)).collect()
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Bucket { entity, resource, limit } = *self;
        write!(f, "{}/{}/{}", entity_name(entity), resource_name(resource), limit_name(limit))
    }
}
