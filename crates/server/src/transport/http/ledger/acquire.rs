//! Taking charges, and what becomes of their lease.

use bytes::Bytes;
use http::Response;
use tidegate_core::Nanos;
use tidegate_ledger::Acquired;

use super::super::outgoing::Outgoing;
use super::super::parse::{parse, parse_or_default};
use super::super::reply;
use super::super::route::Ledger;
use super::super::wire::{Peer, ended};
use super::call::Call;
use super::fields;
use super::shape::{Acquire, Adjust, Extend, Nothing, Settle};
use crate::api::ledger::acquire::{delta, spent};
use crate::api::ledger::{Stood, Tried, document};
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

    pub(super) fn change_lease(&self, body: &[u8]) -> Result<(), Refusal> {
        let mut batch = self.api.begin(Transport::Http);
        let (queues, id) = (&self.queues, self.names[0].as_slice());
        let space = queues.space(&self.namespace)?;
        match self.route {
            Ledger::SettleLease => {
                let Settle { cost } = parse_or_default(body)?;
                let cost = cost.iter().flatten().map(|(limit, amount)| spent(limit.as_bytes(), *amount));
                batch.settle(queues, space, id, &cost.collect::<Result<Vec<_>, _>>()?)
            }
            Ledger::AdjustLease => {
                let Adjust { delta: deltas } = parse(body)?;
                let deltas = deltas.iter().map(|(limit, amount)| delta(limit.as_bytes(), *amount));
                batch.adjust(queues, space, id, &deltas.collect::<Result<Vec<_>, _>>()?)
            }
            Ledger::ExtendLease => {
                let Extend { ttl_ms } = parse(body)?;
                batch.extend_lease(queues, space, id, ttl_ms)
            }
            _ => {
                let Nothing {} = parse_or_default(body)?;
                batch.release_lease(queues, space, id)
            }
        }
    }
}

/// What came of an acquire: 200, or 429 with the time to wait. Either says where its caller stands.
fn response(acquired: &Acquired, now: Nanos) -> Response<Outgoing> {
    let mut response = reply::json(document::acquired(acquired, now));
    let statuses = match acquired {
        Acquired::Granted(granted) => &granted.statuses,
        Acquired::Denied(denied) => {
            *response.status_mut() = http::StatusCode::TOO_MANY_REQUESTS;
            fields::add_retry_after(denied.ready, now, response.headers_mut());
            &denied.statuses
        }
    };
    fields::add(statuses, response.headers_mut());
    response
}
