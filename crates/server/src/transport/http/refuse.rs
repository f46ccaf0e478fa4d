//! Turning a connection away, in words, before HTTP has begun or when it cannot go on.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::{encode, reply};
use crate::api::Refusal;

/// How long a client may take to hear that it is turned away.
const FAREWELL: Duration = Duration::from_millis(500);

/// Answers with the refusal as an HTTP/1.1 response, and closes.
pub async fn refuse(socket: TcpStream, refusal: &Refusal) {
    match timeout(FAREWELL, say_and_close(socket, &response(refusal))).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "a connection was gone before it was turned away"),
        Err(_) => tracing::debug!("a connection was cut off while it was turned away"),
    }
}

fn response(refusal: &Refusal) -> Vec<u8> {
    let body = encode::refusal(refusal);
    let head = format!(
        "HTTP/1.1 {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        reply::status_code(refusal.code()),
        body.len(),
    );
    [head.into_bytes(), body].concat()
}

async fn say_and_close(mut socket: TcpStream, response: &[u8]) -> io::Result<()> {
    socket.write_all(response).await?;
    socket.shutdown().await?;
    // Closing with bytes unread resets the connection, and the client would lose the response.
    let mut unread = [0; 1024];
    while socket.read(&mut unread).await? > 0 {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_whole_response() {
        let text =
            String::from_utf8(response(&Refusal::too_many_connections(9, "http.max_connections"))).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 503 Service Unavailable\r\n"), "{head}");
        assert!(head.contains(&format!("content-length: {}", body.len())), "{head}");
        assert!(body.starts_with(r#"{"error":{"code":"too_many_connections","message":"all 9 "#), "{body}");
    }
}
