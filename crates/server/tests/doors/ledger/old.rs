//! A namespace `old` that holds an entity.

use crate::http::Door;
use crate::http::client::Client;

/// Makes it.
pub async fn make_old(door: &Door) {
    let mut client = Client::of(door).await;
    client.send("POST /entities HTTP/1.1\r\ntidegate-namespace: old\r\nx:", r#"{"id":"a"}"#).await;
    let (status, body) = client.receive().await;
    assert!((200..300).contains(&status), "{body}");
}
