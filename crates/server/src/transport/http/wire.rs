//! The socket as hyper reads it: what was read to tell the protocol comes first, and arrivals are noted.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::io::ReadBuf;
use tokio::net::TcpStream;

use super::connection::Connection;

/// Shared by hyper and those who watch it, all in the one task of the connection.
type Socket = Rc<RefCell<TokioIo<TcpStream>>>;

/// A socket whose first bytes were read already.
pub struct Wire {
    socket: Socket,
    replay: Bytes,
    /// Who is told of arrivals; on HTTP/2, where bytes are often not a request, nobody.
    noted_by: Option<Rc<Connection>>,
}

impl Wire {
    /// A socket, and what was read from it.
    pub fn new(socket: TcpStream, replay: Bytes) -> Wire {
        Wire { socket: Rc::new(RefCell::new(TokioIo::new(socket))), replay, noted_by: None }
    }

    /// Tells `connection` of every arrival.
    pub fn noted_by(mut self, connection: Rc<Connection>) -> Wire {
        self.noted_by = Some(connection);
        self
    }

    /// Whoever is at the other end.
    pub fn peer(&self) -> Peer {
        Peer { socket: self.socket.clone() }
    }

    /// The socket, unless somebody still watches it.
    pub fn into_socket(self) -> Option<TcpStream> {
        Rc::into_inner(self.socket).map(|socket| socket.into_inner().into_inner())
    }
}

/// The other end of a connection that speaks HTTP/1.1.
///
/// hyper does not look at the socket while a request is under way, since a client may shut down its side once it has
/// asked. Whoever makes a client wait has to look for itself.
#[derive(Clone)]
pub struct Peer {
    socket: Socket,
}

impl Peer {
    /// Returns when the other end has sent its last byte: it is gone, or waits for an answer and asks no more. One that
    /// has sent the next request already is not watched.
    pub async fn ended(&self) {
        poll_fn(|cx| {
            let mut byte = [0];
            match self.socket.borrow().inner().poll_peek(cx, &mut ReadBuf::new(&mut byte)) {
                Poll::Ready(Ok(0) | Err(_)) => Poll::Ready(()),
                Poll::Ready(Ok(_)) | Poll::Pending => Poll::Pending,
            }
        })
        .await;
    }
}

impl Read for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.replay.is_empty() {
            let n = self.replay.len().min(buf.remaining());
            buf.put_slice(&self.replay[..n]);
            self.replay.advance(n);
            return Poll::Ready(Ok(()));
        }
        let read = Pin::new(&mut *self.socket.borrow_mut()).poll_read(cx, buf);
        if let (Poll::Ready(Ok(())), Some(connection)) = (&read, &self.noted_by) {
            connection.activity.bytes_arrived();
        }
        read
    }
}

impl Write for Wire {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.socket.borrow_mut()).poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.socket.borrow_mut()).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.socket.borrow_mut()).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.borrow().is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.socket.borrow_mut()).poll_write_vectored(cx, bufs)
    }
}

/// Returns when a client has left, if that can be seen.
pub async fn ended(peer: Option<&Peer>) {
    match peer {
        Some(peer) => peer.ended().await,
        None => std::future::pending().await,
    }
}
