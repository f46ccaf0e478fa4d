//! Responses: JSON, and for gRPC a message or a status.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, Version, header};

use super::encode;
use super::outgoing::Outgoing;
use crate::api::{Code, Refusal};

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const GRPC: HeaderValue = HeaderValue::from_static("application/grpc");
const PROMETHEUS: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

/// A 200 with a JSON body.
pub fn json(body: impl Into<Bytes>) -> Response<Outgoing> {
    let mut response = Response::new(Outgoing::Whole(body.into()));
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response
}

/// Another success, with a JSON body.
pub fn json_with(status: StatusCode, body: impl Into<Bytes>) -> Response<Outgoing> {
    let mut response = json(body);
    *response.status_mut() = status;
    response
}

/// The page that Prometheus reads.
pub fn metrics(page: String) -> Response<Outgoing> {
    let mut response = json(page);
    response.headers_mut().insert(header::CONTENT_TYPE, PROMETHEUS);
    response
}

/// A unary gRPC call that was answered.
pub fn message(message: Bytes) -> Response<Outgoing> {
    let mut response = Response::new(Outgoing::Message(message));
    response.headers_mut().insert(header::CONTENT_TYPE, GRPC);
    response
}

/// A gRPC call that was refused: all of it is in the headers.
pub fn status(status: tonic::Status) -> Response<Outgoing> {
    status.into_http::<()>().map(|()| Outgoing::nothing())
}

/// A refusal: its status, and its code, message and hint as JSON.
pub fn refusal(refusal: &Refusal) -> Response<Outgoing> {
    let mut response = json(encode::refusal(refusal));
    *response.status_mut() = status_code(refusal.code());
    if refusal.code() == Code::Unauthenticated {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// A refusal of a request that is not going to be read to its end, so that nothing can follow it.
pub fn unread(why: &Refusal, version: Version) -> Response<Outgoing> {
    let mut response = refusal(why);
    // On HTTP/2 only the stream ends.
    if version < Version::HTTP_2 {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// The status of a refusal.
pub fn status_code(code: Code) -> StatusCode {
    StatusCode::from_u16(code.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}
