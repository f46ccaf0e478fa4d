//! How buckets and charges are named.

use std::sync::Arc;

use crate::space::SpaceId;
use crate::words::Word;

/// One bucket: a limit of an entity for a resource.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BucketName {
    /// Where.
    pub space: SpaceId,
    /// Whose.
    pub entity: Arc<[u8]>,
    /// For what.
    pub resource: Word,
    /// Which limit.
    pub limit: Word,
}

/// What a caller charges: an entity, for a resource, amounts per limit.
#[derive(Clone, Copy, Debug)]
pub struct Charge<'a> {
    /// Who pays.
    pub entity: &'a [u8],
    /// For what.
    pub resource: &'a str,
    /// How much of which limits.
    pub cost: &'a [(&'a str, u64)],
}

/// A charge of a message, as the queue keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct QueueCharge {
    /// What it draws on.
    pub bucket: BucketName,
    /// A throttle key: only a limit on the entity itself counts, nothing cascades and nothing is given back.
    pub own: bool,
}

/// A charge of a message with its amount.
#[derive(Clone, Copy, Debug)]
pub struct Stated<'a> {
    /// What it draws on.
    pub name: &'a QueueCharge,
    /// How much.
    pub amount: u64,
}
