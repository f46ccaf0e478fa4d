//! One connection: which protocol it speaks, how long it may be silent, and how it ends.

use std::pin::{Pin, pin};
use std::rc::Rc;

use hyper::service::service_fn;
use hyper_util::server::graceful::GracefulConnection;
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::HttpDoor;
use super::activity::{Activity, Overdue};
use super::exchange::exchange;
use super::patience::within;
use super::plain::{self, Left};
use super::refuse::refuse;
use super::wire::Wire;

/// What the requests of one connection share.
pub struct Connection {
    pub(super) door: Rc<HttpDoor>,
    pub(super) activity: Activity,
    shutdown: watch::Receiver<bool>,
}

/// Why a connection is to end before its client closes it.
pub enum End {
    /// The server stops.
    Shutdown,
    /// The client has taken too long.
    Overdue(Overdue),
}

impl Connection {
    /// Returns when the server is told to stop.
    pub async fn shutdown(&self) {
        if self.shutdown.clone().wait_for(|stop| *stop).await.is_err() {
            tracing::debug!(
                "whoever could tell this connection to stop is gone, which is as good as being told"
            );
        }
    }

    /// Returns when the connection is to end.
    pub async fn end(&self) -> End {
        tokio::select! {
            biased;
            () = self.shutdown() => End::Shutdown,
            what = self.activity.overdue() => End::Overdue(what),
        }
    }
}

/// Serves a connection until its client closes it, it is silent for too long, or `shutdown` turns true; requests
/// that are under way then are answered first.
///
/// Must run inside a `LocalSet`: the streams of an HTTP/2 connection become tasks of this loop.
pub async fn serve(mut socket: TcpStream, door: &Rc<HttpDoor>, shutdown: watch::Receiver<bool>) {
    let activity = Activity::new(door.patience);
    let connection = Rc::new(Connection { door: door.clone(), activity, shutdown });
    match plain::serve(&mut socket, &connection).await {
        Ok(Left::Closed) => {}
        Ok(Left::HeadOverdue) => refuse(socket, &door.too_slow()).await,
        Ok(Left::Other(read)) if read.starts_with(plain::HTTP2_PREFACE) => {
            serve_http2(Wire::new(socket, read), connection).await;
        }
        Ok(Left::Other(read)) => {
            serve_http1(Wire::new(socket, read).noted_by(connection.clone()), connection).await;
        }
        Err(error) => tracing::debug!(%error, "an HTTP connection broke"),
    }
}

async fn serve_http1(wire: Wire, connection: Rc<Connection>) {
    let (requests, peer) = (connection.clone(), wire.peer());
    let service = service_fn(move |request| exchange(requests.clone(), Some(peer.clone()), request));
    let mut http1 = connection.door.http1.serve_connection(wire, service);
    if drive(Pin::new(&mut http1), &connection).await == Driven::HeadOverdue {
        let hyper::server::conn::http1::Parts { io, service, .. } = http1.into_parts();
        // It holds the peer.
        drop(service);
        if let Some(socket) = io.into_socket() {
            refuse(socket, &connection.door.too_slow()).await;
        }
    }
}

async fn serve_http2(wire: Wire, connection: Rc<Connection>) {
    let requests = connection.clone();
    let service = service_fn(move |request| exchange(requests.clone(), None, request));
    let http2 = pin!(connection.door.http2.serve_connection(wire, service));
    // The preface alone asks for nothing.
    connection.activity.await_request();
    drive(http2, &connection).await;
}

#[derive(PartialEq, Eq)]
enum Driven {
    /// The connection is over.
    Closed,
    /// It waits for the rest of a head, and nothing else is under way.
    HeadOverdue,
}

/// Runs a connection of either protocol to its end.
async fn drive<C>(mut protocol: Pin<&mut C>, connection: &Connection) -> Driven
where
    C: GracefulConnection<Error = hyper::Error>,
{
    let end = tokio::select! {
        biased;
        closed = protocol.as_mut() => return note(closed),
        end = connection.end() => end,
    };
    if matches!(end, End::Overdue(Overdue::Head)) {
        return Driven::HeadOverdue;
    }
    protocol.as_mut().graceful_shutdown();
    match end {
        // Whoever runs this loop cuts off what is not done when the drain time is over.
        End::Shutdown => note(protocol.await),
        // Whatever is left after this is a client that does not take its replies.
        End::Overdue(_) => {
            within(connection.door.patience.request, protocol).await.map_or(Driven::Closed, note)
        }
    }
}

fn note(closed: Result<(), hyper::Error>) -> Driven {
    if let Err(error) = closed {
        tracing::debug!(%error, "an HTTP connection ended early");
    }
    Driven::Closed
}
