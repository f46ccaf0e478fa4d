//! `ThrottleStream`: one result for each request, in order.
//!
//! Whatever has arrived is decided together, at one reading of the clock, and leaves in as few frames as HTTP/2
//! allows. A client that does not take its results is not read from: at most [`MOST_AT_ONCE`] of them wait.

use std::collections::VecDeque;
use std::future::{Ready, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::Request;
use hyper::body::Incoming;
use tokio_stream::Stream;
use tonic::server::{Grpc, StreamingService};
use tonic::{Response, Status, Streaming};
use tonic_prost::ProstCodec;

use super::services::Calling;
use super::v1::{ThrottleRequest, ThrottleResult};
use crate::api::{Api, Namespace, Transport};

/// Requests that are decided together.
const MOST_AT_ONCE: usize = 256;

/// The method, in one namespace.
pub struct ThrottleStream {
    pub(super) api: Arc<Api>,
    pub(super) namespace: Namespace,
}

impl ThrottleStream {
    /// Answers a call; no message of it may be larger than `max_bytes`.
    pub fn call(self, request: Request<Incoming>, max_bytes: usize) -> Calling {
        let codec = ProstCodec::<ThrottleResult, ThrottleRequest>::default();
        let mut grpc = Grpc::new(codec).max_decoding_message_size(max_bytes);
        Box::pin(async move { Ok(grpc.streaming(self, request).await) })
    }
}

impl StreamingService<ThrottleRequest> for ThrottleStream {
    type Response = ThrottleResult;
    type ResponseStream = Results;
    type Future = Ready<Result<Response<Results>, Status>>;

    fn call(&mut self, request: tonic::Request<Streaming<ThrottleRequest>>) -> Self::Future {
        let (api, namespace) = (self.api.clone(), self.namespace);
        let requests = request.into_inner();
        ready(Ok(Response::new(Results { api, namespace, requests, decided: VecDeque::new(), end: None })))
    }
}

/// The results of a stream of requests.
pub struct Results {
    api: Arc<Api>,
    namespace: Namespace,
    requests: Streaming<ThrottleRequest>,
    decided: VecDeque<ThrottleResult>,
    /// How the requests ended, once they have.
    end: Option<Result<(), Status>>,
}

impl Results {
    /// Decides what has arrived.
    fn decide_arrived(&mut self, cx: &mut Context<'_>) {
        let mut api = self.api.begin(Transport::Grpc);
        while self.end.is_none() && self.decided.len() < MOST_AT_ONCE {
            match Pin::new(&mut self.requests).poll_next(cx) {
                Poll::Ready(Some(Ok(request))) => {
                    self.decided.push_back(api.throttle(self.namespace, &request.call()).into());
                }
                Poll::Ready(Some(Err(status))) => self.end = Some(Err(status)),
                Poll::Ready(None) => self.end = Some(Ok(())),
                Poll::Pending => break,
            }
        }
    }
}

impl Stream for Results {
    type Item = Result<ThrottleResult, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.decided.is_empty() && self.end.is_none() {
            self.decide_arrived(cx);
        }
        if let Some(result) = self.decided.pop_front() {
            return Poll::Ready(Some(Ok(result)));
        }
        match &mut self.end {
            None => Poll::Pending,
            Some(end) => Poll::Ready(std::mem::replace(end, Ok(())).err().map(Err)),
        }
    }
}
