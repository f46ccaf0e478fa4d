//! Who is charged, and what: entities with a parent each, two limits on both of them.
//!
//! The limits are generous, so that every acquire passes, and those of the entities refill slowly, so that a bucket that was
//! touched stays active for as long as a run takes.

/// The resource that everything is charged for.
pub const RESOURCE: &str = "gpt-4";
/// The limits, in the order of every pair below.
pub const LIMITS: [&str; 2] = ["rpm", "tpm"];
/// What is taken before the call.
pub const ESTIMATE: [u64; 2] = [1, 500];
/// What the call then cost.
pub const REAL: [u64; 2] = [1, 300];
/// What touches a bucket for the first time: more than refills within a run.
pub const TOUCH: [u64; 2] = [1, 5_000];

/// Parents; each has as many children as the others.
const PARENTS: u64 = 1_000;

/// A rate by the minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Tokens that come in a minute.
    pub per_minute: u64,
    /// Tokens at once.
    pub burst: u64,
}

/// The limits of an entity.
pub const OWN: [Rate; 2] = [Rate { per_minute: 1, burst: 10_000 }, Rate { per_minute: 60, burst: 1_000_000 }];
/// The limits of a parent.
pub const SHARED: [Rate; 2] =
    [Rate { per_minute: 1_000_000, burst: 1_000_000 }, Rate { per_minute: 100_000_000, burst: 100_000_000 }];

/// The name of an entity: as long for every number.
pub fn entity(number: u64) -> String {
    format!("key:{number:012}")
}

/// The name of a parent.
pub fn parent(number: u64) -> String {
    format!("org:{number:012}")
}

/// The parent of that entity.
pub fn parent_of(entity: u64) -> u64 {
    entity % PARENTS
}

/// The parents that so many entities have.
pub fn parents(entities: u64) -> u64 {
    entities.min(PARENTS)
}
