//! Taking charges, and what becomes of their lease.

use bytes::Bytes;
use http::Response;
use tidegate_core::Nanos;
use tidegate_core::bucket::Ready;
use tidegate_ledger::Acquired;

use super::super::outgoing::Outgoing;
use super::super::parse::{parse, parse_or_default};
use super::super::reply;
use super::super::route::Ledger;
use super::super::wire::{Peer, ended};
use super::call::Call;
use super::fields;
use super::shape::{Acquire, Adjust, Extend, Nothing, Settle};
use crate::api::ledger::acquire::{delta, spent, ttl_ns};
use crate::api::ledger::{LeaseCall, Stood, Tried, document};
use crate::api::{Refusal, Transport};

impl Call {
    pub(super) async fn acquire(
        &self,
        body: &Bytes,
        peer: Option<&Peer>,
    ) -> Result<Response<Outgoing>, Refusal> {
        let (tried, quiet, now) = self.try_acquire(body)?;
        let (acquired, now) = match tried {
            Tried::Decided(acquired) => (acquired, now),
            Tried::Waits(waiting) => {
                let stood = Stood::new(&waiting, quiet);
                let mut ops = self.queues.ops(Transport::Http);
                ops.acquire(waiting);
                let acquired = tokio::select! {
                    biased;
                    acquired = self.queues.stand_in_line(ops) => acquired?,
                    // Whoever has sent its last byte has left: what is not heard is not to be taken.
                    () = ended(peer) => return Err(Refusal::shutting_down()),
                };
                self.queues.told(&stood, acquired)?
            }
            Tried::Later(later) => tokio::select! {
                biased;
                acquired = self.queues.acquire_later(Transport::Http, *later) => acquired?,
                () = ended(peer) => return Err(Refusal::shutting_down()),
            },
        };
        Ok(response(&acquired, now))
    }

    fn try_acquire(&self, body: &[u8]) -> Result<(Tried, bool, Nanos), Refusal> {
        let mut batch = self.api.begin(Transport::Http);
        let request: Acquire<'_> = parse(body).inspect_err(|_| batch.refuse())?;
        let call = request.call().inspect_err(|_| batch.refuse())?;
        let space = self.queues.space(&self.namespace)?;
        let tried = batch.acquire(&self.queues, &self.namespace, space, &call)?;
        Ok((tried, call.quiet, batch.now()))
    }

    /// Does something with a lease here, or has it done where the lease is.
    pub(super) async fn change_or_pass_on(&self, body: &[u8]) -> Result<(), Refusal> {
        let change = self.lease_call(body)?;
        let Err(refusal) = self.change_lease(&change) else { return Ok(()) };
        let id = self.names[0].as_slice();
        match self.queues.pass_on(refusal.code(), &self.namespace, id, || change) {
            Some(passed) => passed.await,
            None => Err(refusal),
        }
    }

    /// What is to become of a lease.
    fn lease_call(&self, body: &[u8]) -> Result<LeaseCall, Refusal> {
        Ok(match self.route {
            Ledger::SettleLease => {
                let Settle { cost } = parse_or_default(body)?;
                let cost = cost.iter().flatten().map(|(limit, amount)| spent(limit.as_bytes(), *amount));
                LeaseCall::settle(&cost.collect::<Result<Vec<_>, _>>()?)
            }
            Ledger::AdjustLease => {
                let Adjust { delta: deltas } = parse(body)?;
                let deltas = deltas.iter().map(|(limit, amount)| delta(limit.as_bytes(), *amount));
                LeaseCall::adjust(&deltas.collect::<Result<Vec<_>, _>>()?)
            }
            Ledger::ExtendLease => {
                let Extend { ttl_ms } = parse(body)?;
                ttl_ns(ttl_ms)?;
                LeaseCall::Extend(ttl_ms.unsigned_abs())
            }
            _ => {
                let Nothing {} = parse_or_default(body)?;
                LeaseCall::Release
            }
        })
    }

    fn change_lease(&self, change: &LeaseCall) -> Result<(), Refusal> {
        let mut batch = self.api.begin(Transport::Http);
        let (queues, id) = (&self.queues, self.names[0].as_slice());
        batch.change_lease(queues, queues.space(&self.namespace)?, id, change)
    }
}

/// What came of an acquire: 200, or 429 with the time to wait. Either says where its caller stands.
fn response(acquired: &Acquired, now: Nanos) -> Response<Outgoing> {
    let mut response = reply::json(document::acquired(acquired, now));
    let (statuses, ready) = match acquired {
        Acquired::Granted(granted) => (&granted.statuses[..], None),
        Acquired::Denied(denied) => (&denied.statuses[..], Some(denied.ready)),
        Acquired::Undecided(_) => (&[][..], Some(Ready::Pending)),
    };
    if let Some(ready) = ready {
        *response.status_mut() = http::StatusCode::TOO_MANY_REQUESTS;
        fields::add_retry_after(ready, now, response.headers_mut());
    }
    fields::add(statuses, response.headers_mut());
    response
}
