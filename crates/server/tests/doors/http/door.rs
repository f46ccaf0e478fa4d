//! An HTTP and gRPC door on a free port, on a thread of its own, over an api that remembers nothing, unless it is told
//! to: then it has queues.

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;

use tidegate::api::Api;
use tidegate::config::Config;
use tidegate::serve::QueueEngine;
use tidegate::transport::http::{self, HttpDoor};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinSet, LocalSet};

/// A door that is open until it is told to stop, or dropped.
pub struct Door {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Door {
    /// Opens a door with the defaults.
    pub async fn open() -> Door {
        Door::with(|_| ()).await
    }

    /// Opens a door with something else than the defaults.
    pub async fn with(change: impl FnOnce(&mut Config)) -> Door {
        let mut config = Config::default();
        config.persistence.enabled = false;
        change(&mut config);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let listener = listener.into_std().unwrap();
        let (stop, stopped) = watch::channel(false);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            LocalSet::new().block_on(&runtime, serve(listener, config, stopped));
        });
        Door { address, stop, thread: Some(thread) }
    }

    /// A new connection.
    pub async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Tells the door to stop. It is not waited for.
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// Returns when every connection has ended.
    pub async fn stopped(mut self) {
        self.stop();
        let thread = self.thread.take().unwrap();
        tokio::task::spawn_blocking(|| thread.join().unwrap()).await.unwrap();
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.stop();
    }
}

async fn serve(listener: std::net::TcpListener, config: Config, mut stopped: watch::Receiver<bool>) {
    let listener = TcpListener::from_std(listener).unwrap();
    let api = Arc::new(Api::fresh(&config));
    let engine =
        config.persistence.enabled.then(|| QueueEngine::start(&config, &config.data_dir, &api).unwrap());
    let door = Rc::new(HttpDoor::new(api.clone(), &config.http));
    let mut connections = JoinSet::new();
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => accepted.unwrap().0,
            _ = stopped.wait_for(|stop| *stop) => break,
        };
        let (door, shutdown) = (door.clone(), stopped.clone());
        connections.spawn_local(async move { http::serve(stream, &door, shutdown).await });
    }
    drop(listener);
    api.drain();
    connections.join_all().await;
    engine.into_iter().for_each(QueueEngine::stop);
}
