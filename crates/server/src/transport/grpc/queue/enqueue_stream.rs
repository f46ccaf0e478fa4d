//! `EnqueueStream`: one response for each request, in order.
//!
//! Whatever has arrived goes to the engine together, and more may follow before it is answered. A client that does not
//! take its responses is not read from: at most [`MOST_WAITING`] messages wait.

use std::collections::VecDeque;
use std::future::{Ready, ready};
use std::pin::Pin;
use std::task::{Context, Poll};

use http::Request;
use hyper::body::Incoming;
use tokio_stream::Stream;
use tonic::server::{Grpc, StreamingService};
use tonic::{Response, Status, Streaming};
use tonic_prost::ProstCodec;

use super::super::services::Calling;
use super::super::v1::{EnqueueRequest, EnqueueResponse};
use super::caller::Caller;
use super::message;
use crate::api::queue::{Items, Line, Ops, Outcome};

/// Messages of one stream that are not answered. Past them, nothing is read.
const MOST_WAITING: usize = 4096;
/// The same for the bytes of their payloads.
const MOST_WAITING_BYTES: usize = 8 * 1024 * 1024;

/// The method, in one namespace.
pub struct EnqueueStream {
    caller: Caller,
}

impl EnqueueStream {
    /// For a caller.
    pub fn new(caller: Caller) -> EnqueueStream {
        EnqueueStream { caller }
    }

    /// Answers a call; no message of it may be larger than `max_bytes`.
    pub fn call(self, request: Request<Incoming>, max_bytes: usize) -> Calling {
        let codec = ProstCodec::<EnqueueResponse, EnqueueRequest>::default();
        let mut grpc = Grpc::new(codec).max_decoding_message_size(max_bytes);
        Box::pin(async move { Ok(grpc.streaming(self, request).await) })
    }
}

impl StreamingService<EnqueueRequest> for EnqueueStream {
    type Response = EnqueueResponse;
    type ResponseStream = Responses;
    type Future = Ready<Result<Response<Responses>, Status>>;

    fn call(&mut self, request: tonic::Request<Streaming<EnqueueRequest>>) -> Self::Future {
        ready(Ok(Response::new(Responses {
            caller: self.caller.clone(),
            requests: request.into_inner(),
            queue: String::new(),
            line: self.caller.queues.line(),
            waiting: Load::default(),
            answered: VecDeque::new(),
            end: None,
        })))
    }
}

/// The responses to a stream of requests.
pub struct Responses {
    caller: Caller,
    requests: Streaming<EnqueueRequest>,
    /// The queue that was named last.
    queue: String,
    line: Line<Submitted>,
    /// What the line holds.
    waiting: Load,
    answered: VecDeque<EnqueueResponse>,
    /// How the requests ended, once they have.
    end: Option<Result<(), Status>>,
}

/// Requests that were submitted together.
struct Submitted {
    requests: Vec<Items>,
    load: Load,
}

#[derive(Clone, Copy, Default)]
struct Load {
    messages: usize,
    bytes: usize,
}

impl Responses {
    /// Submits what has arrived.
    fn submit_arrived(&mut self, cx: &mut Context<'_>) {
        let mut ops = self.caller.ops();
        let (mut requests, mut messages) = (Vec::new(), 0);
        while self.end.is_none()
            && self.waiting.messages + messages < MOST_WAITING
            && self.waiting.bytes + ops.bytes() < MOST_WAITING_BYTES
        {
            match Pin::new(&mut self.requests).poll_next(cx) {
                Poll::Ready(Some(Ok(request))) => match self.gather(request, &mut ops) {
                    Ok(items) => {
                        // An empty request counts too, or a flood of them would not be bounded.
                        messages += items.len().max(1);
                        requests.push(items);
                    }
                    Err(status) => self.end = Some(Err(status)),
                },
                Poll::Ready(Some(Err(status))) => self.end = Some(Err(status)),
                Poll::Ready(None) => self.end = Some(Ok(())),
                Poll::Pending => break,
            }
        }
        if !requests.is_empty() {
            let load = Load { messages, bytes: ops.bytes() };
            self.waiting.messages += load.messages;
            self.waiting.bytes += load.bytes;
            self.line.submit(ops, Submitted { requests, load });
        }
    }

    fn gather(&mut self, request: EnqueueRequest, ops: &mut Ops) -> Result<Items, Status> {
        let EnqueueRequest { queue, messages } = request;
        if !queue.is_empty() {
            self.queue = queue;
        }
        self.caller.counted(self.caller.queues.check_batch(messages.len()))?;
        Ok(message::gather(&messages, ops, &self.caller.namespace, &self.queue))
    }

    fn answer(&mut self, outcomes: Vec<Outcome>, submitted: Submitted) {
        self.waiting.messages -= submitted.load.messages;
        self.waiting.bytes -= submitted.load.bytes;
        let mut outcomes = outcomes.into_iter();
        for items in submitted.requests {
            self.answered.push_back(message::enqueued(items.results(&mut outcomes)));
        }
    }
}

impl Stream for Responses {
    type Item = Result<EnqueueResponse, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(response) = self.answered.pop_front() {
                return Poll::Ready(Some(Ok(response)));
            }
            self.submit_arrived(cx);
            match self.line.poll_next(cx) {
                Poll::Ready(Some((outcomes, submitted))) => self.answer(outcomes, submitted),
                Poll::Ready(None) => {
                    return match &mut self.end {
                        None => Poll::Pending,
                        Some(end) => Poll::Ready(std::mem::replace(end, Ok(())).err().map(Err)),
                    };
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}
