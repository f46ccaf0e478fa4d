//! Every service, and the way to it by path: a plain `match`, where tonic would bring a router.

use std::convert::Infallible;
use std::sync::Arc;

use http::{Request, Response};
use hyper::body::Incoming;
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service};
use tonic_health::pb::health_server::{self, HealthServer};

use super::ask::Ask;
use super::health::Health;
use super::limiter::Limiter;
use super::reflection::{self, Reflection};
use super::status::refused;
use super::throttlecrab::rate_limiter_server::{self, RateLimiterServer};
use super::v1::ask_server::{self, AskServer};
use crate::api::{Api, Refusal};
use crate::config;
use crate::transport::http::bearer;

/// The gRPC services of one loop.
pub struct Services {
    api: Arc<Api>,
    limiter: RateLimiterServer<Limiter>,
    ask: AskServer<Ask>,
    health: HealthServer<Health>,
    reflection: Reflection,
}

impl Services {
    /// Services over `api`, as configured.
    pub fn new(api: &Arc<Api>, config: &config::Http) -> Services {
        let max_bytes = config.max_body_bytes;
        Services {
            api: api.clone(),
            limiter: RateLimiterServer::new(Limiter { api: api.clone() })
                .max_decoding_message_size(max_bytes),
            ask: AskServer::new(Ask { api: api.clone(), max_batch: config.max_batch })
                .max_decoding_message_size(max_bytes),
            health: HealthServer::new(Health { api: api.clone() }),
            reflection: Reflection::new(),
        }
    }

    /// Answers one call. A refusal is a response too, so this never fails.
    pub async fn call(&self, request: Request<Incoming>) -> Response<Body> {
        match self.start(request) {
            Ok(call) => call.await.unwrap_or_else(|never| match never {}),
            Err(refusal) => refused(&refusal),
        }
    }

    fn start(&self, request: Request<Incoming>) -> Result<BoxFuture<Response<Body>, Infallible>, Refusal> {
        let service = service_of(request.uri().path());
        // What asks for health has often nowhere to keep a token.
        if service != health_server::SERVICE_NAME {
            self.api.authorize(bearer(request.headers()))?;
        }
        match service {
            rate_limiter_server::SERVICE_NAME => Ok(self.limiter.clone().call(request)),
            ask_server::SERVICE_NAME => Ok(self.ask.clone().call(request)),
            health_server::SERVICE_NAME => Ok(self.health.clone().call(request)),
            reflection::V1 => Ok(self.reflection.v1(request)),
            reflection::V1ALPHA => Ok(self.reflection.v1alpha(request)),
            _ => Err(Refusal::not_found(request.uri().path())),
        }
    }
}

/// `/package.Service/Method`
fn service_of(path: &str) -> &str {
    path.strip_prefix('/').and_then(|path| path.split_once('/')).map_or("", |(service, _method)| service)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_service_and_method() {
        assert_eq!(service_of("/tidegate.v1.Ask/Throttle"), "tidegate.v1.Ask");
        for path in ["", "/", "tidegate.v1.Ask/Throttle", "/tidegate.v1.Ask"] {
            assert_eq!(service_of(path), "", "{path}");
        }
    }
}
