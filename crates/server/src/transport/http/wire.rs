//! The socket as hyper reads it: what was read to tell the protocol comes first, and arrivals are noted.

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::connection::Connection;

/// A socket whose first bytes were read already.
pub struct Wire {
    socket: TokioIo<TcpStream>,
    replay: Bytes,
    /// Who is told of arrivals; on HTTP/2, where bytes are often not a request, nobody.
    noted_by: Option<Rc<Connection>>,
}

impl Wire {
    /// A socket, and what was read from it.
    pub fn new(socket: TcpStream, replay: Bytes) -> Wire {
        Wire { socket: TokioIo::new(socket), replay, noted_by: None }
    }

    /// Tells `connection` of every arrival.
    pub fn noted_by(mut self, connection: Rc<Connection>) -> Wire {
        self.noted_by = Some(connection);
        self
    }

    /// The socket.
    pub fn into_socket(self) -> TcpStream {
        self.socket.into_inner()
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
        let read = Pin::new(&mut self.socket).poll_read(cx, buf);
        if let (Poll::Ready(Ok(())), Some(connection)) = (&read, &self.noted_by) {
            connection.activity.bytes_arrived();
        }
        read
    }
}

impl Write for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write_vectored(cx, bufs)
    }
}
