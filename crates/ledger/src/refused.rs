//! What is the caller's to fix, in words for the caller.

use tidegate_core::ledger::name::InvalidName;

use crate::lease::LeaseId;

/// Why nothing was done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// No level has limits for it.
    #[error("no limits apply to entity `{entity}` on resource `{resource}`")]
    NoLimits {
        /// Who was charged.
        entity: String,
        /// For what.
        resource: String,
    },
    /// The cost names a limit that is not there.
    #[error("`{limit}` is no limit of entity `{entity}` on resource `{resource}`; it has {}", listed(known))]
    UnknownLimit {
        /// Who was charged.
        entity: String,
        /// For what.
        resource: String,
        /// The name that was given.
        limit: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// It asks for more than could ever be there.
    #[error(
        "{amount} is more than `{limit}` of entity `{entity}` on resource `{resource}` can ever hold ({capacity})"
    )]
    NeverPasses {
        /// Whose limit.
        entity: String,
        /// For what.
        resource: String,
        /// Which limit.
        limit: String,
        /// What was asked.
        amount: u64,
        /// What it can hold.
        capacity: u64,
    },
    /// Somebody has switched it off.
    #[error("entity `{entity}` is disabled on resource `{resource}`")]
    Disabled {
        /// Who is switched off.
        entity: String,
        /// On what.
        resource: String,
    },
    /// What the table says of it is beyond this version.
    #[error("entity `{entity}` on resource `{resource}` has what Tidegate does not enforce: {what}")]
    Unsupported {
        /// Whose.
        entity: String,
        /// For what.
        resource: String,
        /// What it is.
        what: String,
    },
    /// The table says that its namespace is deleted.
    #[error("the namespace `{0}` is deleted")]
    NamespaceDeleted(String),
    /// There is no such entity.
    #[error("there is no entity `{0}`")]
    EntityNotFound(String),
    /// There is one already.
    #[error("there is an entity `{0}` already")]
    EntityExists(String),
    /// The parent that was named does not exist.
    #[error("there is no entity `{0}` to be the parent")]
    ParentNotFound(String),
    /// It would be its own ancestor.
    #[error("entity `{entity}` cannot be below `{parent}`, which is below it")]
    Cycle {
        /// Who was to move.
        entity: String,
        /// To where.
        parent: String,
    },
    /// Too many levels of parents.
    #[error("entities may be {max} levels deep, and `{entity}` would be deeper")]
    TooDeep {
        /// Who would be.
        entity: String,
        /// The most levels.
        max: usize,
    },
    /// It is the parent of others.
    #[error("entity `{0}` has children")]
    HasChildren(String),
    /// Somebody else has changed it.
    #[error("entity `{entity}` is at version {found}, not {expected}")]
    VersionMismatch {
        /// Which entity.
        entity: String,
        /// The version that the caller knows.
        expected: u64,
        /// The version that it has.
        found: u64,
    },
    /// A name that breaks its rule.
    #[error("{0}")]
    InvalidName(InvalidName),
    /// Limits that are none.
    #[error("{0}")]
    InvalidTerms(String),
    /// A setting that is none.
    #[error("{0}")]
    InvalidSetting(String),
    /// There is no such lease, or it has ended.
    #[error("there is no lease {0}: it was settled, released, has expired, or never was")]
    LeaseNotFound(LeaseId),
    /// The lease holds nothing of this limit.
    #[error("lease {lease} has no `{limit}`; it has {}", listed(known))]
    NotLeased {
        /// The lease.
        lease: LeaseId,
        /// The name that was given.
        limit: String,
        /// What it has.
        known: Vec<String>,
    },
    /// A concurrency cap needs somebody to give the slot back.
    #[error(
        "resource `{resource}` of entity `{entity}` has the concurrency cap `{limit}`, which takes a lease"
    )]
    LeaseRequired {
        /// Whose cap.
        entity: String,
        /// On what.
        resource: String,
        /// Which cap.
        limit: String,
    },
    /// A lease time that is out of bounds.
    #[error("a lease is for 1 to {max_ms} ms")]
    InvalidTtl {
        /// The longest lease.
        max_ms: u64,
    },
    /// More charges than a call may carry.
    #[error("a call may carry {max} charges")]
    TooManyCharges {
        /// The most.
        max: usize,
    },
    /// More limits than a level may have.
    #[error("a level may have {max} limits for a resource")]
    TooManyLimits {
        /// The most.
        max: usize,
    },
    /// More names than the ledger keeps.
    #[error("there are {max} different names of resources and limits already")]
    TooManyNames {
        /// The most.
        max: usize,
    },
    /// More namespaces than the ledger keeps.
    #[error("there are {max} namespaces already")]
    TooManySpaces {
        /// The most.
        max: usize,
    },
    /// More idempotency keys than are remembered.
    #[error("too many idempotency keys are in use")]
    TooManyOperations,
    /// A key that breaks its rule.
    #[error("an idempotency key has 1 to 64 of A-Z a-z 0-9 . _ : -")]
    InvalidIdempotencyKey,
    /// What is decided now could not be kept.
    #[error("the store is unavailable, and this cannot be decided without it")]
    Unavailable,
    /// Nothing is set at this level.
    #[error("nothing is set for {0}")]
    NoSuchLevel(String),
}

fn listed(known: &[String]) -> String {
    match known {
        [] => "none".into(),
        _ => known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
    }
}

impl From<InvalidName> for Refused {
    fn from(error: InvalidName) -> Refused {
        Refused::InvalidName(error)
    }
}

/// Bytes as a reader sees them.
pub(crate) fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
