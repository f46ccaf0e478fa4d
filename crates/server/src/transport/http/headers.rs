//! What is read out of request headers, the same for JSON and gRPC.

use http::{HeaderMap, header};

use crate::api::{Api, Namespace, NamespaceName, Refusal};

/// Names the namespace; on gRPC it is metadata.
const NAMESPACE: &str = "tidegate-namespace";

/// The namespace of a request: `default` when unsaid.
pub fn namespace(api: &Api, headers: &HeaderMap) -> Result<Namespace, Refusal> {
    match headers.get(NAMESPACE) {
        None => Ok(api.default_namespace()),
        Some(name) => api.namespace(name.as_bytes()),
    }
}

/// The same by its name, which entities, queues, limits and settings are kept under.
pub fn namespace_name(api: &Api, headers: &HeaderMap) -> Result<NamespaceName, Refusal> {
    match headers.get(NAMESPACE) {
        None => Ok(api.default_namespace_name().clone()),
        Some(name) => api.namespace_name(name.as_bytes()),
    }
}

/// Names who is to be named in the audit; on gRPC it is metadata.
const ACTOR: &str = "tidegate-actor";

/// Who is named in the audit, if anybody is.
pub fn actor(headers: &HeaderMap) -> Option<String> {
    headers.get(ACTOR).map(|name| String::from_utf8_lossy(name.as_bytes()).into_owned())
}

/// The token of `Authorization: Bearer TOKEN`.
pub fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    bearer_of(headers.get(header::AUTHORIZATION)?.as_bytes())
}

/// The token of a value of that header.
pub fn bearer_of(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked("Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then(|| token.trim_ascii())
}

/// What a body is said to be, as far as it decides who reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaType {
    /// gRPC, with whatever message format.
    Grpc,
    /// gRPC in a browser's wrapping.
    GrpcWeb,
    /// Anything else, or nothing: taken as JSON, so that `curl -d` needs no header.
    Other,
}

impl MediaType {
    /// Reads the content type, if there is one.
    pub fn of_headers(headers: &HeaderMap) -> MediaType {
        headers.get(header::CONTENT_TYPE).map_or(MediaType::Other, |value| MediaType::of(value.as_bytes()))
    }

    /// Reads a value of that header.
    pub fn of(value: &[u8]) -> MediaType {
        match value.strip_prefix(b"application/grpc") {
            Some([] | [b'+' | b';', ..]) => MediaType::Grpc,
            Some(rest) if rest.starts_with(b"-web") => MediaType::GrpcWeb,
            _ => MediaType::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn with(name: &'static str, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name.parse().unwrap(), HeaderValue::from_static(value))])
    }

    #[test]
    fn a_bearer_token_is_found_whatever_the_case_of_its_scheme() {
        let cases = [
            ("Bearer secret", Some("secret")),
            ("bearer secret", Some("secret")),
            ("Bearer  secret ", Some("secret")),
            ("Bearer ", Some("")),
            ("Bearer", None),
            ("Basic c2VjcmV0", None),
            ("secret", None),
        ];
        for (value, token) in cases {
            assert_eq!(bearer(&with("authorization", value)), token.map(str::as_bytes), "{value:?}");
        }
        assert_eq!(bearer(&HeaderMap::new()), None);
    }

    #[test]
    fn the_content_type_tells_grpc_from_the_rest() {
        let cases = [
            ("application/grpc", MediaType::Grpc),
            ("application/grpc+proto", MediaType::Grpc),
            ("application/grpc;charset=utf-8", MediaType::Grpc),
            ("application/grpc-web", MediaType::GrpcWeb),
            ("application/grpc-web-text+proto", MediaType::GrpcWeb),
            ("application/grpcfoo", MediaType::Other),
            ("application/json", MediaType::Other),
            ("application/x-www-form-urlencoded", MediaType::Other),
        ];
        for (value, media_type) in cases {
            assert_eq!(MediaType::of_headers(&with("content-type", value)), media_type, "{value}");
        }
        assert_eq!(MediaType::of_headers(&HeaderMap::new()), MediaType::Other);
    }
}
