//! `Acquire` and what becomes of its lease: straight on the ledger.

use bytes::Bytes;
use tidegate_core::Nanos;
use tidegate_ledger::{Acquired, Status as Limit};
use tonic::Status;

use super::super::{frame, v1};
use super::call::{LedgerCall, Ran};
use super::term;
use crate::api::ledger::acquire::{delta, digits, spent};
use crate::api::ledger::document::retry_after_ms;
use crate::api::ledger::{AcquireCall, Stood, Tried};
use crate::api::{Refusal, Transport};

const NANOS_PER_MS: u64 = 1_000_000;

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

impl LedgerCall {
    pub(super) fn acquire(self, body: Bytes) -> Ran {
        let (tried, quiet, now) = match self.try_acquire(body) {
            Ok(tried) => tried,
            Err(status) => return Ran::Done(Err(status)),
        };
        match tried {
            Tried::Decided(acquired) => Ran::Done(Ok(frame::write(&told(&acquired, now)))),
            Tried::Waits(waiting) => {
                let stood = Stood::new(&waiting, quiet);
                let mut ops = self.queues.ops(Transport::Grpc);
                ops.acquire(waiting);
                Ran::Waits(Box::pin(async move {
                    // hyper drops this when the client leaves: what would have been taken is given back.
                    let acquired = self.queues.stand_in_line(ops).await?;
                    let (acquired, now) = self.queues.told(&stood, acquired)?;
                    Ok(frame::write(&told(&acquired, now)))
                }))
            }
        }
    }

    fn try_acquire(&self, body: Bytes) -> Result<(Tried, bool, Nanos), Status> {
        let request: v1::AcquireRequest = self.read(body)?;
        let mut batch = self.api.begin(Transport::Grpc);
        let call = request.call().inspect_err(|_| batch.refuse())?;
        let space = self.queues.space(&self.namespace)?;
        let tried = batch.acquire(&self.queues, &self.namespace, space, &call)?;
        Ok((tried, call.quiet, batch.now()))
    }

    pub(super) fn settle(&self, body: Bytes) -> Result<Bytes, Status> {
        let v1::SettleRequest { lease, cost } = self.read(body)?;
        let cost: Vec<(&str, u64)> = self.counted(amounts(&cost, spent))?;
        let space = self.queues.space(&self.namespace)?;
        self.api.begin(Transport::Grpc).settle(&self.queues, space, lease.as_bytes(), &cost)?;
        Ok(frame::write(&v1::LeaseDone {}))
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

fn amounts<'a, T>(
    all: &'a [v1::Amount],
    read: impl Fn(&'a [u8], i64) -> Result<(&'a str, T), Refusal>,
) -> Result<Vec<(&'a str, T)>, Refusal> {
    all.iter().map(|amount| read(amount.limit.as_bytes(), amount.amount)).collect()
}

fn told(acquired: &Acquired, now: Nanos) -> v1::AcquireResponse {
    match acquired {
        Acquired::Granted(granted) => v1::AcquireResponse {
            granted: true,
            lease: granted.lease.map(|lease| lossy(&digits(lease))).unwrap_or_default(),
            expires_at_ms: granted.expires_at / NANOS_PER_MS,
            retry_after_ms: Some(0),
            bypassed: granted.bypassed,
            degraded: granted.degraded,
            statuses: granted.statuses.iter().map(|limit| status(limit, now)).collect(),
        },
        Acquired::Denied(denied) => v1::AcquireResponse {
            retry_after_ms: retry_after_ms(denied.ready, now),
            statuses: denied.statuses.iter().map(|limit| status(limit, now)).collect(),
            ..Default::default()
        },
    }
}

fn status(limit: &Limit, now: Nanos) -> v1::LimitStatus {
    v1::LimitStatus {
        entity: lossy(&limit.entity),
        resource: limit.resource.to_string(),
        limit: limit.limit.to_string(),
        kind: limit.kind.as_str().to_owned(),
        level: limit.level.as_str().to_owned(),
        capacity: limit.capacity,
        available: limit.available,
        requested: limit.requested,
        exceeded: limit.exceeded,
        soft: limit.soft,
        retry_after_ms: retry_after_ms(limit.ready, now),
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use tidegate_ledger::{Granted, LeaseId};

    use super::*;
    use crate::api::ledger::document;

    #[test]
    fn what_json_tells_is_told_here_by_the_same_names() {
        let lease = Some(LeaseId(7));
        let granted =
            Granted { lease, expires_at: 5_000_000, statuses: Vec::new(), bypassed: false, degraded: true };
        let granted = Acquired::Granted(granted);
        let json: Value = serde_json::from_slice(&document::acquired(&granted, 0)).unwrap();
        assert_eq!(serde_json::to_value(told(&granted, 0)).unwrap(), json);
    }

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
