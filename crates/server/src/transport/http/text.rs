//! Responses as HTTP/1.1 text, where hyper does not write them.

use super::date::Date;
use super::{encode, reply};
use crate::api::{Code, Refusal};

/// A 200 with a JSON body.
pub fn ok(json: &[u8], date: &Date, out: &mut Vec<u8>) {
    out.extend_from_slice(b"HTTP/1.1 200 OK\r\n");
    rest(json, date, out);
}

/// A refusal, after which the connection goes on.
pub fn refusal(refusal: &Refusal, date: &Date, out: &mut Vec<u8>) {
    status_line(refusal.code(), out);
    if refusal.code() == Code::Unauthenticated {
        out.extend_from_slice(b"www-authenticate: Bearer\r\n");
    }
    rest(&encode::refusal(refusal), date, out);
}

/// A refusal after which the connection is closed.
pub fn farewell(refusal: &Refusal, date: &Date, out: &mut Vec<u8>) {
    status_line(refusal.code(), out);
    out.extend_from_slice(b"connection: close\r\n");
    rest(&encode::refusal(refusal), date, out);
}

fn status_line(code: Code, out: &mut Vec<u8>) {
    let status = reply::status_code(code);
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(status.as_str().as_bytes());
    out.push(b' ');
    out.extend_from_slice(status.canonical_reason().unwrap_or_default().as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// The headers that every response has, and its body.
fn rest(json: &[u8], date: &Date, out: &mut Vec<u8>) {
    out.extend_from_slice(b"content-type: application/json\r\ncontent-length: ");
    out.extend_from_slice(itoa::Buffer::new().format(json.len()).as_bytes());
    out.extend_from_slice(b"\r\ndate: ");
    out.extend_from_slice(&date.now());
    out.extend_from_slice(b"\r\n\r\n");
    out.extend_from_slice(json);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was written, with the date left out.
    fn written(write: impl FnOnce(&Date, &mut Vec<u8>)) -> String {
        let (date, mut out) = (Date::default(), Vec::new());
        write(&date, &mut out);
        let text = String::from_utf8(out).unwrap();
        let (before, after) = text.split_once("date: ").unwrap();
        format!("{before}{}", after.split_once("\r\n").unwrap().1)
    }

    #[test]
    fn a_response_is_head_and_body() {
        let text = written(|date, out| ok(b"{}", date, out));
        assert_eq!(text, "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}");
    }

    #[test]
    fn a_refusal_has_its_status_and_what_goes_with_it() {
        let text = written(|date, out| refusal(&Refusal::no_token(), date, out));
        assert!(text.starts_with("HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Bearer\r\n"), "{text}");
        let text = written(|date, out| farewell(&Refusal::too_many_connections(9, "o"), date, out));
        assert!(text.starts_with("HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\n"), "{text}");
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.ends_with(&format!("content-length: {}", body.len())), "{head}");
        assert!(body.starts_with(r#"{"error":{"code":"too_many_connections""#), "{body}");
    }
}
