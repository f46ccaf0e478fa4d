//! The body of a response: a small whole one, the one message of a unary gRPC call, or the frames of an open one.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use http_body::{Body, Frame, SizeHint};
use tokio::sync::mpsc;

use super::exchange::Open;
use crate::api::Refusal;
use crate::transport::grpc;

/// The body of a response.
pub enum Outgoing {
    /// All of it, at once.
    Whole(Bytes),
    /// The message of a unary call, then trailers that say that all is well.
    Message(Bytes),
    /// The trailers that are left when the message is gone.
    AllIsWell,
    /// Messages as they come, and whatever trailers end them.
    Call(Box<Call>),
    /// Pieces as they come.
    Pieces(mpsc::Receiver<Result<Bytes, Refusal>>),
}

const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
const GRPC_OK: HeaderValue = HeaderValue::from_static("0");

impl Outgoing {
    /// No body.
    pub fn nothing() -> Outgoing {
        Outgoing::Whole(Bytes::new())
    }

    /// The frames of a call that may stay open.
    pub fn call(frames: tonic::body::Body, open: Open) -> Outgoing {
        Outgoing::Call(Box::new(Call { frames, shutdown: None, open: Some(open) }))
    }

    /// The next frame of a body that is there in whole, and what is left after it.
    fn split(&mut self) -> Option<(Frame<Bytes>, Outgoing)> {
        match self {
            Outgoing::Whole(bytes) if bytes.is_empty() => None,
            Outgoing::Whole(bytes) => Some((Frame::data(std::mem::take(bytes)), Outgoing::nothing())),
            Outgoing::Message(bytes) => Some((Frame::data(std::mem::take(bytes)), Outgoing::AllIsWell)),
            Outgoing::AllIsWell => {
                let trailers = HeaderMap::from_iter([(GRPC_STATUS, GRPC_OK)]);
                Some((Frame::trailers(trailers), Outgoing::nothing()))
            }
            Outgoing::Call(_) | Outgoing::Pieces(_) => None,
        }
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
            Outgoing::Call(call) => return call.poll_frame(cx),
            Outgoing::Pieces(pieces) => {
                let piece = ready!(pieces.poll_recv(cx));
                return Poll::Ready(piece.map(|piece| piece.map(Frame::data).map_err(tonic::Status::from)));
            }
            _ => {}
        }
        let Some((frame, rest)) = self.split() else { return Poll::Ready(None) };
        *self = rest;
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Outgoing::Whole(bytes) => bytes.is_empty(),
            Outgoing::Message(_) | Outgoing::AllIsWell | Outgoing::Pieces(_) => false,
            Outgoing::Call(call) => call.open.is_none() || call.frames.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Outgoing::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            // gRPC has no use for a content length.
            Outgoing::Message(_) | Outgoing::AllIsWell | Outgoing::Pieces(_) => SizeHint::default(),
            Outgoing::Call(call) => call.frames.size_hint(),
        }
    }
}

/// The frames of a gRPC call that is still open.
pub struct Call {
    frames: tonic::body::Body,
    /// Set up when the call first has to wait.
    shutdown: Option<Pin<Box<dyn Future<Output = ()>>>>,
    /// `None` once the call has ended.
    open: Option<Open>,
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
