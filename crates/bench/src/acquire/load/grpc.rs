//! Acquire and settle by `tidegate.v1.Ledger`: several connections, several callers on each, one call after the other, with
//! one operation in it or a batch of them.
//!
//! The messages are written out by hand, as far as they are used: the wire format is agreed, and the bench needs no protoc.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use prost::Message;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint};
use tonic_prost::ProstCodec;

use crate::acquire::accounts::{self, ESTIMATE, LIMITS, REAL, RESOURCE};
use crate::load::Outcome;
use crate::load::keys::{Keys, RandomKeys};
use crate::load::outcome::Latency;

const ACQUIRE: &str = "/tidegate.v1.Ledger/Acquire";
const ACQUIRE_BATCH: &str = "/tidegate.v1.Ledger/AcquireBatch";
const SETTLE: &str = "/tidegate.v1.Ledger/Settle";
const SETTLE_BATCH: &str = "/tidegate.v1.Ledger/SettleBatch";
/// How long a call may take.
const CALL_WITHIN: Duration = Duration::from_secs(5);

/// How hard to push.
#[derive(Clone, Copy, Debug)]
pub struct GrpcCycles {
    /// Where.
    pub address: SocketAddr,
    /// Connections at once.
    pub connections: usize,
    /// Calls under way on each.
    pub calls: usize,
    /// Operations of a call. One alone is a call of its own kind.
    pub batch: usize,
    /// For how long acquires are sent.
    pub lasting: Duration,
    /// Entities are drawn from so many.
    pub entities: u64,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Amount {
    #[prost(string, tag = "1")]
    limit: String,
    #[prost(int64, tag = "2")]
    amount: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
struct EntityCharge {
    #[prost(string, tag = "1")]
    entity: String,
    #[prost(string, tag = "2")]
    resource: String,
    #[prost(message, repeated, tag = "3")]
    cost: Vec<Amount>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct AcquireRequest {
    #[prost(message, repeated, tag = "1")]
    charges: Vec<EntityCharge>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct AcquireResponse {
    #[prost(bool, tag = "1")]
    granted: bool,
    #[prost(string, tag = "2")]
    lease: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct SettleRequest {
    #[prost(string, tag = "1")]
    lease: String,
    #[prost(message, repeated, tag = "2")]
    cost: Vec<Amount>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct LeaseDone {}

#[derive(Clone, PartialEq, prost::Message)]
struct AcquireBatchRequest {
    #[prost(message, repeated, tag = "1")]
    requests: Vec<AcquireRequest>,
}

/// What is refused has no such field.
#[derive(Clone, PartialEq, prost::Message)]
struct AcquireResult {
    #[prost(message, optional, tag = "1")]
    acquired: Option<AcquireResponse>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct AcquireBatchResponse {
    #[prost(message, repeated, tag = "1")]
    results: Vec<AcquireResult>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct SettleBatchRequest {
    #[prost(message, repeated, tag = "1")]
    requests: Vec<SettleRequest>,
}

/// What is refused has no such field.
#[derive(Clone, PartialEq, prost::Message)]
struct LeaseResult {
    #[prost(message, optional, tag = "1")]
    done: Option<LeaseDone>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct SettleBatchResponse {
    #[prost(message, repeated, tag = "1")]
    results: Vec<LeaseResult>,
}

impl GrpcCycles {
    /// Drives the load to its end. The waits are those for the reply of an acquire.
    pub fn run(&self) -> Result<Outcome> {
        let runtime = tokio::runtime::Runtime::new().context("no runtime")?;
        runtime.block_on(self.drive())
    }

    async fn drive(&self) -> Result<Outcome> {
        let mut channels = Vec::new();
        for _ in 0..self.connections {
            let endpoint = Endpoint::from_shared(format!("http://{}", self.address))?;
            let endpoint = endpoint.timeout(CALL_WITHIN).tcp_nodelay(true);
            channels.push(endpoint.connect().await.context("cannot connect")?);
        }
        let start = Instant::now();
        let until = start + self.lasting;
        let callers: Vec<_> = (0..self.connections * self.calls)
            .map(|index| {
                let channel = channels[index % self.connections].clone();
                let entities = RandomKeys::below(self.entities).seeded(index as u64);
                let caller = Caller { client: Grpc::new(channel), batch: self.batch };
                tokio::spawn(cycle_until(until, caller, entities))
            })
            .collect();
        let mut outcome = Outcome { requests: 0, elapsed: Duration::ZERO, latency: Latency::new()? };
        for caller in callers {
            let (cycles, latency) = caller.await.context("a caller failed")??;
            outcome.requests += cycles;
            outcome.latency.add(&latency)?;
        }
        outcome.elapsed = start.elapsed();
        Ok(outcome)
    }
}

/// One cycle after the other.
async fn cycle_until(until: Instant, mut caller: Caller, mut entities: RandomKeys) -> Result<(u64, Latency)> {
    let (mut cycles, mut latency) = (0, Latency::new()?);
    while Instant::now() < until {
        let requests: Vec<_> = (0..caller.batch).map(|_| acquire(entities.next_key())).collect();
        let (sent_at, asked) = (Instant::now(), requests.len() as u64);
        let granted = caller.acquire(requests).await?;
        latency.record(sent_at.elapsed(), asked);
        ensure!(granted.len() as u64 == asked, "not every acquire is answered");
        ensure!(granted.iter().all(|response| response.granted), "denied");
        caller.settle(granted.into_iter().map(|response| settle(response.lease)).collect()).await?;
        cycles += asked;
    }
    Ok((cycles, latency))
}

fn acquire(entity: u64) -> AcquireRequest {
    let entity = accounts::entity(entity);
    let charge = EntityCharge { entity, resource: RESOURCE.to_string(), cost: cost(ESTIMATE) };
    AcquireRequest { charges: vec![charge] }
}

fn settle(lease: String) -> SettleRequest {
    SettleRequest { lease, cost: cost(REAL) }
}

fn cost(amounts: [u64; 2]) -> Vec<Amount> {
    let pairs = LIMITS.into_iter().zip(amounts);
    pairs.map(|(limit, amount)| Amount { limit: limit.to_string(), amount: amount.cast_signed() }).collect()
}

struct Caller {
    client: Grpc<Channel>,
    batch: usize,
}

impl Caller {
    async fn acquire(&mut self, mut requests: Vec<AcquireRequest>) -> Result<Vec<AcquireResponse>> {
        if let Some(request) = requests.pop_if(|_| self.batch == 1) {
            return Ok(vec![self.call(ACQUIRE, request).await?]);
        }
        let answer: AcquireBatchResponse = self.call(ACQUIRE_BATCH, AcquireBatchRequest { requests }).await?;
        answer.results.into_iter().map(|result| result.acquired.context("refused")).collect()
    }

    async fn settle(&mut self, mut requests: Vec<SettleRequest>) -> Result<()> {
        if let Some(request) = requests.pop_if(|_| self.batch == 1) {
            let LeaseDone {} = self.call(SETTLE, request).await?;
            return Ok(());
        }
        let answer: SettleBatchResponse = self.call(SETTLE_BATCH, SettleBatchRequest { requests }).await?;
        ensure!(answer.results.iter().all(|result| result.done.is_some()), "a settlement was refused");
        Ok(())
    }

    async fn call<Q, A>(&mut self, method: &'static str, request: Q) -> Result<A>
    where
        Q: Message + Send + Sync + 'static,
        A: Message + Default + Send + Sync + 'static,
    {
        self.client.ready().await.context("the connection is gone")?;
        let (codec, path) = (ProstCodec::<Q, A>::default(), PathAndQuery::from_static(method));
        let answer = self.client.unary(tonic::Request::new(request), path, codec).await;
        Ok(answer.with_context(|| format!("{method} was refused"))?.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_response_holds_besides_is_passed_over() {
        // granted, a lease, expires_at_ms, and a status of two bytes.
        let bytes = b"\x08\x01\x12\x04feed\x18\x09\x3a\x02\x30\x01";
        let response = AcquireResponse::decode(bytes.as_slice()).unwrap();
        assert_eq!(response, AcquireResponse { granted: true, lease: "feed".to_string() });
        // One that is done, and one that is refused.
        let response = SettleBatchResponse::decode(b"\x0a\x02\x0a\x00\x0a\x02\x12\x00".as_slice()).unwrap();
        assert_eq!(response.results, [LeaseResult { done: Some(LeaseDone {}) }, LeaseResult { done: None }]);
    }
}
