//! Acquires and leases: decided where they arrive, on the ledger itself. Only who stands in line goes to the engine.

use std::sync::Arc;

use bytes::Bytes;
use tidegate_core::Nanos;
use tidegate_core::ledger::{Bound, ChargeName, charge};
use tidegate_engine::op::WaitingAcquire;
use tidegate_ledger::{Acquired, LeaseId, SpaceId};

pub use super::call::ttl_ns;
use super::call::{AcquireCall, text};
use super::later::LaterAcquire;
use super::lease::LeaseCall;
use crate::api::queue::{Queues, receipt};
use crate::api::{Batch, NamespaceName, Refusal};

/// What came of an acquire.
#[derive(Debug)]
pub enum Tried {
    /// It is decided.
    Decided(Acquired),
    /// It could not pass, and is to stand in line.
    Waits(Box<WaitingAcquire>),
    /// A table has to be asked first: see [`Queues::acquire_later`].
    Later(Box<LaterAcquire>),
}

/// An acquire that stands in line, as far as its answer needs it.
#[derive(Clone, Debug)]
pub struct Stood {
    namespace: Arc<str>,
    charges: Vec<(Bytes, u64)>,
    quiet: bool,
}

impl Stood {
    /// Of this one.
    pub fn new(waiting: &WaitingAcquire, quiet: bool) -> Stood {
        Stood { namespace: waiting.namespace.clone(), charges: waiting.charges.clone(), quiet }
    }

    /// Whether its caller does not want to know about limits.
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }
}

impl Queues {
    /// An answer to an acquire that has stood in line, with the limits that it fell short of; and when that is.
    pub fn told(&self, stood: &Stood, acquired: Acquired) -> Result<(Acquired, Nanos), Refusal> {
        let now = self.now();
        let Acquired::Denied(mut denied) = acquired else { return Ok((acquired, now)) };
        let mut call = AcquireCall::default();
        for (name, amount) in &stood.charges {
            if let ChargeName::Entity { entity, resource, limit } = charge::parse(name) {
                call.charge(entity, resource.as_bytes())?;
                call.cost(limit.as_bytes(), i64::try_from(*amount).unwrap_or(i64::MAX))?;
            }
        }
        let checked =
            call.with(self.ledger().space(&stood.namespace)?, |acquire| self.ledger().check(acquire, now))?;
        denied.statuses = checked.statuses;
        Ok((Acquired::Denied(denied), now))
    }
}

impl Batch<'_> {
    /// Takes every charge, or none.
    #[inline]
    pub fn acquire(
        &mut self,
        queues: &Queues,
        namespace: &NamespaceName,
        space: SpaceId,
        call: &AcquireCall<'_>,
    ) -> Result<Tried, Refusal> {
        let tried = self.try_acquire(queues, namespace, space, call);
        self.count_acquire(&tried);
        tried
    }

    #[inline]
    fn try_acquire(
        &self,
        queues: &Queues,
        namespace: &NamespaceName,
        space: SpaceId,
        call: &AcquireCall<'_>,
    ) -> Result<Tried, Refusal> {
        call.check()?;
        let acquired = call.with(space, |acquire| queues.ledger().acquire(acquire, self.now()))?;
        match acquired {
            Acquired::Denied(_) if call.wait_ms() > 0 => {
                Ok(Tried::Waits(Box::new(waiting(queues, namespace, space, call)?)))
            }
            Acquired::Undecided(undecided) => {
                Ok(Tried::Later(Box::new(LaterAcquire::new(namespace, space, call, undecided))))
            }
            decided => Ok(Tried::Decided(decided)),
        }
    }

    /// Ends a lease at its real cost.
    #[inline]
    pub fn settle(
        &mut self,
        queues: &Queues,
        space: SpaceId,
        lease: &[u8],
        cost: &[(&str, u64)],
    ) -> Result<(), Refusal> {
        let settled = id(lease)
            .and_then(|id| queues.whose(space, id, queues.ledger().settle(space, id, cost, self.now())));
        self.count_done(&settled);
        settled
    }

    /// Takes more of a lease's limits, or gives some back.
    pub fn adjust(
        &mut self,
        queues: &Queues,
        space: SpaceId,
        lease: &[u8],
        delta: &[(&str, i64)],
    ) -> Result<(), Refusal> {
        let adjusted = id(lease)
            .and_then(|id| queues.whose(space, id, queues.ledger().adjust(space, id, delta, self.now())));
        self.count_done(&adjusted);
        adjusted
    }

    /// Ends a lease, and gives all of it back.
    pub fn release_lease(&mut self, queues: &Queues, space: SpaceId, lease: &[u8]) -> Result<(), Refusal> {
        let released =
            id(lease).and_then(|id| queues.whose(space, id, queues.ledger().release(space, id, self.now())));
        self.count_done(&released);
        released
    }

    /// Lets a lease last so long from now on.
    pub fn extend_lease(
        &mut self,
        queues: &Queues,
        space: SpaceId,
        lease: &[u8],
        ttl_ms: i64,
    ) -> Result<(), Refusal> {
        let extended = id(lease).and_then(|id| Ok((id, ttl_ns(ttl_ms)?)));
        let extended = extended.and_then(|(id, ttl_ns)| {
            queues.whose(space, id, queues.ledger().extend(space, id, ttl_ns, self.now()))
        });
        let extended = extended.map(drop);
        self.count_done(&extended);
        extended
    }
}

