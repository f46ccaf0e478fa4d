//! Turning a connection away, in words, before HTTP has begun or when it cannot go on.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::date::Date;
use super::text;
use crate::api::Refusal;

/// How long a client may take to hear that it is turned away.
const FAREWELL: Duration = Duration::from_millis(500);

/// Answers with the refusal as an HTTP/1.1 response, and closes.
pub async fn refuse(socket: TcpStream, refusal: &Refusal) {
    let mut farewell = Vec::new();
    text::farewell(refusal, &Date::default(), &mut farewell);
    match timeout(FAREWELL, say_and_close(socket, &farewell)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "a connection was gone before it was turned away"),
        Err(_) => tracing::debug!("a connection was cut off while it was turned away"),
    }
}

async fn say_and_close(mut socket: TcpStream, response: &[u8]) -> io::Result<()> {
    socket.write_all(response).await?;
    socket.shutdown().await?;
    // Closing with bytes unread resets the connection, and the client would lose the response.
    let mut unread = [0; 1024];
    while socket.read(&mut unread).await? > 0 {}
    Ok(())
}
