//! A few threads, each with a runtime and connections of its own.
//!
//! A connection stays on the loop it was handed to. Nothing is shared between loops but the table of keys, so
//! a request is read, decided and answered without waking another thread.

use std::net::TcpStream as StdStream;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinSet, LocalSet};

use super::Error;
use super::doors::{Admission, Door};
use crate::api::Api;
use crate::config::Config;
use crate::transport::framed::{self, Buffers};
use crate::transport::http::{self, HttpDoor};
use crate::transport::msgpack::Msgpack;
use crate::transport::resp::Resp;

/// A connection on its way to a loop.
pub struct Arrival {
    /// Which door it came through.
    pub door: Door,
    /// Its socket.
    pub stream: StdStream,
    /// Its place.
    pub admission: Admission,
}

/// Threads of one loop that read history from disk, at most; they are there while somebody asks.
const READERS: usize = 16;

/// All loops.
pub struct Loops {
    arrivals: Vec<mpsc::UnboundedSender<Arrival>>,
    next: AtomicUsize,
    /// Closes when the last loop has ended: each holds a sender and sends nothing.
    ended: std::sync::mpsc::Receiver<()>,
}

impl Loops {
    /// Starts as many as configured, or one for every two cores: the kernel does the other half of the work, and a
    /// loop that is kept busy wakes up less often.
    pub fn start(config: &Arc<Config>, api: &Arc<Api>, stop: &watch::Receiver<bool>) -> Result<Loops, Error> {
        let cores = || std::thread::available_parallelism().map_or(1, |cores| cores.get());
        let count = if config.threads == 0 { cores().div_ceil(2) } else { config.threads };
        let failed = || Error::system("start a thread");
        let (running, ended) = std::sync::mpsc::channel();
        let mut loops = Vec::new();
        for index in 0..count {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .max_blocking_threads(READERS)
                .build()
                .map_err(failed())?;
            let (arrivals, receiver) = mpsc::unbounded_channel();
            let (config, api, stop, running) = (config.clone(), api.clone(), stop.clone(), running.clone());
            let thread = std::thread::Builder::new().name(format!("loop-{index}")).spawn(move || {
                let work = run(Shared::new(config, api, stop), receiver);
                LocalSet::new().block_on(&runtime, work);
                drop(running);
            });
            thread.map_err(failed())?;
            loops.push(arrivals);
        }
        Ok(Loops { arrivals: loops, next: AtomicUsize::new(0), ended })
    }

    /// Hands a connection to the next loop.
    pub fn hand_over(&self, arrival: Arrival) {
        let index = self.next.fetch_add(1, Ordering::Relaxed) % self.arrivals.len();
        if self.arrivals[index].send(arrival).is_err() {
            tracing::debug!("a connection came after the end");
        }
    }

    /// Waits for the connections to end; what has not ended then is cut off.
    pub fn join(self, at_most: Duration) {
        drop(self.arrivals);
        if self.ended.recv_timeout(at_most) == Err(RecvTimeoutError::Timeout) {
            tracing::warn!("connections that were not done were cut off: see drain_timeout_ms");
        }
    }
}

/// What the connections of one loop share.
struct Shared {
    config: Arc<Config>,
    api: Arc<Api>,
    stop: watch::Receiver<bool>,
    resp: Buffers,
    msgpack: Buffers,
    http: Rc<HttpDoor>,
}

impl Shared {
    fn new(config: Arc<Config>, api: Arc<Api>, stop: watch::Receiver<bool>) -> Rc<Shared> {
        Rc::new(Shared {
            resp: Buffers::new(&config.resp),
            msgpack: Buffers::new(&config.msgpack),
            http: Rc::new(HttpDoor::new(api.clone(), &config.http)),
            config,
            api,
            stop,
        })
    }
}

async fn run(shared: Rc<Shared>, mut arrivals: mpsc::UnboundedReceiver<Arrival>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            arrival = arrivals.recv() => match arrival {
                Some(arrival) => drop(connections.spawn_local(serve(shared.clone(), arrival))),
                None => break,
            },
            Some(ended) = connections.join_next() => note(ended),
        }
    }
    while let Some(ended) = connections.join_next().await {
        note(ended);
    }
}

fn note(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "a connection panicked; please report it");
    }
}

/// Numbers RESP connections, for `CLIENT ID`.
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

async fn serve(shared: Rc<Shared>, arrival: Arrival) {
    let Arrival { door, stream, admission } = arrival;
    let stream = match TcpStream::from_std(stream) {
        Ok(stream) => stream,
        Err(error) => return tracing::debug!(%error, "a connection was gone before it was served"),
    };
    let Shared { config, api, stop, resp, msgpack, http } = &*shared;
    let ended = match door {
        Door::Http => {
            http::serve(stream, http, stop.clone()).await;
            Ok(())
        }
        Door::Resp => {
            let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
            let protocol = Resp::new(api.clone(), id, config.resp.max_frame_bytes);
            framed::serve(stream, protocol, &config.resp, resp, stop.clone()).await
        }
        Door::Msgpack => {
            let protocol = Msgpack::new(api.clone(), config.msgpack.max_frame_bytes);
            framed::serve(stream, protocol, &config.msgpack, msgpack, stop.clone()).await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(door = door.name(), %error, "a connection broke");
    }
    drop(admission);
}
