//! The ledger: entities, their limits, and what is taken from them.
//!
//! | module | subject |
//! |---|---|
//! | [`acquire`], [`acquired`], [`status`] | what is to be taken, and what came of it |
//! | [`lease`], [`leases`], [`lease_id`] | what was taken: as a guard, and by its id |
//! | [`waiting`] | an acquire that waits for its turn |
//! | [`entity`], [`entities`] | who holds limits |
//! | [`term`], [`scope`], [`scopes`], [`resolved`] | limits, where they are set, and which of them apply |
//! | [`buckets`] | what is left, and how it is put right by hand |
//! | [`manifest`] | all limits of a namespace in one document |
//! | [`usage`], [`audit`] | what was taken, and who changed what |
//! | [`namespaces`], [`why`] | namespaces; what something waits for |

mod acquire;
mod acquired;
mod audit;
mod buckets;
mod entities;
mod entity;
mod lease;
mod lease_id;
mod leases;
mod manifest;
mod namespaces;
mod resolved;
mod scope;
mod scopes;
mod status;
mod term;
mod usage;
mod waiting;
mod why;

pub use acquire::{Acquire, OnExpiry, OnUnavailable};
pub use acquired::{Acquired, Denied};
pub use audit::{AuditEvent, AuditPage, AuditQuery};
pub use buckets::{Availability, Buckets, Capacity, LimitCapacity};
pub use entities::{Entities, EntityPage};
pub use entity::{Entity, EntityPatch};
pub use lease::{Lease, Manner};
pub use lease_id::{LeaseId, NoLease};
pub use leases::{Hold, LeasePage, LeaseReport, Leases};
pub use manifest::{Change, Manifests};
pub use namespaces::{NamespaceReport, Namespaces};
pub use resolved::{CustomLimits, CustomPage, Resolved, ResolvedParent};
pub use scope::{Mode, Scope, ScopePatch, ScopeSettings};
pub use scopes::Scopes;
pub use status::{Kind, Status};
pub use term::{Bound, NoTerm, Term};
pub use usage::{Usage, UsageQuery, UsageRow, UsageTotal, Window};
pub use why::{WaitsFor, Why, WhyLane};
