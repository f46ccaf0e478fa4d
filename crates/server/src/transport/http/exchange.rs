//! One request in, one response out: gRPC by its content type, anything else by the table of paths.
//!
//! Whatever needs no waiting is done before the future is made, so that the future holds a body at most: on HTTP/2
//! each one becomes a task, and a task of two kilobytes costs a visible share of a request.

use std::convert::Infallible;
use std::pin::Pin;
use std::rc::Rc;

use http::{Request, Response, Version};
use hyper::body::Incoming;

use super::connection::Connection;
use super::headers::{self, MediaType};
use super::operation::Operation;
use super::outgoing::Outgoing;
use super::patience::within;
use super::route::{self, Route};
use super::wire::Peer;
use super::{HttpDoor, body, ledger, openapi, queue, reply};
use crate::api::{Refusal, Transport};
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

    fn door(&self) -> &HttpDoor {
        &self.connection.door
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.connection.activity.request_closed();
    }
}

/// What is left to do for a request once its head is read.
enum Step {
    Answered(Response<Outgoing>),
    Ask(Operation, Version, Incoming),
    Unary(grpc::Unary, Incoming),
    Ledger(grpc::LedgerCall, Incoming),
    Calling(grpc::Calling),
    /// Boxed, since these wait and hold much, and most requests are none of them.
    Waiting(Waiting),
}

type Waiting = Pin<Box<dyn Future<Output = Response<Outgoing>>>>;

/// Answers one request. A refusal is a response too, so this never fails. On HTTP/1.1, `peer` is who sent it.
pub fn exchange(
    connection: Rc<Connection>,
    peer: Option<Peer>,
    request: Request<Incoming>,
) -> impl Future<Output = Result<Response<Outgoing>, Infallible>> {
    let open = Open::new(connection);
    let step = begin(open.connection(), peer, request);
    async move {
        match step {
            Step::Answered(response) => Ok(response),
            Step::Ask(operation, version, body) => Ok(ask(open.door(), operation, version, body).await),
            Step::Unary(unary, body) => Ok(call(open.door(), unary, body).await),
            Step::Ledger(call, body) => Ok(ledger_call(open.door(), call, body).await),
            Step::Calling(calling) => Ok(finish(calling, open).await),
            Step::Waiting(waiting) => Ok(waiting.await),
        }
    }
}

fn begin(connection: &Rc<Connection>, peer: Option<Peer>, request: Request<Incoming>) -> Step {
    let begun = match MediaType::of_headers(request.headers()) {
        MediaType::Grpc if request.version() == Version::HTTP_2 => return begin_call(connection, request),
        MediaType::Grpc => Err(Refusal::unsupported_media_type("gRPC over HTTP/1.1")),
        MediaType::GrpcWeb => Err(Refusal::unsupported_media_type("gRPC-Web")),
        MediaType::Other => begin_json(connection, peer, request),
    };
    begun.unwrap_or_else(|refusal| Step::Answered(reply::refusal(&refusal)))
}

fn begin_call(connection: &Rc<Connection>, request: Request<Incoming>) -> Step {
    let door = &connection.door;
    match door.grpc.begin(request) {
        Ok(grpc::Begun::Unary(unary, body)) => Step::Unary(unary, body),
        Ok(grpc::Begun::Ledger(call, body)) => Step::Ledger(call, body),
        Ok(grpc::Begun::Queue(call, body)) => {
            Step::Waiting(Box::pin(queue_call(connection.clone(), call, body)))
        }
        Ok(grpc::Begun::Calling(calling)) => Step::Calling(calling),
        Err(refusal) => {
            door.count_refused(Transport::Grpc);
            Step::Answered(reply::status(refusal.into()))
        }
    }
}

