//! Several acquires or settlements in one call: each is decided by itself, in order, all at one reading of the clock.
//!
//! Acquires that cannot pass now stand in line together, while the others are decided already, and what is said of another
//! server's lease is passed on. The answer goes out once there is one to each of them.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use tidegate_ledger::{Acquired, Granted, SpaceId};
use tonic::Status;

use super::super::{frame, v1};
use super::acquire::{Asked, Waits, amounts};
use super::call::{LedgerCall, Ran};
use super::told::{Told, write_all};
use crate::api::ledger::LeaseCall;
use crate::api::ledger::acquire::spent;
use crate::api::ledger::lease::Passed;
use crate::api::{Code, Refusal, Transport};

impl LedgerCall {
    pub(super) fn acquire_batch(self, body: Bytes) -> Ran {
        let mut line = match self.decide_all(body) {
            Ok(line) => line,
            Err(status) => return Ran::Done(Err(status)),
        };
        match line.waiting.is_empty() {
            true => Ran::Done(Ok(line.answer())),
            false => Ran::Waits(Box::pin(async move {
                poll_fn(|cx| line.poll(cx)).await;
                Ok(line.answer())
            })),
        }
    }

    fn decide_all(self, body: Bytes) -> Result<Line, Status> {
        let v1::AcquireBatchRequest { requests } = self.read(body)?;
        self.counted(self.queues.check_batch(requests.len()))?;
        let space = self.queues.space(&self.namespace)?;
        let (mut results, mut waiting) = (Vec::with_capacity(requests.len()), Vec::new());
        {
            let mut batch = self.api.begin(Transport::Grpc);
            for (at, request) in requests.iter().enumerate() {
                results.push(match self.decide(&mut batch, space, request) {
                    Ok(Asked::Decided(told)) => Some(Ok(told)),
                    Ok(Asked::Waits(waits)) => {
                        waiting.push((at, waits));
                        None
                    }
                    Err(refusal) => Some(Err(refusal)),
                });
            }
        }
        Ok(Line { call: self, space, results, waiting })
    }

    pub(super) fn settle_batch(self, body: Bytes) -> Ran {
        let (mut results, mut passed) = match self.end_all(body) {
            Ok(ended) => ended,
            Err(status) => return Ran::Done(Err(status)),
        };
        match passed.is_empty() {
            true => Ran::Done(Ok(frame::write(&v1::SettleBatchResponse { results }))),
            false => Ran::Waits(Box::pin(async move {
                poll_fn(|cx| poll_each(&mut passed, cx, |at, ended| results[at] = ended.into())).await;
                Ok(frame::write(&v1::SettleBatchResponse { results }))
            })),
        }
    }

    /// What became of each lease that is here, and the way to it for those that are elsewhere.
    fn end_all(&self, body: Bytes) -> Result<Ended, Status> {
        let v1::SettleBatchRequest { requests } = self.read(body)?;
        self.counted(self.queues.check_batch(requests.len()))?;
        let space = self.queues.space(&self.namespace)?;
        let mut batch = self.api.begin(Transport::Grpc);
        let (mut results, mut passed) = (Vec::with_capacity(requests.len()), Vec::new());
        for (at, request) in requests.iter().enumerate() {
            let ended = self.end(&mut batch, space, request);
            if let Err(refusal) = &ended {
                passed.extend(self.pass_on(refusal.code(), request).map(|passed| (at, passed)));
            }
            results.push(ended.into());
        }
        Ok((results, passed))
    }

    fn pass_on(&self, code: Code, request: &v1::SettleRequest) -> Option<Passed> {
        // Its amounts were read before.
        let call = || LeaseCall::settle(&amounts(&request.cost, spent).unwrap_or_default());
        self.queues.pass_on(code, &self.namespace, request.lease.as_bytes(), call)
    }
}

/// Results in the order of the requests, and which of them are waited for.
type Ended = (Vec<v1::LeaseResult>, Vec<(usize, Passed)>);

/// A batch of which some may stand in line.
struct Line {
    call: LedgerCall,
    space: SpaceId,
    /// In the order of the requests; one that is not there is still waited for.
    results: Vec<Option<Result<Told, Refusal>>>,
    waiting: Vec<(usize, Waits)>,
}

/// Lets each go on that is waited for, and tells what came of it.
fn poll_each<F: Future + Unpin>(
    waiting: &mut Vec<(usize, F)>,
    cx: &mut Context<'_>,
    mut answered: impl FnMut(usize, F::Output),
) -> Poll<()> {
    waiting.retain_mut(|(at, waits)| match Pin::new(waits).poll(cx) {
        Poll::Ready(answer) => {
            answered(*at, answer);
            false
        }
        Poll::Pending => true,
    });
    if waiting.is_empty() { Poll::Ready(()) } else { Poll::Pending }
}

impl Line {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Line { results, waiting, .. } = self;
        poll_each(waiting, cx, |at, answer| results[at] = Some(answer))
    }

    fn answer(&mut self) -> Bytes {
        write_all(std::mem::take(&mut self.results).into_iter().flatten())
    }
}

impl Drop for Line {
    /// Its client has left before it was answered, and so knows of no lease: all are given back.
    fn drop(&mut self) {
        if self.results.is_empty() {
            return;
        }
        let (queues, now) = (&self.call.queues, self.call.api.begin(Transport::Grpc).now());
        for told in self.results.iter().flatten().flatten() {
            if let Acquired::Granted(Granted { lease: Some(lease), .. }) = &told.acquired {
                // One that has expired meanwhile is back already.
                queues.ledger().release(self.space, *lease, now).ok();
            }
        }
    }
}

impl From<Result<(), Refusal>> for v1::LeaseResult {
    fn from(result: Result<(), Refusal>) -> v1::LeaseResult {
        use v1::lease_result::Outcome;
        let done = |()| Outcome::Done(v1::LeaseDone {});
        let outcome = result.map_or_else(|refusal| Outcome::Error(refusal.into()), done);
        v1::LeaseResult { outcome: Some(outcome) }
    }
}
