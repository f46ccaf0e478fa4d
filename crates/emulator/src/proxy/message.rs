//! Messages of HTTP/1.1 as SDKs and emulators send them: a head, and a body of a told length.

use std::io::{self, Read, Write};

/// Larger than any that DynamoDB takes (16 MB).
const MOST_BYTES: usize = 32 << 20;

/// More headers than anybody sends.
const MOST_HEADERS: usize = 64;

/// A request or an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// `POST / HTTP/1.1` or `HTTP/1.1 200 OK`.
    pub first_line: String,
    /// Name and value.
    pub headers: Vec<(String, String)>,
    /// All of it.
    pub body: Vec<u8>,
}

impl Message {
    /// A JSON answer.
    pub fn answer(status: &str, body: Vec<u8>) -> Self {
        let headers = vec![("Content-Type".to_owned(), "application/x-amz-json-1.0".to_owned())];
        Self { first_line: format!("HTTP/1.1 {status}"), headers, body }
    }

    /// The next message; nothing when the other side has closed.
    pub fn read(stream: &mut impl Read) -> io::Result<Option<Self>> {
        let mut bytes = Vec::new();
        let head_length = loop {
            if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
            if !read_more(stream, &mut bytes)? {
                return if bytes.is_empty() { Ok(None) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
            }
        };
        let mut message = Self::head(&bytes[..head_length])?;
        let told =
            message.header("content-length").map(|length| length.parse::<usize>().map_err(io::Error::other));
        let mut body = bytes.split_off(head_length);
        match told.transpose()? {
            Some(length) => {
                while body.len() < length {
                    if !read_more(stream, &mut body)? {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
            }
            // An answer without a length goes on until the connection ends; a request without one has no body.
            None if message.first_line.starts_with("HTTP/") => while read_more(stream, &mut body)? {},
            None => {}
        }
        message.body = body;
        Ok(Some(message))
    }

    fn head(bytes: &[u8]) -> io::Result<Self> {
        let text = std::str::from_utf8(bytes).map_err(io::Error::other)?;
        let (first_line, rest) = text.split_once("\r\n").ok_or(io::ErrorKind::InvalidData)?;
        let mut room = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let parsed = httparse::parse_headers(rest.as_bytes(), &mut room).map_err(io::Error::other)?;
        let httparse::Status::Complete((_, headers)) = parsed else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        let pair = |header: &httparse::Header<'_>| {
            (header.name.to_owned(), String::from_utf8_lossy(header.value).into_owned())
        };
        Ok(Self {
            first_line: first_line.to_owned(),
            headers: headers.iter().map(pair).collect(),
            body: Vec::new(),
        })
    }

    /// The value of a header, whatever its case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(found, _)| found.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// Replaces a header, or takes it away.
    pub fn set_header(&mut self, name: &str, value: Option<String>) {
        self.headers.retain(|(found, _)| !found.eq_ignore_ascii_case(name));
        self.headers.extend(value.map(|value| (name.to_owned(), value)));
    }

    /// Another body; a checksum of the one before is not kept.
    pub fn set_body(&mut self, body: Vec<u8>) {
        self.body = body;
        self.set_header("x-amz-crc32", None);
    }

    /// Whether the sender closes after it.
    pub fn is_last(&self) -> bool {
        self.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
            || self.first_line.starts_with("HTTP/1.0")
    }

    /// Sends it in one write, with the length of its body.
    pub fn write(&self, stream: &mut impl Write) -> io::Result<()> {
        let mut bytes = format!("{}\r\n", self.first_line).into_bytes();
        let kept = self.headers.iter().filter(|(name, _)| !name.eq_ignore_ascii_case("content-length"));
        for (name, value) in kept {
            bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        bytes.extend_from_slice(format!("Content-Length: {}\r\n\r\n", self.body.len()).as_bytes());
        bytes.extend_from_slice(&self.body);
        stream.write_all(&bytes)
    }
}

/// Whether anything came.
fn read_more(stream: &mut impl Read, bytes: &mut Vec<u8>) -> io::Result<bool> {
    let mut room = [0; 8 << 10];
    let count = stream.read(&mut room)?;
    bytes.extend_from_slice(&room[..count]);
    if bytes.len() > MOST_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(count > 0)
}

#[cfg(test)]
mod tests {
    use super::Message;

    #[test]
    fn a_message_is_read_as_it_was_written() {
        let mut message = Message::answer("200 OK", b"{}".to_vec());
        message.set_header("X-Amz-Target", Some("DynamoDB_20120810.GetItem".to_owned()));
        let mut wire = Vec::new();
        message.write(&mut wire).expect("a write into memory");
        let read = Message::read(&mut wire.as_slice()).expect("a message").expect("one");
        assert_eq!(read.body, b"{}");
        assert_eq!(read.header("x-amz-target"), Some("DynamoDB_20120810.GetItem"));
        assert!(!read.is_last());
    }

    #[test]
    fn a_cut_message_is_an_error_and_none_is_none() {
        let cut = b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nab";
        assert!(Message::read(&mut cut.as_slice()).is_err());
        assert_eq!(Message::read(&mut b"".as_slice()).expect("an end"), None);
    }
}
