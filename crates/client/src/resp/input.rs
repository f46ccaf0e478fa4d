//! The bytes that came in, reply by reply.

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

use super::extent::Extent;
use super::item::Stop;
use super::reply::Reply;
use crate::Error;

/// Bytes that no reply has used yet.
#[derive(Debug)]
pub(crate) struct Input {
    buffer: BytesMut,
    extent: Extent,
    read_size: usize,
}

impl Input {
    /// Room for `read_size` bytes is made before each read.
    pub(crate) fn new(read_size: usize) -> Input {
        Input { buffer: BytesMut::with_capacity(read_size), extent: Extent::default(), read_size }
    }

    /// Reads once. Says how many bytes came; 0 is the end. Nothing is lost if this is dropped half way.
    pub(crate) async fn read(&mut self, source: &mut (impl AsyncRead + Unpin)) -> std::io::Result<usize> {
        self.buffer.reserve(self.read_size);
        source.read_buf(&mut self.buffer).await
    }

    /// The length of the first reply, if it is there whole. It stays the first until it is taken or dropped.
    pub(crate) fn whole(&mut self) -> Result<Option<usize>, Error> {
        self.extent.whole(&self.buffer).map_err(malformed)
    }

    /// The first reply, of the length that [`whole`](Input::whole) said.
    pub(crate) fn first(&self, length: usize) -> &[u8] {
        &self.buffer[..length]
    }

    /// Forgets the first reply.
    pub(crate) fn drop_first(&mut self, length: usize) {
        self.buffer.advance(length);
    }

    /// Takes the first reply. What is sliced out of it shares its memory with the other replies of the same read.
    pub(crate) fn take_first(&mut self, length: usize) -> Bytes {
        self.buffer.split_to(length).freeze()
    }

    /// Takes the first reply as a tree, if it is there whole.
    pub(crate) fn decode(&mut self) -> Result<Option<Reply>, Error> {
        let Some(length) = self.whole()? else { return Ok(None) };
        let reply = Reply::read(self.first(length));
        self.drop_first(length);
        reply.map(Some)
    }

    /// The bytes alone.
    #[cfg(feature = "load")]
    pub(crate) fn into_bytes(self) -> BytesMut {
        self.buffer
    }
}

/// The error of bytes that are no reply, or not one that fits.
pub(crate) fn malformed(stop: Stop) -> Error {
    match stop {
        Stop::Incomplete => Error::protocol("a reply that ends too soon"),
        Stop::Malformed(reason) => Error::protocol(reason),
    }
}
