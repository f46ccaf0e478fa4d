//! What can be asked of entities, limits, leases and their history, beside acquires: each operation once, in one form
//! that every transport makes and every transport can tell the answer of, a JSON document.

use tidegate_core::Limit;
use tidegate_ledger::{Edit, LeaseId, Scope};

use super::history::{AuditRequest, UsageRequest};
use super::manifest::Manifest;
use super::{acquire, edit};
use crate::api::queue::admin::LimitCall;
use crate::api::queue::{check_key, receipt};
use crate::api::{NamespaceName, Refusal};

/// An operation.
#[derive(Clone, Debug)]
pub enum Request {
    /// One lease.
    Lease(LeaseId),
    /// Open leases, of one entity or of all.
    Leases(Option<Vec<u8>>, Page),
    /// One entity.
    Entity(Vec<u8>),
    /// Entities, by id.
    Entities(Page),
    /// The entities whose parent this is.
    Children(Vec<u8>, Page),
    /// What is set at a level.
    Scope(Scope),
    /// What applies to an entity on a resource.
    Resolve(Target),
    /// Entities with limits of their own.
    Custom(Option<String>, CustomPage),
    /// Whether an acquire would pass.
    Available(Target, Vec<(String, u64)>),
    /// What is left of a resource over all entities.
    Capacity(String),
    /// Makes buckets full.
    Reset(Target, Vec<String>, Option<String>),
    /// Adds to buckets.
    TopUp(Target, Vec<(String, u64)>, Option<String>),
    /// Lets nobody take from buckets for so many milliseconds.
    Close(Target, u64),
    /// Changes entities, or what is set at a level.
    Edit(Edit, Changed),
    /// All that is set.
    Export,
    /// What a manifest would change.
    Plan(Box<Manifest>),
    /// Makes what is set the same as a manifest says.
    Apply(Box<Manifest>),
    /// What was used.
    Usage(UsageRequest),
    /// What was changed.
    Audit(AuditRequest),
    /// What waits for what.
    Why(Why),
    /// The limit of one throttle key.
    Key(Vec<u8>),
    /// The limits of all throttle keys.
    Keys,
    /// Sets the rate of a throttle key.
    SetKey(Vec<u8>, Limit),
    /// Removes it.
    RemoveKey(Vec<u8>),
    /// Every namespace.
    Namespaces,
    /// Refuses whoever names it.
    DeleteNamespace(NamespaceName),
    /// Lets them in again.
    RecoverNamespace(NamespaceName),
    /// Forgets it for good.
    PurgeNamespace(NamespaceName),
}

/// An entity on a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Who.
    pub entity: Vec<u8>,
    /// On what.
    pub resource: String,
}

impl Target {
    /// Out of names. An empty resource is the default one.
    pub fn new(entity: &[u8], resource: &[u8]) -> Result<Target, Refusal> {
        Ok(Target { entity: entity.to_vec(), resource: edit::resource(resource)? })
    }
}

/// A part of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Only what is behind this.
    pub after: Option<Vec<u8>>,
    /// At most so many.
    pub max: usize,
}

/// A part of the list of entities with limits of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustomPage {
    /// Only what is behind this.
    pub after: Option<Target>,
    /// At most so many.
    pub max: usize,
}

/// How many are told unless told otherwise, and at most.
const PAGE: usize = 100;
const LARGEST_PAGE: usize = 10_000;

/// As many as asked for, within bounds.
pub fn page_size(count: Option<i64>) -> usize {
    count.map_or(PAGE, |count| usize::try_from(count).unwrap_or(0).clamp(1, LARGEST_PAGE))
}

impl Page {
    /// Out of what a caller says.
    pub fn new(after: Option<&[u8]>, count: Option<i64>) -> Page {
        Page { after: after.filter(|after| !after.is_empty()).map(<[u8]>::to_vec), max: page_size(count) }
    }
}

/// How a change is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Changed {
    /// As it is now.
    Document,
    /// By what is set at the level now.
    Settings,
    /// How many.
    Count(u64),
    /// By the id of the entity that is gone.
    Deleted(String),
    /// By the level where nothing is set any more.
    Removed(String),
}

/// What is asked about.
#[derive(Clone, Debug)]
pub enum Why {
    /// A message.
    Message {
        /// Its queue.
        queue: String,
        /// Its id.
        id: tidegate_core::queue::MessageId,
    },
    /// A flow.
    Flow {
        /// Its queue.
        queue: String,
        /// Its fairness key.
        key: Vec<u8>,
    },
    /// An acquire that would be denied.
    Acquire(Target, Vec<(String, u64)>),
}

impl Request {
    /// One lease.
    pub fn lease(id: &[u8]) -> Result<Request, Refusal> {
        acquire::id(id).map(Request::Lease)
    }

    /// Whether an acquire would pass.
    pub fn available(target: Target, cost: &[(&[u8], i64)]) -> Result<Request, Refusal> {
        Ok(Request::Available(target, amounts(cost)?))
    }

    /// Adds to buckets.
    pub fn top_up(target: Target, added: &[(&[u8], i64)], key: Option<String>) -> Result<Request, Refusal> {
        Ok(Request::TopUp(target, amounts(added)?, key))
    }

    /// Lets nobody take from buckets for a while.
    pub fn close(target: Target, retry_after_ms: i64) -> Result<Request, Refusal> {
        let retry_after_ms = u64::try_from(retry_after_ms)
            .map_err(|_| Refusal::invalid_time("retry_after_ms", retry_after_ms))?;
        Ok(Request::Close(target, retry_after_ms))
    }

    /// Sets the rate of a throttle key.
    pub fn set_key(key: &[u8], limit: LimitCall) -> Result<Request, Refusal> {
        check_key(key)?;
        Ok(Request::SetKey(key.to_vec(), limit.check()?))
    }

    /// Why a message waits.
    pub fn why_message(queue: &[u8], id: &[u8]) -> Result<Request, Refusal> {
        let queue = String::from_utf8_lossy(queue).into_owned();
        Ok(Request::Why(Why::Message { queue, id: receipt::parse_id(id)? }))
    }

    /// Why a flow waits.
    pub fn why_flow(queue: &[u8], key: &[u8]) -> Request {
        Request::Why(Why::Flow { queue: String::from_utf8_lossy(queue).into_owned(), key: key.to_vec() })
    }

    /// Why an acquire would be denied.
    pub fn why_acquire(target: Target, cost: &[(&[u8], i64)]) -> Result<Request, Refusal> {
        Ok(Request::Why(Why::Acquire(target, amounts(cost)?)))
    }
}

/// Amounts that are no less than nothing.
fn amounts(cost: &[(&[u8], i64)]) -> Result<Vec<(String, u64)>, Refusal> {
    let checked = cost.iter().map(|(limit, amount)| {
        acquire::spent(limit, *amount).map(|(limit, amount)| (limit.to_owned(), amount))
    });
    checked.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_positive() {
        let limit = LimitCall { burst: 1, count: 5, period_s: 60 };
        assert!(Request::set_key(b"k", limit).is_ok());
        assert!(Request::set_key(b"", limit).is_err());
        for wrong in [
            LimitCall { burst: 0, ..limit },
            LimitCall { count: -1, ..limit },
            LimitCall { period_s: 0, ..limit },
        ] {
            let refusal = Request::set_key(b"k", wrong).unwrap_err();
            assert_eq!(refusal.code().as_str(), "invalid_limit");
        }
    }
}
