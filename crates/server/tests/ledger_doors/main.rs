//! Entities, their limits and leases over HTTP and gRPC, over real sockets and a real disk: what a transport alone has to
//! get right.

#[allow(dead_code)]
#[path = "../door/mod.rs"]
mod door;
mod grpc;
// Each test uses a part of what they can do.
#[allow(dead_code)]
#[path = "../queue_doors/grpc_client.rs"]
mod grpc_client;
mod http;
#[allow(dead_code)]
#[path = "../queue_doors/http_client.rs"]
mod http_client;

use door::Door;
use tempfile::TempDir;

/// A door with a ledger, and where it is kept.
struct LedgerDoor {
    door: Door,
    _dir: TempDir,
}

impl LedgerDoor {
    async fn open() -> LedgerDoor {
        let dir = tempfile::tempdir().unwrap();
        let data_dir = dir.path().to_owned();
        let door = Door::with(|config| {
            config.persistence.enabled = true;
            config.data_dir = data_dir;
        });
        LedgerDoor { door: door.await, _dir: dir }
    }

    /// A namespace `old` that holds an entity.
    async fn make_old(&self) {
        let mut client = http_client::Client::of(&self.door).await;
        client.send("POST /entities HTTP/1.1\r\ntidegate-namespace: old\r\nx:", r#"{"id":"a"}"#).await;
        let (status, body) = client.receive().await;
        assert!((200..300).contains(&status), "{body}");
    }
}
