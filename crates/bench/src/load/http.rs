//! `POST /throttle` over HTTP/1.1 with keep-alive.

use anyhow::{Context, Result, bail};

use super::template::Template;
use super::wire::{Quota, Wire};

/// A decision asked for in JSON.
pub fn throttle(key_len: usize, quota: Quota) -> Wire {
    let Quota { burst, count, period_s } = quota;
    let request = Template::new(key_len, |key| {
        let body = format!(
            r#"{{"key":"{key}","max_burst":{burst},"count_per_period":{count},"period":{period_s}}}"#
        );
        let head = "POST /throttle HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n";
        format!("{head}content-length: {}\r\n\r\n{body}", body.len()).into_bytes()
    });
    Wire { request, reply_len }
}

/// A head, and as many bytes as it says. Chunked bodies are not read: no server here sends any.
fn reply_len(bytes: &[u8]) -> Result<Option<usize>> {
    let Some(head_len) = bytes.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4) else {
        return Ok(None);
    };
    let head = std::str::from_utf8(&bytes[..head_len]).context("a head that is not text")?;
    let mut lines = head.lines();
    let status = lines.next().unwrap_or_default();
    if status.split(' ').nth(1) != Some("200") {
        bail!("{status}: {}", String::from_utf8_lossy(&bytes[head_len..]));
    }
    let body_len = lines.find_map(content_length).context("a reply without a content-length")?;
    let len = head_len + body_len;
    Ok((bytes.len() >= len).then_some(len))
}

fn content_length(line: &str) -> Option<usize> {
    let (name, value) = line.split_once(':')?;
    name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_ends_with_its_body() {
        let reply = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nx: y\r\n\r\nbodyHTTP/1.1";
        let len = reply.len() - "HTTP/1.1".len();
        assert_eq!(reply_len(reply).unwrap(), Some(len));
        assert_eq!(reply_len(&reply[..len - 1]).unwrap(), None);
        assert_eq!(reply_len(&reply[..20]).unwrap(), None);
    }

    #[test]
    fn a_refusal_is_an_error() {
        let error = reply_len(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\n\r\nno").unwrap_err();
        assert!(error.to_string().contains("400"), "{error}");
    }
}
