//! `Acquire` and what becomes of its lease: straight on the ledger.

use std::pin::Pin;

use bytes::Bytes;
use tidegate_ledger::SpaceId;
use tonic::Status;

use super::super::{frame, v1};
use super::call::{LedgerCall, Ran};
use super::term;
use super::told::Told;
use crate::api::ledger::acquire::{delta, spent};
use crate::api::ledger::{AcquireCall, Stood, Tried};
use crate::api::{Batch, Refusal, Transport};

impl v1::AcquireRequest {
    /// The acquire, as every transport makes it.
    fn call(&self) -> Result<AcquireCall<'_>, Refusal> {
        let mut call = AcquireCall::default();
        for charge in &self.charges {
            call.charge(charge.entity.as_bytes(), charge.resource.as_bytes())?;
            for cost in &charge.cost {
                call.cost(cost.limit.as_bytes(), cost.amount)?;
            }
        }
        self.ttl_ms.map_or(Ok(()), |ttl_ms| call.ttl(ttl_ms))?;
        self.wait_ms.map_or(Ok(()), |wait_ms| call.wait(wait_ms))?;
        if !self.on_expiry.is_empty() {
            call.on_expiry(self.on_expiry.as_bytes())?;
        }
        if !self.on_unavailable.is_empty() {
            call.on_unavailable(self.on_unavailable.as_bytes())?;
        }
        if !self.limits.is_empty() {
            call.limits = Some(self.limits.iter().map(term::read).collect::<Result<_, _>>()?);
        }
        (call.no_lease, call.quiet) = (self.no_lease, self.quiet);
        Ok(call)
    }
}

/// An acquire that is decided, or the way to it. Who drops that way gives back what it would have taken: hyper does, when
/// the client leaves.
pub(super) enum Asked {
    /// Granted or denied.
    Decided(Told),
    /// It stands in line.
    Waits(Waits),
}

/// The way to an answer.
pub(super) type Waits = Pin<Box<dyn Future<Output = Result<Told, Refusal>>>>;

impl LedgerCall {
    pub(super) fn acquire(self, body: Bytes) -> Ran {
        let asked = self.read(body).and_then(|request| {
            let space = self.queues.space(&self.namespace)?;
            Ok(self.decide(&mut self.api.begin(Transport::Grpc), space, &request)?)
        });
        match asked {
            Ok(Asked::Decided(told)) => Ran::Done(Ok(told.write())),
            Ok(Asked::Waits(waiting)) => Ran::Waits(Box::pin(async move { Ok(waiting.await?.write()) })),
            Err(status) => Ran::Done(Err(status)),
        }
    }

    /// Decides an acquire, or has it stand in line.
    pub(super) fn decide(
        &self,
        batch: &mut Batch<'_>,
        space: SpaceId,
        request: &v1::AcquireRequest,
    ) -> Result<Asked, Refusal> {
        let call = request.call().inspect_err(|_| batch.refuse())?;
        match batch.acquire(&self.queues, &self.namespace, space, &call)? {
            Tried::Decided(acquired) => Ok(Asked::Decided(Told { acquired, now: batch.now() })),
            Tried::Waits(waiting) => {
                let (stood, queues) = (Stood::new(&waiting, call.quiet), self.queues.clone());
                let mut ops = queues.ops(Transport::Grpc);
                ops.acquire(waiting);
                Ok(Asked::Waits(Box::pin(async move {
                    let acquired = queues.stand_in_line(ops).await?;
                    let (acquired, now) = queues.told(&stood, acquired)?;
                    Ok(Told { acquired, now })
                })))
            }
            Tried::Later(later) => {
                let queues = self.queues.clone();
                Ok(Asked::Waits(Box::pin(async move {
                    let (acquired, now) = queues.acquire_later(Transport::Grpc, *later).await?;
                    Ok(Told { acquired, now })
                })))
            }
        }
    }

    pub(super) fn settle(&self, body: Bytes) -> Result<Bytes, Status> {
        let request: v1::SettleRequest = self.read(body)?;
        let space = self.queues.space(&self.namespace)?;
        self.end(&mut self.api.begin(Transport::Grpc), space, &request)?;
        Ok(frame::write(&v1::LeaseDone {}))
    }

    /// Ends a lease at its real cost.
    pub(super) fn end(
        &self,
        batch: &mut Batch<'_>,
        space: SpaceId,
        request: &v1::SettleRequest,
    ) -> Result<(), Refusal> {
        let cost: Vec<(&str, u64)> = self.counted(amounts(&request.cost, spent))?;
        batch.settle(&self.queues, space, request.lease.as_bytes(), &cost)
    }

    pub(super) fn adjust(&self, body: Bytes) -> Result<Bytes, Status> {
        let v1::AdjustRequest { lease, delta: deltas } = self.read(body)?;
        let deltas: Vec<(&str, i64)> = self.counted(amounts(&deltas, delta))?;
        let space = self.queues.space(&self.namespace)?;
        self.api.begin(Transport::Grpc).adjust(&self.queues, space, lease.as_bytes(), &deltas)?;
        Ok(frame::write(&v1::LeaseDone {}))
    }

    pub(super) fn release(&self, body: Bytes) -> Result<Bytes, Status> {
        let v1::LeaseRequest { lease } = self.read(body)?;
        let space = self.queues.space(&self.namespace)?;
        self.api.begin(Transport::Grpc).release_lease(&self.queues, space, lease.as_bytes())?;
        Ok(frame::write(&v1::LeaseDone {}))
    }

    pub(super) fn extend(&self, body: Bytes) -> Result<Bytes, Status> {
        let v1::ExtendLeaseRequest { lease, ttl_ms } = self.read(body)?;
        let space = self.queues.space(&self.namespace)?;
        self.api.begin(Transport::Grpc).extend_lease(&self.queues, space, lease.as_bytes(), ttl_ms)?;
        Ok(frame::write(&v1::LeaseDone {}))
    }
}

pub(super) fn amounts<'a, T>(
    all: &'a [v1::Amount],
    read: impl Fn(&'a [u8], i64) -> Result<(&'a str, T), Refusal>,
) -> Result<Vec<(&'a str, T)>, Refusal> {
    all.iter().map(|amount| read(amount.limit.as_bytes(), amount.amount)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acquire_says_what_it_says() {
        let cost = vec![v1::Amount { limit: "rpm".to_owned(), amount: 1 }];
        let charge = v1::EntityCharge { entity: "a".to_owned(), resource: String::new(), cost };
        let request =
            v1::AcquireRequest { charges: vec![charge], wait_ms: Some(5), quiet: true, ..Default::default() };
        let call = request.call().unwrap();
        assert_eq!((call.wait_ms(), call.quiet, call.no_lease), (5, true, false));
        let wrong = v1::AcquireRequest { on_expiry: "later".to_owned(), ..request.clone() };
        assert_eq!(wrong.call().unwrap_err().code().as_str(), "invalid_request");
        let limits = vec![v1::Term { name: "rpm".to_owned(), ..Default::default() }];
        let wrong = v1::AcquireRequest { limits, ..request.clone() };
        assert_eq!(wrong.call().unwrap_err().code().as_str(), "invalid_limit");
    }
}
