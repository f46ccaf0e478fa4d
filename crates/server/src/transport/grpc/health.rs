//! Health: whether a service of this server can decide. It asks the engine itself, as `GET /ready` does.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};
use tokio_stream::wrappers::IntervalStream;
use tokio_stream::{Stream, StreamExt};
use tonic::{Request, Response, Status};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse, health_server};

use super::path;
use crate::api::Api;

/// How often a watched status is looked at.
const WATCH_INTERVAL: Duration = Duration::from_secs(1);

/// `grpc.health.v1.Health`.
pub struct Health {
    pub(super) api: Arc<Api>,
}

fn status_of(service: &str, api: &Api) -> ServingStatus {
    // The empty name is the server as a whole.
    let known = service.is_empty() || path::SERVICES.contains(&service);
    match (known, api.ready()) {
        (false, _) => ServingStatus::ServiceUnknown,
        (true, Ok(())) => ServingStatus::Serving,
        (true, Err(_)) => ServingStatus::NotServing,
    }
}

fn response(status: ServingStatus) -> HealthCheckResponse {
    HealthCheckResponse { status: status.into() }
}

#[tonic::async_trait]
impl health_server::Health for Health {
    type WatchStream = Pin<Box<dyn Stream<Item = Result<HealthCheckResponse, Status>> + Send>>;

    async fn check(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        match status_of(&request.get_ref().service, &self.api) {
            ServingStatus::ServiceUnknown => Err(Status::not_found("there is no such service here")),
            status => Ok(Response::new(response(status))),
        }
    }

    /// The status now, and again whenever it has changed.
    async fn watch(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let (api, service) = (self.api.clone(), request.into_inner().service);
        let mut ticks = interval(WATCH_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut told = None;
        let changes = IntervalStream::new(ticks).filter_map(move |_| {
            let status = status_of(&service, &api);
            (told.replace(status) != Some(status)).then(|| Ok(response(status)))
        });
        Ok(Response::new(Box::pin(changes)))
    }
}
