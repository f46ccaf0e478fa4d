//! One request in, one response out: gRPC by its content type, anything else by the table of paths.

use std::convert::Infallible;
use std::rc::Rc;

use bytes::Bytes;
use http::{Request, Response, Version};
use hyper::body::Incoming;
use tokio::time::timeout;

use super::connection::Connection;
use super::headers::{self, MediaType};
use super::outgoing::Outgoing;
use super::route::{self, Route};
use super::{HttpDoor, body, openapi, operation, reply};
use crate::api::{Namespace, Refusal, Transport};
use crate::transport::grpc;

/// A request that has not been answered in full: its connection is not idle while this lives.
pub struct Open {
    connection: Rc<Connection>,
}

impl Open {
    fn new(connection: Rc<Connection>) -> Open {
        connection.activity.request_opened();
        Open { connection }
    }

    /// The connection it came in by.
    pub fn connection(&self) -> &Rc<Connection> {
        &self.connection
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.connection.activity.request_closed();
    }
}

/// Answers one request. A refusal is a response too, so this never fails.
pub async fn exchange(
    connection: Rc<Connection>,
    request: Request<Incoming>,
) -> Result<Response<Outgoing>, Infallible> {
    let open = Open::new(connection);
    let door = &open.connection().door;
    let answered = match MediaType::of(request.headers()) {
        MediaType::Grpc if request.version() == Version::HTTP_2 => return Ok(call(open, request).await),
        MediaType::Grpc => Err(Refusal::unsupported_media_type("gRPC over HTTP/1.1")),
        MediaType::GrpcWeb => Err(Refusal::unsupported_media_type("gRPC-Web")),
        MediaType::Other => answer(door, request).await,
    };
    Ok(answered.unwrap_or_else(|refusal| reply::refusal(&refusal)))
}

async fn call(open: Open, request: Request<Incoming>) -> Response<Outgoing> {
    let door = open.connection().door.clone();
    // Only the request is hurried: the call of a stream returns as soon as the stream is set up.
    let response = match timeout(door.patience.request, door.grpc.call(request)).await {
        Ok(response) => response,
        Err(_) => grpc::refused(&door.too_slow()),
    };
    response.map(|body| Outgoing::call(body, open))
}

async fn answer(door: &HttpDoor, request: Request<Incoming>) -> Result<Response<Outgoing>, Refusal> {
    let route = match route::find(request.method(), request.uri().path()) {
        Ok(route) => route,
        Err(miss) => return Ok(miss.response()),
    };
    match route {
        Route::Health => Ok(reply::json(r#"{"status":"ok"}"#)),
        Route::Ready => door.api.ready().map(|()| reply::json(r#"{"status":"ready"}"#)),
        Route::OpenApi => authorize(door, &request).map(|()| reply::json(openapi::DOCUMENT)),
        Route::Metrics => authorize(door, &request).map(|()| reply::metrics(door.api.metrics_text())),
        Route::Ask(ask) => match take_in(door, request).await {
            Ok((namespace, body)) => operation::run(ask, door, namespace, &body).map(reply::json),
            Err(refusal) => {
                door.api.begin(Transport::Http).refuse();
                Err(refusal)
            }
        },
    }
}

/// What an operation needs of a request, if its caller may ask at all.
async fn take_in(door: &HttpDoor, request: Request<Incoming>) -> Result<(Namespace, Bytes), Refusal> {
    authorize(door, &request)?;
    let namespace = headers::namespace(&door.api, request.headers())?;
    Ok((namespace, body::collect(request, door).await?))
}

fn authorize(door: &HttpDoor, request: &Request<Incoming>) -> Result<(), Refusal> {
    door.api.authorize(headers::bearer(request.headers()))
}
