//! Reading a plain request off the start of what has arrived.

use http::Method;

use super::super::headers::{MediaType, bearer_of};
use super::super::route::{self, Ask, Found, Route};

/// The largest plain request, head and body. A larger one is left to hyper, which has its own bounds.
pub const MAX_BYTES: usize = 16 * 1024;
/// A request with more headers is left to hyper as well.
const MAX_HEADERS: usize = 32;

/// What an HTTP/2 connection begins with, and no HTTP/1.1 request does.
pub const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A plain request.
#[derive(Debug, PartialEq, Eq)]
pub struct Plain<'a> {
    /// What it asks for.
    pub ask: Ask,
    /// The token it presents.
    pub token: Option<&'a [u8]>,
    /// The namespace it names.
    pub namespace: Option<&'a [u8]>,
    /// Its body.
    pub body: &'a [u8],
    /// How many bytes it is in all.
    pub len: usize,
}

/// What the bytes begin with.
#[derive(Debug, PartialEq, Eq)]
pub enum Read<'a> {
    /// A plain request, whole.
    Whole(Plain<'a>),
    /// What may become one.
    Partial,
    /// Anything else.
    Other,
}

/// Reads the first request of `bytes`; one with a larger body than `max_body_bytes` is not plain.
pub fn read(bytes: &[u8], max_body_bytes: usize) -> Read<'_> {
    if bytes.len() < HTTP2_PREFACE.len() && HTTP2_PREFACE.starts_with(bytes) {
        return Read::Partial;
    }
    match read_head(bytes) {
        None => Read::Other,
        Some(None) if bytes.len() < MAX_BYTES => Read::Partial,
        Some(None) => Read::Other,
        Some(Some(head)) if head.body_len > max_body_bytes => Read::Other,
        Some(Some(head)) => head.with_body(bytes),
    }
}

struct Head<'a> {
    ask: Ask,
    token: Option<&'a [u8]>,
    namespace: Option<&'a [u8]>,
    head_len: usize,
    body_len: usize,
}

impl<'a> Head<'a> {
    fn with_body(self, bytes: &'a [u8]) -> Read<'a> {
        let Head { ask, token, namespace, head_len, body_len } = self;
        let len = head_len + body_len;
        match bytes.get(head_len..len) {
            Some(body) => Read::Whole(Plain { ask, token, namespace, body, len }),
            None if len <= MAX_BYTES => Read::Partial,
            None => Read::Other,
        }
    }
}

/// The head of a plain request; `Some(None)` if it may still become one, `None` if not.
fn read_head(bytes: &[u8]) -> Option<Option<Head<'_>>> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let head_len = match request.parse(bytes).ok()? {
        httparse::Status::Complete(len) => len,
        httparse::Status::Partial => return Some(None),
    };
    if request.method != Some("POST") || request.version != Some(1) {
        return None;
    }
    let Ok(Found { route: Route::Ask(ask), .. }) = route::find(&Method::POST, request.path?) else {
        return None;
    };
    let Headers { token, namespace, body_len } = read_headers(request.headers)?;
    Some(Some(Head { ask, token, namespace, head_len, body_len: body_len? }))
}

#[derive(Default)]
struct Headers<'a> {
    token: Option<&'a [u8]>,
    namespace: Option<&'a [u8]>,
    body_len: Option<usize>,
}

/// What the headers say, or `None` if one of them makes the request other than plain.
fn read_headers<'a>(headers: &[httparse::Header<'a>]) -> Option<Headers<'a>> {
    let mut found = Headers::default();
    for httparse::Header { name, value } in headers {
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        match name.len() {
            // The length counts first, since most headers are none of these.
            14 if is("content-length") => once(&mut found.body_len, digits(value)?)?,
            18 if is("tidegate-namespace") => once(&mut found.namespace, *value)?,
            13 if is("authorization") => once(&mut found.token, bearer_of(value)?)?,
            12 if is("content-type") && MediaType::of(value) != MediaType::Other => return None,
            10 if is("connection") && !value.eq_ignore_ascii_case(b"keep-alive") => return None,
            6 if is("expect") => return None,
            7 if is("upgrade") || is("trailer") => return None,
            16 if is("content-encoding") => return None,
            17 if is("transfer-encoding") => return None,
            _ => {}
        }
    }
    Some(found)
}

