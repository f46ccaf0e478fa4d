//! A client that speaks as much HTTP/1.1 as it needs.

use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufStream};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::Door;

/// Longer than anything takes that is not told to wait for longer.
const PATIENCE: Duration = Duration::from_secs(30);

/// A connection.
pub struct Client {
    stream: BufStream<TcpStream>,
}

impl Client {
    pub async fn of(door: &Door) -> Client {
        Client { stream: BufStream::new(door.connect().await) }
    }

    pub async fn send(&mut self, request: &str, body: &str) {
        let length = body.len();
        let text = format!("{request} HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n{body}");
        self.stream.write_all(text.as_bytes()).await.unwrap();
        self.stream.flush().await.unwrap();
    }

    /// Nothing more is asked.
    pub async fn end(&mut self) {
        self.stream.shutdown().await.unwrap();
    }

    /// The status and the body of the next response.
    pub async fn receive(&mut self) -> (u16, String) {
        timeout(PATIENCE, self.response()).await.expect("a response in time")
    }

    async fn response(&mut self) -> (u16, String) {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            assert!(self.stream.read_until(b'\n', &mut head).await.unwrap() > 0, "cut off: {head:?}");
        }
        let head = String::from_utf8(head).unwrap();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        let mut body = vec![0; length.parse().unwrap()];
        self.stream.read_exact(&mut body).await.unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), String::from_utf8(body).unwrap())
    }

    /// Asks, and reads JSON.
    pub async fn ask(&mut self, request: &str, body: impl Into<Option<Value>>) -> (u16, Value) {
        self.send(request, &body.into().map(|body| body.to_string()).unwrap_or_default()).await;
        let (status, body) = self.receive().await;
        (status, serde_json::from_str(&body).unwrap())
    }

    /// Asks for what is done.
    pub async fn done(&mut self, request: &str, body: impl Into<Option<Value>>) -> Value {
        let (status, answer) = self.ask(request, body).await;
        assert!((200..300).contains(&status), "{request}: {answer}");
        answer
    }

    /// Asks for what is refused.
    pub async fn refused(&mut self, request: &str, body: impl Into<Option<Value>>) -> (u16, String) {
        let (status, answer) = self.ask(request, body).await;
        (status, answer["error"]["code"].as_str().unwrap_or_else(|| panic!("{request}: {answer}")).to_owned())
    }
}
