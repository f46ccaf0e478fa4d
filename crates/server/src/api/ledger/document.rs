//! The JSON documents that tell of acquires, leases and limits: made here, for every door.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use tidegate_client::LeaseReport;
use tidegate_core::Nanos;
use tidegate_core::bucket::Ready;
use tidegate_engine::WaitsFor;
use tidegate_ledger::{Acquired, Checked, LeaseHeld, LeaseId, LeaseView, Ledger, OnExpiry, Status};

use crate::api::queue::document::write;

/// When something is ready, as a time from now, rounded up; nothing if nobody knows.
pub fn retry_after_ms(ready: Ready, now: Nanos) -> Option<u64> {
    match ready {
        Ready::Now => Some(0),
        Ready::At(at) => Some(at.saturating_sub(now).div_ceil(NANOS_PER_MS).max(1)),
        Ready::Pending | Ready::Never => None,
    }
}

pub(super) const NANOS_PER_MS: u64 = 1_000_000;

/// The name of what becomes of a lease that expires.
pub fn on_expiry(on_expiry: OnExpiry) -> &'static str {
    match on_expiry {
        OnExpiry::Keep => "keep",
        OnExpiry::GiveBack => "give_back",
    }
}

pub(super) fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

struct LeaseText(LeaseId);

impl Serialize for LeaseText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// One limit that was asked.
#[derive(Serialize)]
pub struct StatusDocument<'a> {
    entity: Cow<'a, str>,
    resource: &'a str,
    limit: &'a str,
    kind: &'static str,
    level: &'static str,
    capacity: u64,
    available: i64,
    requested: u64,
    exceeded: bool,
    soft: bool,
    retry_after_ms: Option<u64>,
}

/// Statuses as they are told.
pub fn statuses(statuses: &[Status], now: Nanos) -> Vec<StatusDocument<'_>> {
    let document = |status| StatusDocument::of(status, now);
    statuses.iter().map(document).collect()
}

impl<'a> StatusDocument<'a> {
    fn of(status: &'a Status, now: Nanos) -> StatusDocument<'a> {
        StatusDocument {
            entity: lossy(&status.entity),
            resource: &status.resource,
            limit: &status.limit,
            kind: status.kind.as_str(),
            level: status.level.as_str(),
            capacity: status.capacity,
            available: status.available,
            requested: status.requested,
            exceeded: status.exceeded,
            soft: status.soft,
            retry_after_ms: retry_after_ms(status.ready, now),
        }
    }
}

#[derive(Default, Serialize)]
struct AcquiredDocument<'a> {
    granted: bool,
    lease: Option<LeaseText>,
    expires_at_ms: Option<u64>,
    retry_after_ms: Option<u64>,
    bypassed: bool,
    degraded: bool,
    statuses: Vec<StatusDocument<'a>>,
}

/// What came of an acquire.
pub fn acquired(acquired: &Acquired, now: Nanos) -> Vec<u8> {
    write(&match acquired {
        Acquired::Granted(granted) => AcquiredDocument {
            granted: true,
            lease: granted.lease.map(LeaseText),
            expires_at_ms: granted.lease.map(|_| granted.expires_at / NANOS_PER_MS),
            retry_after_ms: Some(0),
            bypassed: granted.bypassed,
            degraded: granted.degraded,
            statuses: statuses(&granted.statuses, now),
        },
        Acquired::Denied(denied) => AcquiredDocument {
            retry_after_ms: retry_after_ms(denied.ready, now),
            statuses: statuses(&denied.statuses, now),
            ..AcquiredDocument::default()
        },
        // Nobody is told of these: who gets one waits until it is decided. Nothing was taken.
        Acquired::Undecided(_) => AcquiredDocument::default(),
    })
}

#[derive(Serialize)]
struct Available<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    allowed: bool,
    retry_after_ms: Option<u64>,
    statuses: Vec<StatusDocument<'a>>,
}

impl<'a> Available<'a> {
    fn of(checked: &'a Checked, now: Nanos) -> Available<'a> {
        Available {
            summary: None,
            allowed: checked.granted,
            retry_after_ms: retry_after_ms(checked.ready, now),
            statuses: statuses(&checked.statuses, now),
        }
    }
}

/// Whether an acquire would pass.
pub fn available(checked: &Checked, now: Nanos) -> Vec<u8> {
    write(&Available::of(checked, now))
}

/// The same, and in a sentence what it would wait for: the limit that is ready last.
pub fn why_acquire(checked: &Checked, ledger: &Ledger, now: Nanos) -> Vec<u8> {
    let summary = match &checked.bucket {
        Some(bucket) => WaitsFor::of(bucket, ledger).summary(retry_after_ms(checked.ready, now)),
        None => "would pass now".to_owned(),
    };
    write(&Available { summary: Some(summary), ..Available::of(checked, now) })
}

/// Buckets as they are now.
pub fn buckets(all: &[Status], now: Nanos) -> Vec<u8> {
    #[derive(Serialize)]
    struct Buckets<'a> {
        statuses: Vec<StatusDocument<'a>>,
    }
    write(&Buckets { statuses: statuses(all, now) })
}

#[derive(Serialize)]
struct Lease<'a> {
    lease: LeaseText,
    expires_at_ms: u64,
    on_expiry: &'static str,
    holds: Vec<Holding<'a>>,
}

#[derive(Serialize)]
struct Holding<'a> {
    entity: Cow<'a, str>,
    resource: &'a str,
    limit: &'a str,
    kind: &'static str,
    amount: u64,
}

impl<'a> Lease<'a> {
    fn of(view: &'a LeaseView) -> Lease<'a> {
        let holding = |held: &'a LeaseHeld| Holding {
            entity: lossy(&held.entity),
            resource: &held.resource,
            limit: &held.limit,
            kind: held.kind.as_str(),
            amount: held.amount,
        };
        Lease {
            lease: LeaseText(view.id),
            expires_at_ms: view.expires_at / NANOS_PER_MS,
            on_expiry: on_expiry(view.on_expiry),
            holds: view.held.iter().map(holding).collect(),
        }
    }
}

/// A lease, and what it holds.
pub fn lease(view: &LeaseView) -> Vec<u8> {
    write(&Lease::of(view))
}

/// Leases of this server and of others, by id, and where to go on.
pub fn leases(own: &[LeaseView], others: Vec<LeaseReport>, max: usize) -> Vec<u8> {
    #[derive(Serialize)]
    struct Leases<'a> {
        leases: Vec<Listed<'a>>,
        next: Option<LeaseText>,
    }
    #[derive(Serialize)]
    #[serde(untagged)]
    enum Listed<'a> {
        Own(Lease<'a>),
        Other(LeaseReport),
    }
    let own = own.iter().map(|view| (view.id, Listed::Own(Lease::of(view))));
    let others = others.into_iter().map(|lease| (LeaseId(lease.lease.0), Listed::Other(lease)));
    let mut leases: Vec<_> = own.chain(others).collect();
    leases.sort_by_key(|(id, _)| *id);
    leases.truncate(max);
    let next = leases.last().filter(|_| leases.len() >= max).map(|(id, _)| LeaseText(*id));
    write(&Leases { leases: leases.into_iter().map(|(_, lease)| lease).collect(), next })
}
