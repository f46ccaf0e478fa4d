//! Binds the doors, accepts connections, counts them, and turns away what is too much.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use super::Error;
use super::loops::{Arrival, Loops};
use crate::api::{Api, Refusal, Transport};
use crate::config::{Address, Config};
use crate::transport::framed::{self, Protocol};
use crate::transport::http;
use crate::transport::msgpack::Msgpack;
use crate::transport::resp::Resp;

/// How long a listener rests after the system refused it a connection: too many open files, mostly.
const REST: Duration = Duration::from_millis(50);

/// How long a silent peer is trusted before the system asks it.
const KEEP_ALIVE: Duration = Duration::from_secs(60);

/// Connections that may wait for their farewell; more are closed without one.
const FAREWELLS: usize = 256;

/// One of the doors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// HTTP and gRPC.
    Http,
    /// Redis's protocol.
    Resp,
    /// MessagePack.
    Msgpack,
}

impl Door {
    const ALL: [Door; 3] = [Door::Http, Door::Resp, Door::Msgpack];

    /// Its name where it is printed.
    pub fn name(self) -> &'static str {
        match self {
            Door::Http => "http+grpc",
            Door::Resp => "resp",
            Door::Msgpack => "msgpack",
        }
    }

    /// Where its connections are counted. Those of gRPC are HTTP's until they speak.
    pub fn transport(self) -> Transport {
        match self {
            Door::Http => Transport::Http,
            Door::Resp => Transport::Resp,
            Door::Msgpack => Transport::Msgpack,
        }
    }

    /// Whether it is open, where, and for how many.
    fn settings(self, config: &Config) -> (bool, &Address, usize) {
        match self {
            Door::Http => (config.http.enabled, &config.http.address, config.http.max_connections),
            Door::Resp => (config.resp.enabled, &config.resp.address, config.resp.max_connections),
            Door::Msgpack => {
                (config.msgpack.enabled, &config.msgpack.address, config.msgpack.max_connections)
            }
        }
    }
}

/// A place taken by a connection, given back when it is dropped.
pub struct Admission {
    open: Arc<AtomicUsize>,
    api: Arc<Api>,
    door: Door,
}

impl Drop for Admission {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
        self.api.metrics().of(self.door.transport()).closed.add(1);
    }
}

/// A door with its listener.
struct Listening {
    door: Door,
    listener: TcpListener,
    address: SocketAddr,
    max_connections: usize,
    open: Arc<AtomicUsize>,
}

/// All doors.
pub struct Doors {
    listening: Vec<Listening>,
}

impl Doors {
    /// Binds every door that is to be open.
    pub async fn bind(config: &Config) -> Result<Doors, Error> {
        let mut listening = Vec::new();
        for door in Door::ALL {
            let (enabled, address, max_connections) = door.settings(config);
            if !enabled {
                continue;
            }
            let failed = |reason| Error::Bind { door: door.name(), address: address.clone(), reason };
            let listener = listen(address).await.map_err(failed)?;
            let address = listener.local_addr().map_err(failed)?;
            listening.push(Listening { door, listener, address, max_connections, open: Arc::default() });
        }
        Ok(Doors { listening })
    }

    /// Where each door listens; `None` if it does not.
    pub fn addresses(&self) -> impl Iterator<Item = (&'static str, Option<SocketAddr>)> {
        Door::ALL.into_iter().map(|door| {
            let listening = self.listening.iter().find(|listening| listening.door == door);
            (door.name(), listening.map(|listening| listening.address))
        })
    }

    /// Accepts for ever, and hands connections to the loops in turn.
    pub async fn accept(self, api: &Arc<Api>, loops: &Loops) -> Infallible {
        let mut doors = self.listening.into_iter().map(|door| Box::pin(door.accept(api, loops)));
        let (first, second, third) = (doors.next(), doors.next(), doors.next());
        tokio::select! {
            never = or_never(first) => never,
            never = or_never(second) => never,
            never = or_never(third) => never,
        }
    }
}

/// Connections that may wait to be accepted: a burst of thousands at once is normal when a client restarts.
const BACKLOG: u32 = 4096;

async fn listen(address: &Address) -> io::Result<TcpListener> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in tokio::net::lookup_host((address.host(), address.port())).await? {
        let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        // So that a restart need not wait for connections of the run before.
        socket.set_reuseaddr(true)?;
        match socket.bind(address).and_then(|()| socket.listen(BACKLOG)) {
            Ok(listener) => return Ok(listener),
            Err(error) => last = error,
        }
    }
    Err(last)
}

async fn or_never(accepting: Option<impl Future<Output = Infallible>>) -> Infallible {
    match accepting {
        Some(accepting) => accepting.await,
        None => std::future::pending().await,
    }
}

impl Listening {
    async fn accept(self, api: &Arc<Api>, loops: &Loops) -> Infallible {
        let farewells = Arc::new(tokio::sync::Semaphore::new(FAREWELLS));
        loop {
            let stream = match self.listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(door = self.door.name(), %error, "a connection could not be accepted");
                    tokio::time::sleep(REST).await;
                    continue;
                }
            };
            match self.admit(api) {
                Some(admission) => self.hand_over(stream, admission, loops),
                None => {
                    api.metrics().of(self.door.transport()).turned_away.add(1);
                    if let Ok(permit) = farewells.clone().try_acquire_owned() {
                        let farewell = self.farewell(stream, api);
                        tokio::spawn(async move {
                            farewell.await;
                            drop(permit);
                        });
                    }
                }
            }
        }
    }

    fn admit(&self, api: &Arc<Api>) -> Option<Admission> {
        if self.open.fetch_add(1, Ordering::Relaxed) >= self.max_connections {
            self.open.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        api.metrics().of(self.door.transport()).opened.add(1);
        Some(Admission { open: self.open.clone(), api: api.clone(), door: self.door })
    }

    fn hand_over(&self, stream: TcpStream, admission: Admission, loops: &Loops) {
        let keep_alive = TcpKeepalive::new().with_time(KEEP_ALIVE);
        // Replies leave when they are written: a pipeline must not wait for an acknowledgement.
        let ready = stream
            .set_nodelay(true)
            .and_then(|()| SockRef::from(&stream).set_tcp_keepalive(&keep_alive))
            .and_then(|()| stream.into_std());
        match ready {
            Ok(stream) => loops.hand_over(Arrival { door: self.door, stream, admission }),
            Err(error) => tracing::debug!(%error, "a connection was gone before it was served"),
        }
    }

    fn farewell(&self, stream: TcpStream, api: &Arc<Api>) -> impl Future<Output = ()> + use<> {
        let option = format!("{}.max_connections", self.door.transport().as_str());
        let refusal = Refusal::too_many_connections(self.max_connections, &option);
        let (door, mut bytes) = (self.door, Vec::new());
        match door {
            Door::Http => (),
            Door::Resp => Resp::new(api.clone(), 0, 0).refuse(&refusal, &mut bytes),
            Door::Msgpack => Msgpack::new(api.clone(), 0).refuse(&refusal, &mut bytes),
        }
        async move {
            match door {
                Door::Http => http::refuse(stream, &refusal).await,
                Door::Resp | Door::Msgpack => framed::say_goodbye(stream, &bytes).await,
            }
        }
    }
}
