//! The Queue door over HTTP and gRPC, over real sockets and a real disk: what a transport alone has to get right.

#[path = "../door/mod.rs"]
mod door;
mod grpc;
mod grpc_client;
mod http;
mod http_client;

use door::Door;
use tempfile::TempDir;

/// A door with queues, and where they are kept.
struct QueueDoor {
    door: Door,
    _dir: TempDir,
}

impl QueueDoor {
    async fn open() -> QueueDoor {
        let dir = tempfile::tempdir().unwrap();
        let data_dir = dir.path().to_owned();
        let door = Door::with(|config| {
            config.persistence.enabled = true;
            config.data_dir = data_dir;
        });
        QueueDoor { door: door.await, _dir: dir }
    }
}