impl Batch<'_> {
    /// Does to a lease what is told.
    pub fn change_lease(
        &mut self,
        queues: &Queues,
        space: SpaceId,
        lease: &[u8],
        change: &LeaseCall,
    ) -> Result<(), Refusal> {
        match change {
            LeaseCall::Settle(cost) => self.settle(queues, space, lease, &named(cost)),
            LeaseCall::Adjust(deltas) => self.adjust(queues, space, lease, &named(deltas)),
            LeaseCall::Release => self.release_lease(queues, space, lease),
            LeaseCall::Extend(ttl_ms) => {
                self.extend_lease(queues, space, lease, i64::try_from(*ttl_ms).unwrap_or(i64::MAX))
            }
        }
    }
}

fn named<T: Copy>(amounts: &[(String, T)]) -> Vec<(&str, T)> {
    amounts.iter().map(|(limit, amount)| (limit.as_str(), *amount)).collect()
}

/// The same for the line.
pub(super) fn waiting(
    queues: &Queues,
    namespace: &NamespaceName,
    space: SpaceId,
    call: &AcquireCall<'_>,
) -> Result<WaitingAcquire, Refusal> {
    let mut charges = Vec::new();
    for stated in call.charges() {
        let name = |limit: &str| Bytes::from(charge::encode(stated.entity, stated.resource, limit));
        charges.extend(stated.cost.iter().map(|(limit, amount)| (name(limit), *amount)));
        if stated.cost.is_empty() {
            // It asks for no amount of anything: it waits for slots.
            let resolved = queues.ledger().resolve(space, stated.entity, stated.resource)?;
            let caps = resolved.terms.iter().filter(|term| matches!(term.bound, Bound::Concurrency(_)));
            charges.extend(caps.map(|term| (name(&term.name), 1)));
        }
    }
    let wait_ms = call.wait_ms().min(queues.bounds().max_wait_ms);
    Ok(WaitingAcquire { namespace: namespace.shared(), charges, lease: call.lease(), wait_ms })
}

/// The number of a lease, out of its 16 digits.
pub fn id(digits: &[u8]) -> Result<LeaseId, Refusal> {
    receipt::number_of(digits).map(LeaseId).ok_or_else(|| Refusal::invalid_lease(digits))
}

/// The 16 digits of a lease.
pub fn digits(id: LeaseId) -> [u8; 16] {
    receipt::digits_of(id.0)
}

/// An amount of a limit that is spent.
pub fn spent(limit: &[u8], amount: i64) -> Result<(&str, u64), Refusal> {
    let limit = text("limit", limit)?;
    let amount = u64::try_from(amount).map_err(|_| Refusal::invalid_amount(limit, amount))?;
    Ok((limit, amount))
}

/// A change of what is held of a limit.
pub fn delta(limit: &[u8], amount: i64) -> Result<(&str, i64), Refusal> {
    Ok((text("limit", limit)?, amount))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_16_digits() {
        let lease = LeaseId(0x0192_f3c4_a1b2_0001);
        assert_eq!(digits(lease), *b"0192f3c4a1b20001");
        assert_eq!(id(&digits(lease)).unwrap(), lease);
        for wrong in [&b""[..], b"192f3c4a1b20001", b"0192f3c4a1b2000g", b"+192f3c4a1b20001", b"\xff"] {
            assert_eq!(id(wrong).unwrap_err().code().as_str(), "lease_not_found");
        }
    }
}
