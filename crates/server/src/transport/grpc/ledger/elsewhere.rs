//! What is said about a lease of another server, where several share a table: passed on to it.

use bytes::Bytes;
use tonic::Status;

use super::super::path::LedgerMethod;
use super::super::status::code_of;
use super::super::{frame, v1};
use super::acquire::amounts;
use super::call::{LedgerCall, Ran};
use crate::api::Code;
use crate::api::ledger::LeaseCall;
use crate::api::ledger::acquire::{delta, spent};

impl LedgerCall {
    /// Answers with what was done here, or has it done where the lease is.
    pub(super) fn or_elsewhere(
        self,
        body: Bytes,
        change: impl FnOnce(&LedgerCall, Bytes) -> Result<Bytes, Status>,
    ) -> Ran {
        if !self.queues.is_shared() {
            return Ran::Done(change(&self, body));
        }
        match change(&self, body.clone()) {
            Err(status) if is_elsewhere(&status) => match self.passed(body) {
                Some(passed) => Ran::Waits(Box::pin(async move {
                    passed.await?;
                    Ok(frame::write(&v1::LeaseDone {}))
                })),
                None => Ran::Done(Err(status)),
            },
            done => Ran::Done(done),
        }
    }

    fn passed(&self, body: Bytes) -> Option<crate::api::ledger::lease::Passed> {
        let (lease, call) = self.lease_call(body).ok()?;
        self.queues.pass_on(Code::LeaseElsewhere, &self.namespace, lease.as_bytes(), || call)
    }

    /// The lease, and what is to become of it. It was read before, so this refuses nothing.
    fn lease_call(&self, body: Bytes) -> Result<(String, LeaseCall), Status> {
        Ok(match self.method {
            LedgerMethod::Settle => {
                let v1::SettleRequest { lease, cost } = self.read(body)?;
                (lease, LeaseCall::settle(&amounts(&cost, spent)?))
            }
            LedgerMethod::Adjust => {
                let v1::AdjustRequest { lease, delta: deltas } = self.read(body)?;
                (lease, LeaseCall::adjust(&amounts(&deltas, delta)?))
            }
            LedgerMethod::ExtendLease => {
                let v1::ExtendLeaseRequest { lease, ttl_ms } = self.read(body)?;
                (lease, LeaseCall::Extend(ttl_ms.unsigned_abs()))
            }
            _ => {
                let v1::LeaseRequest { lease } = self.read(body)?;
                (lease, LeaseCall::Release)
            }
        })
    }
}

fn is_elsewhere(status: &Status) -> bool {
    code_of(status) == Some(Code::LeaseElsewhere.as_str())
}
