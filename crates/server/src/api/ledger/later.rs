//! Acquires that cannot be decided yet: a table that servers share is being asked, for what is set or for tokens.
//!
//! They wait off the loop, for as long as the ledger is told to wait, and are then decided by the same ledger as all
//! others. Nothing is taken while one waits, so who stops waiting leaves nothing behind.

use std::sync::Arc;
use std::time::Duration;

use tidegate_core::Nanos;
use tidegate_core::ledger::Term;
use tidegate_ledger::{Acquire, Acquired, LeaseTerms, OnUnavailable, SpaceId, Undecided};
use tokio::time::{Instant, timeout_at};

use super::acquire::{Stood, waiting};
use super::call::AcquireCall;
use crate::api::metrics::Acquires;
use crate::api::queue::Queues;
use crate::api::{NamespaceName, Refusal, Transport};

/// An acquire that waits for a table.
#[derive(Debug)]
pub struct LaterAcquire {
    namespace: NamespaceName,
    space: SpaceId,
    call: OwnedCall,
    undecided: Undecided,
}

/// An acquire that owns its words.
#[derive(Debug)]
struct OwnedCall {
    charges: Vec<OwnedCharge>,
    lease: Option<LeaseTerms>,
    on_unavailable: Option<OnUnavailable>,
    wait_ms: u64,
    limits: Option<Vec<Term>>,
    quiet: bool,
}

#[derive(Debug)]
struct OwnedCharge {
    entity: Vec<u8>,
    resource: String,
    cost: Vec<(String, u64)>,
}

impl OwnedCall {
    fn of(call: &AcquireCall<'_>) -> OwnedCall {
        let charges = call.charges().map(|charge| OwnedCharge {
            entity: charge.entity.to_vec(),
            resource: charge.resource.to_owned(),
            cost: charge.cost.iter().map(|(limit, amount)| ((*limit).to_owned(), *amount)).collect(),
        });
        OwnedCall {
            charges: charges.collect(),
            lease: call.lease(),
            on_unavailable: call.unavailable(),
            wait_ms: call.wait_ms(),
            limits: call.limits.clone(),
            quiet: call.quiet,
        }
    }

    /// The same again, as it was asked.
    fn borrowed(&self) -> AcquireCall<'_> {
        let mut call = AcquireCall::again(self.lease, self.on_unavailable, self.wait_ms);
        for charge in &self.charges {
            call.push(&charge.entity, &charge.resource);
            charge.cost.iter().for_each(|(limit, amount)| call.push_cost(limit, *amount));
        }
        (call.limits, call.quiet) = (self.limits.clone(), self.quiet);
        call
    }
}

impl LaterAcquire {
    pub(super) fn new(
        namespace: &NamespaceName,
        space: SpaceId,
        call: &AcquireCall<'_>,
        undecided: Undecided,
    ) -> LaterAcquire {
        LaterAcquire { namespace: namespace.clone(), space, call: OwnedCall::of(call), undecided }
    }

    /// Where it is.
    pub fn space(&self) -> SpaceId {
        self.space
    }

    /// Whether its caller does not want to know about limits.
    pub fn is_quiet(&self) -> bool {
        self.call.quiet
    }

    /// Whether it stands in line if it cannot pass at once.
    pub fn may_stand_in_line(&self) -> bool {
        self.call.wait_ms > 0
    }
}

impl Queues {
    /// Waits until an acquire is decided, in line if it is to, and says when that was. Whoever drops this takes nothing.
    pub async fn acquire_later(
        self: &Arc<Self>,
        transport: Transport,
        later: LaterAcquire,
    ) -> Result<(Acquired, Nanos), Refusal> {
        let LaterAcquire { namespace, space, call, mut undecided } = later;
        let deadline = Instant::now() + Duration::from_millis(self.bounds().max_table_wait_ms);
        loop {
            let give_up = timeout_at(deadline, self.ledger().decided(undecided)).await.is_err();
            let (call, now) = (call.borrowed(), self.now());
            let acquired =
                call.with(space, |acquire| self.ledger().acquire(&Acquire { give_up, ..*acquire }, now));
            match acquired.map_err(Refusal::from) {
                Ok(Acquired::Undecided(still)) => undecided = still,
                Ok(Acquired::Denied(_)) if call.wait_ms() > 0 => {
                    let stands = Box::new(waiting(self, &namespace, space, &call)?);
                    let stood = Stood::new(&stands, call.quiet);
                    let mut ops = self.ops(transport);
                    ops.acquire(stands);
                    return self.told(&stood, self.stand_in_line(ops).await?);
                }
                decided => return self.counted(transport, decided).map(|acquired| (acquired, now)),
            }
        }
    }

    fn counted(
        &self,
        transport: Transport,
        acquired: Result<Acquired, Refusal>,
    ) -> Result<Acquired, Refusal> {
        let mut acquires = Acquires::default();
        match &acquired {
            Ok(acquired) => drop(acquires.count(acquired)),
            Err(_) => acquires.refused += 1,
        }
        self.metrics().acquires(transport).add(&acquires);
        acquired
    }
}