/// Sets what was not set; a header that comes twice is not for us to make sense of.
fn once<T>(slot: &mut Option<T>, value: T) -> Option<()> {
    slot.replace(value).is_none().then_some(())
}

fn digits(value: &[u8]) -> Option<usize> {
    // `parse` alone would also take "+5".
    if value.is_empty() || value.len() > 9 || !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    str::from_utf8(value).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = "POST /throttle HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}";

    fn read(bytes: &[u8]) -> Read<'_> {
        super::read(bytes, MAX_BYTES)
    }

    fn with(header: &str) -> String {
        PLAIN.replace("host: x", header)
    }

    #[test]
    fn a_plain_request_is_read_whole_and_not_before() {
        let two = [PLAIN, PLAIN].concat();
        let expected =
            Plain { ask: Ask::Throttle, token: None, namespace: None, body: b"{}", len: PLAIN.len() };
        assert_eq!(read(two.as_bytes()), Read::Whole(expected));
        for len in 0..PLAIN.len() {
            assert_eq!(read(&PLAIN.as_bytes()[..len]), Read::Partial, "{len}");
        }
    }

    #[test]
    fn token_and_namespace_are_read() {
        let text = with("Authorization: Bearer t\r\nTIDEGATE-NAMESPACE: n\r\nconnection: Keep-Alive");
        let Read::Whole(plain) = read(text.as_bytes()) else { panic!("{text}") };
        assert_eq!((plain.token, plain.namespace), (Some(&b"t"[..]), Some(&b"n"[..])));
    }

    #[test]
    fn anything_else_is_left_to_hyper() {
        let others = [
            PLAIN.replace("POST", "GET"),
            PLAIN.replace("1.1", "1.0"),
            PLAIN.replace("/throttle", "/health"),
            PLAIN.replace("/throttle", "/throttle?a=b"),
            PLAIN.replace("content-length: 2", "a: b"),
            PLAIN.replace("length: 2", "length: +2"),
            PLAIN.replace("length: 2", "length: 2, 2"),
            PLAIN.replace("length: 2", "length: 99999999999"),
            PLAIN.replace("length: 2", "length: 16384"),
            with("content-length: 2"),
            with("transfer-encoding: chunked"),
            with("Expect: 100-continue"),
            with("connection: close"),
            with("connection: keep-alive, upgrade"),
            with("upgrade: h2c"),
            with("content-encoding: gzip"),
            with("content-type: application/grpc"),
            with("authorization: Basic x"),
            with("tidegate-namespace: a\r\ntidegate-namespace: b"),
            with(&"a: b\r\n".repeat(40)),
            with("bad header"),
            "\0".to_owned(),
            String::from_utf8(HTTP2_PREFACE.to_vec()).unwrap(),
            format!("POST /{}", "x".repeat(MAX_BYTES)),
        ];
        for other in others {
            assert_eq!(read(other.as_bytes()), Read::Other, "{other}");
        }
    }

    #[test]
    fn a_body_above_the_bound_is_left_to_hyper() {
        assert!(matches!(super::read(PLAIN.as_bytes(), 2), Read::Whole(_)));
        assert_eq!(super::read(PLAIN.as_bytes(), 1), Read::Other);
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_panic_and_none_are_invented(
            bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200),
            at in 0..PLAIN.len(),
        ) {
            // Noise alone hardly gets past the first line, so it also goes into the middle of a good request.
            let spoiled = [&PLAIN.as_bytes()[..at], &bytes, &PLAIN.as_bytes()[at..]].concat();
            for input in [&bytes, &spoiled] {
                if let Read::Whole(plain) = read(input) {
                    assert!(plain.len <= input.len());
                    assert_eq!(plain.body, &input[plain.len - plain.body.len()..plain.len]);
                }
            }
        }
    }

    #[test]
    fn the_preface_of_http2_is_waited_for() {
        for len in 0..HTTP2_PREFACE.len() {
            assert_eq!(read(&HTTP2_PREFACE[..len]), Read::Partial, "{len}");
        }
    }
}
