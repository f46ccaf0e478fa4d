//! A RESP door on a free port, on a thread of its own, over queues in a directory of its own.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;

use tidegate::api::Api;
use tidegate::config::Config;
use tidegate::serve::QueueEngine;
use tidegate::transport::framed::{self, Buffers};
use tidegate::transport::resp::Resp;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinSet, LocalSet};

use super::client::Client;

/// A door that is open until it is told to stop, or dropped.
pub struct Door {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Door {
    /// Opens a door with the defaults.
    pub fn open() -> Door {
        Door::with(Config::default())
    }

    /// Opens a door as configured.
    pub fn with(config: Config) -> Door {
        Door::on(config, std::net::TcpListener::bind("127.0.0.1:0").unwrap())
    }

    /// Opens a door that listens already.
    pub fn on(config: Config, listener: std::net::TcpListener) -> Door {
        let dir = tempfile::tempdir().unwrap();
        let api = Arc::new(Api::fresh(&config));
        let engine = QueueEngine::start(&config, dir.path(), &api).unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = watch::channel(false);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            LocalSet::new().block_on(&runtime, serve(listener, &api, &config, stopped));
            engine.stop();
            drop(dir);
        });
        Door { address, stop, thread: Some(thread) }
    }

    /// A new connection.
    pub fn connect(&self) -> Client {
        Client::connect(self.address())
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Tells the door to stop. It is not waited for.
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.stop();
        let ended = self.thread.take().map(JoinHandle::join);
        if !std::thread::panicking() {
            assert!(ended.is_some_and(|ended| ended.is_ok()), "the door panicked");
        }
    }
}

async fn serve(
    listener: std::net::TcpListener,
    api: &Arc<Api>,
    config: &Config,
    mut stopped: watch::Receiver<bool>,
) {
    let listener = TcpListener::from_std(listener).unwrap();
    let (buffers, bounds) =
        (std::rc::Rc::new(Buffers::new(&config.resp)), std::rc::Rc::new(config.resp.clone()));
    let mut connections = JoinSet::new();
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => accepted.unwrap().0,
            _ = stopped.wait_for(|stop| *stop) => break,
        };
        stream.set_nodelay(true).unwrap();
        let (buffers, bounds, stop) = (buffers.clone(), bounds.clone(), stopped.clone());
        let protocol = Resp::new(api.clone(), 1, config.resp.max_frame_bytes);
        connections.spawn_local(async move {
            // A client that has gone is no failure of the door.
            framed::serve(stream, protocol, &bounds, &buffers, stop).await.ok();
        });
    }
    connections.join_all().await;
}
