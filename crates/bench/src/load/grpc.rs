//! Unary `throttlecrab.RateLimiter/Throttle` calls: several connections, several calls under way on each.
//!
//! The messages are written out by hand: the wire format is agreed, and the bench needs no protoc.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint};
use tonic_prost::ProstCodec;

use super::keys::{Keys, RandomKeys};
use super::outcome::{Latency, Outcome};
use super::wire::Quota;

const METHOD: &str = "/throttlecrab.RateLimiter/Throttle";
/// How long a call may take.
const CALL_WITHIN: Duration = Duration::from_secs(5);

/// How hard to push.
#[derive(Clone, Copy, Debug)]
pub struct GrpcLoad {
    /// Where.
    pub address: SocketAddr,
    /// Connections at once.
    pub connections: usize,
    /// Calls under way on each.
    pub calls: usize,
    /// For how long new calls are made.
    pub lasting: Duration,
    /// Keys are drawn from so many.
    pub key_space: u64,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ThrottleRequest {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(int32, tag = "2")]
    max_burst: i32,
    #[prost(int32, tag = "3")]
    count_per_period: i32,
    #[prost(int32, tag = "4")]
    period: i32,
    #[prost(int32, tag = "5")]
    quantity: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ThrottleResponse {
    #[prost(bool, tag = "1")]
    allowed: bool,
    #[prost(int32, tag = "2")]
    limit: i32,
    #[prost(int32, tag = "3")]
    remaining: i32,
    #[prost(int32, tag = "4")]
    retry_after: i32,
    #[prost(int32, tag = "5")]
    reset_after: i32,
}

impl GrpcLoad {
    /// Drives the load to its end.
    pub fn run(&self, quota: Quota) -> Result<Outcome> {
        let runtime = tokio::runtime::Runtime::new().context("no runtime")?;
        runtime.block_on(self.drive(quota))
    }

    async fn drive(&self, quota: Quota) -> Result<Outcome> {
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
                let keys = RandomKeys::below(self.key_space).seeded(index as u64);
                tokio::spawn(call_until(until, channel, keys, quota))
            })
            .collect();
        let mut outcome = Outcome { requests: 0, elapsed: Duration::ZERO, latency: Latency::new()? };
        for caller in callers {
            let (calls, latency) = caller.await.context("a caller failed")??;
            outcome.requests += calls;
            outcome.latency.add(&latency)?;
        }
        outcome.elapsed = start.elapsed();
        Ok(outcome)
    }
}

/// One call after the other.
async fn call_until(
    until: Instant,
    channel: Channel,
    mut keys: RandomKeys,
    quota: Quota,
) -> Result<(u64, Latency)> {
    let mut client = Grpc::new(channel);
    let (mut calls, mut latency) = (0, Latency::new()?);
    while Instant::now() < until {
        let request = ThrottleRequest {
            key: format!("key:{:012}", keys.next_key()),
            max_burst: i32::try_from(quota.burst)?,
            count_per_period: i32::try_from(quota.count)?,
            period: i32::try_from(quota.period_s)?,
            quantity: 1,
        };
        let sent_at = Instant::now();
        client.ready().await.context("the connection is gone")?;
        let codec = ProstCodec::<ThrottleRequest, ThrottleResponse>::default();
        let path = PathAndQuery::from_static(METHOD);
        client.unary(tonic::Request::new(request), path, codec).await.context("the call was refused")?;
        latency.record(sent_at.elapsed(), 1);
        calls += 1;
    }
    Ok((calls, latency))
}