fn begin_json(
    connection: &Rc<Connection>,
    peer: Option<Peer>,
    request: Request<Incoming>,
) -> Result<Step, Refusal> {
    let door = &connection.door;
    let found = match route::find(request.method(), request.uri().path()) {
        Ok(found) => found,
        Err(miss) => return Ok(Step::Answered(miss.response())),
    };
    let authorized = || door.api.authorize(headers::bearer(request.headers()));
    let response = match found.route {
        Route::Health => reply::json(r#"{"status":"ok"}"#),
        Route::Ready => door.api.ready().map(|()| reply::json(r#"{"status":"ready"}"#))?,
        Route::OpenApi => authorized().map(|()| reply::json(openapi::DOCUMENT))?,
        Route::Metrics => {
            authorized()?;
            return Ok(Step::Waiting(Box::pin(metrics(connection.clone()))));
        }
        Route::Ask(ask) => {
            let checked = authorized().and_then(|()| Operation::new(ask, door, request.headers()));
            let operation = checked.inspect_err(|_| door.count_refused(Transport::Http))?;
            return Ok(Step::Ask(operation, request.version(), request.into_body()));
        }
        Route::Queue(route) => {
            let (uri, headers) = (request.uri(), request.headers());
            let checked =
                authorized().and_then(|()| queue::Call::new(route, found.names[0], &door.api, uri, headers));
            let call = checked.inspect_err(|_| door.count_refused(Transport::Http))?;
            let version = request.version();
            return Ok(Step::Waiting(Box::pin(queue_request(
                connection.clone(),
                peer,
                call,
                version,
                request.into_body(),
            ))));
        }
        Route::Ledger(route) => {
            let (uri, headers) = (request.uri(), request.headers());
            let checked =
                authorized().and_then(|()| ledger::Call::new(route, &found, &door.api, uri, headers));
            let call = checked.inspect_err(|_| door.count_refused(Transport::Http))?;
            let version = request.version();
            return Ok(Step::Waiting(Box::pin(ledger_request(
                connection.clone(),
                peer,
                call,
                version,
                request.into_body(),
            ))));
        }
    };
    Ok(Step::Answered(response))
}

async fn ask(door: &HttpDoor, operation: Operation, version: Version, body: Incoming) -> Response<Outgoing> {
    match body::collect(body, door).await {
        Ok(body) => {
            let answered = operation.run(&mut door.api.begin(Transport::Http), door.max_batch, &body);
            answered.map_or_else(|refusal| reply::refusal(&refusal), reply::json)
        }
        Err(refusal) => {
            door.count_refused(Transport::Http);
            reply::unread(&refusal, version)
        }
    }
}

async fn metrics(connection: Rc<Connection>) -> Response<Outgoing> {
    reply::metrics(connection.door.api.metrics_text().await)
}

async fn queue_request(
    connection: Rc<Connection>,
    peer: Option<Peer>,
    call: queue::Call,
    version: Version,
    body: Incoming,
) -> Response<Outgoing> {
    match body::collect(body, &connection.door).await {
        Ok(body) => match call.run(&body, peer.as_ref()).await {
            Ok(json) => reply::json_with(call.status(), json),
            Err(refusal) => reply::refusal(&refusal),
        },
        Err(refusal) => {
            connection.door.count_refused(Transport::Http);
            reply::unread(&refusal, version)
        }
    }
}

async fn ledger_request(
    connection: Rc<Connection>,
    peer: Option<Peer>,
    call: ledger::Call,
    version: Version,
    body: Incoming,
) -> Response<Outgoing> {
    match body::collect(body, &connection.door).await {
        Ok(body) => {
            let answered = call.run(&body, peer.as_ref()).await;
            answered.unwrap_or_else(|refusal| reply::refusal(&refusal))
        }
        Err(refusal) => {
            connection.door.count_refused(Transport::Http);
            reply::unread(&refusal, version)
        }
    }
}

async fn queue_call(connection: Rc<Connection>, call: grpc::QueueCall, body: Incoming) -> Response<Outgoing> {
    let answered = match body::collect(body, &connection.door).await {
        Ok(body) => call.run(body).await,
        Err(refusal) => {
            connection.door.count_refused(Transport::Grpc);
            Err(refusal.into())
        }
    };
    answered.map_or_else(reply::status, reply::message)
}

async fn call(door: &HttpDoor, unary: grpc::Unary, body: Incoming) -> Response<Outgoing> {
    let answered = match body::collect(body, door).await {
        Ok(body) => unary.run(&door.api, door.max_batch, body),
        Err(refusal) => {
            door.count_refused(Transport::Grpc);
            Err(refusal.into())
        }
    };
    answered.map_or_else(reply::status, reply::message)
}

async fn ledger_call(door: &HttpDoor, call: grpc::LedgerCall, body: Incoming) -> Response<Outgoing> {
    let answered = match body::collect(body, door).await {
        Ok(body) => match call.run(body) {
            grpc::Ran::Done(answered) => answered,
            grpc::Ran::Waits(waiting) => waiting.await,
        },
        Err(refusal) => {
            door.count_refused(Transport::Grpc);
            Err(refusal.into())
        }
    };
    answered.map_or_else(reply::status, reply::message)
}

async fn finish(calling: grpc::Calling, open: Open) -> Response<Outgoing> {
    // Only the request is hurried: the call of a stream returns as soon as the stream is set up.
    match within(open.door().patience.request, calling).await {
        Some(Ok(response)) => response.map(|body| Outgoing::call(body, open)),
        None => reply::status(open.door().too_slow().into()),
    }
}
