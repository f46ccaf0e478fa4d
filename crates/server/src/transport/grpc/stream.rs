//! `ThrottleStream`: one result for each request, in order.
//!
//! Whatever has arrived is decided together, at one reading of the clock, and leaves in as few frames as HTTP/2
//! allows. A client that does not take its results is not read from: at most [`MOST_AT_ONCE`] of them wait.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio_stream::Stream;
use tonic::{Status, Streaming};

use super::v1::{ThrottleRequest, ThrottleResult};
use crate::api::{Api, Namespace, Transport};

/// Requests that are decided together.
const MOST_AT_ONCE: usize = 256;

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
    /// Decides `requests` as they come.
    pub fn new(api: Arc<Api>, namespace: Namespace, requests: Streaming<ThrottleRequest>) -> Results {
        Results { api, namespace, requests, decided: VecDeque::new(), end: None }
    }

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
