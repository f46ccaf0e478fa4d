//! The body of a response: a small whole one, or the frames of a gRPC call.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use super::exchange::Open;
use crate::api::Refusal;
use crate::transport::grpc;

/// The body of a response.
pub enum Outgoing {
    /// All of it, at once.
    Whole(Bytes),
    /// Messages as they come, and trailers.
    Call(Call),
}

/// The frames of a gRPC call that is still open.
pub struct Call {
    frames: tonic::body::Body,
    /// Set up when the call first has to wait, which a unary call never does.
    shutdown: Option<Pin<Box<dyn Future<Output = ()>>>>,
    /// `None` once the call has ended.
    open: Option<Open>,
}

impl Outgoing {
    /// The frames of a call.
    pub fn call(frames: tonic::body::Body, open: Open) -> Outgoing {
        Outgoing::Call(Call { frames, shutdown: None, open: Some(open) })
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = tonic::Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, tonic::Status>>> {
        match &mut *self {
            Outgoing::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Outgoing::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Outgoing::Call(call) => call.poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Outgoing::Whole(bytes) => bytes.is_empty(),
            Outgoing::Call(call) => call.open.is_none() || call.frames.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Outgoing::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Outgoing::Call(call) => call.frames.size_hint(),
        }
    }
}

impl Call {
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, tonic::Status>>> {
        let Some(open) = &self.open else { return Poll::Ready(None) };
        if let Poll::Ready(frame) = Pin::new(&mut self.frames).poll_frame(cx) {
            return Poll::Ready(frame);
        }
        // Nothing to say for now: a good moment to end, if the server stops.
        let shutdown = self.shutdown.get_or_insert_with(|| {
            let connection = open.connection().clone();
            Box::pin(async move { connection.shutdown().await })
        });
        ready!(shutdown.as_mut().poll(cx));
        self.open = None;
        Poll::Ready(Some(Ok(Frame::trailers(grpc::trailers(&Refusal::shutting_down())))))
    }
}
