//! What a call becomes: a unary method that waits for its message, or a service of tonic's that takes it from here.

use std::convert::Infallible;
use std::sync::Arc;

use http::{Request, Response};
use hyper::body::Incoming;
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service};
use tonic_health::pb::health_server::HealthServer;

use super::health::Health;
use super::ledger::LedgerCall;
use super::path::{self, Stream, Target};
use super::queue::{self, QueueCall};
use super::reflection::Reflection;
use super::stream::ThrottleStream;
use super::unary::Unary;
use crate::api::{Api, Refusal};
use crate::config;
use crate::transport::http::{bearer, namespace};

/// A call that tonic answers. It cannot fail: whatever goes wrong is a response.
pub type Calling = BoxFuture<Response<Body>, Infallible>;

/// A call whose head is read.
pub enum Begun {
    /// It waits for its one message, which is in the body.
    Unary(Unary, Incoming),
    /// The same, and then for the queues.
    Queue(QueueCall, Incoming),
    /// The same, on the ledger.
    Ledger(LedgerCall, Incoming),
    /// It is with tonic.
    Calling(Calling),
}

/// The gRPC services of one loop.
pub struct Services {
    api: Arc<Api>,
    max_message_bytes: usize,
    health: HealthServer<Health>,
    reflection: Reflection,
}

impl Services {
    /// Services over `api`, as configured.
    pub fn new(api: &Arc<Api>, config: &config::Http) -> Services {
        Services {
            api: api.clone(),
            max_message_bytes: config.max_body_bytes,
            health: HealthServer::new(Health { api: api.clone() }),
            reflection: Reflection::new(),
        }
    }

    /// Starts on a call.
    pub fn begin(&self, request: Request<Incoming>) -> Result<Begun, Refusal> {
        let target = path::find(request.uri().path());
        let target = target.ok_or_else(|| Refusal::not_found(request.uri().path()))?;
        // What asks for health has often nowhere to keep a token.
        if target != Target::Health {
            self.api.authorize(bearer(request.headers()))?;
        }
        let calling = match target {
            Target::Unary(method) => {
                let unary = Unary::new(method, &self.api, request.headers())?;
                return Ok(Begun::Unary(unary, request.into_body()));
            }
            Target::Queue(method) => {
                let caller = queue::Caller::new(&self.api, request.headers())?;
                return Ok(Begun::Queue(QueueCall::new(caller, method), request.into_body()));
            }
            Target::Ledger(method) => {
                let call = LedgerCall::new(method, &self.api, request.headers())?;
                return Ok(Begun::Ledger(call, request.into_body()));
            }
            Target::Stream(Stream::Throttle) => {
                let namespace = namespace(&self.api, request.headers())?;
                ThrottleStream { api: self.api.clone(), namespace }.call(request, self.max_message_bytes)
            }
            Target::Stream(Stream::Enqueue) => {
                let caller = queue::Caller::new(&self.api, request.headers())?;
                queue::EnqueueStream::new(caller).call(request, self.max_message_bytes)
            }
            Target::Stream(Stream::Consume) => {
                let caller = queue::Caller::new(&self.api, request.headers())?;
                queue::Consume::new(caller).call(request, self.max_message_bytes)
            }
            Target::Health => self.health.clone().call(request),
            Target::ReflectionV1 => self.reflection.v1(request),
            Target::ReflectionV1Alpha => self.reflection.v1alpha(request),
        };
        Ok(Begun::Calling(calling))
    }
}
