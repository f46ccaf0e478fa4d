//! Responses in JSON.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};

use super::encode;
use super::outgoing::Outgoing;
use crate::api::{Code, Refusal};

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const PROMETHEUS: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

/// A 200 with a JSON body.
pub fn json(body: impl Into<Bytes>) -> Response<Outgoing> {
    let mut response = Response::new(Outgoing::Whole(body.into()));
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response
}

/// The page that Prometheus reads.
pub fn metrics(page: String) -> Response<Outgoing> {
    let mut response = json(page);
    response.headers_mut().insert(header::CONTENT_TYPE, PROMETHEUS);
    response
}

/// A refusal: its status, and its code, message and hint as JSON.
pub fn refusal(refusal: &Refusal) -> Response<Outgoing> {
    let mut response = json(encode::refusal(refusal));
    *response.status_mut() = status(refusal.code());
    add_headers(refusal.code(), response.headers_mut());
    response
}

/// The status of a refusal.
pub fn status(code: Code) -> StatusCode {
    StatusCode::from_u16(code.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// What HTTP asks for beside the status.
fn add_headers(code: Code, headers: &mut HeaderMap) {
    match code {
        Code::Unauthenticated => {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        // The rest of the request is not going to be read.
        Code::Timeout | Code::BodyTooLarge => {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        _ => {}
    }
}
