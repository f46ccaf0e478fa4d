//! `Consume`: messages for credit, and the answers to them, on one stream.
//!
//! The first request subscribes. What arrives after it goes to the engine together, in order, and is answered in that
//! order; messages come in between. Bodies are read as the client takes them, so one that does not read costs no more
//! than the credit it has given. Dropped at any moment, this ends the subscription: what the consumer holds comes back.

use std::collections::VecDeque;
use std::future::{Ready, ready};
use std::pin::Pin;
use std::task::{Context, Poll};

use http::Request;
use hyper::body::Incoming;
use tidegate_core::queue::ConsumerId;
use tokio::sync::mpsc;
use tokio_stream::Stream;
use tonic::server::{Grpc, StreamingService};
use tonic::{Response, Status, Streaming};
use tonic_prost::ProstCodec;

use super::super::services::Calling;
use super::super::v1::consume_request::Request as Asked;
use super::super::v1::consume_response::Response as Told;
use super::super::v1::{self, ConsumeRequest, ConsumeResponse};
use super::caller::Caller;
use super::settle::Settle;
use crate::api::Refusal;
use crate::api::queue::document::Read;
use crate::api::queue::{Deliveries, Delivery, Items, Line, Ops, Outcome, Sink};

/// Answers to messages that wait for theirs. Past them, nothing is read.
const MOST_WAITING: usize = 4096;
/// Messages of one response, and the bytes of payloads after which it is full.
const MESSAGES: usize = 64;
const MESSAGE_BYTES: usize = 64 * 1024;

/// The method, in one namespace.
pub struct Consume {
    caller: Caller,
}

impl Consume {
    /// For a caller.
    pub fn new(caller: Caller) -> Consume {
        Consume { caller }
    }

    /// Answers a call; no message of it may be larger than `max_bytes`.
    pub fn call(self, request: Request<Incoming>, max_bytes: usize) -> Calling {
        let codec = ProstCodec::<ConsumeResponse, ConsumeRequest>::default();
        let mut grpc = Grpc::new(codec).max_decoding_message_size(max_bytes);
        Box::pin(async move { Ok(grpc.streaming(self, request).await) })
    }
}

impl StreamingService<ConsumeRequest> for Consume {
    type Response = ConsumeResponse;
    type ResponseStream = Consumption;
    type Future = Ready<Result<Response<Consumption>, Status>>;

    fn call(&mut self, request: tonic::Request<Streaming<ConsumeRequest>>) -> Self::Future {
        let (sender, inbox) = mpsc::unbounded_channel();
        ready(Ok(Response::new(Consumption {
            caller: self.caller.clone(),
            requests: request.into_inner(),
            queue: String::new(),
            subscription: Subscription::Unasked(Sink::new(0, sender)),
            line: self.caller.queues.line(),
            waiting: 0,
            answered: VecDeque::new(),
            inbox,
            delivered: VecDeque::new(),
            end: None,
        })))
    }
}

/// The responses to a stream of requests.
pub struct Consumption {
    caller: Caller,
    requests: Streaming<ConsumeRequest>,
    /// The queue of the subscription.
    queue: String,
    subscription: Subscription,
    line: Line<Vec<Awaited>>,
    /// What the line holds.
    waiting: usize,
    answered: VecDeque<Told>,
    inbox: Deliveries,
    /// Messages that were delivered and not yet read.
    delivered: VecDeque<Delivery>,
    /// How the requests ended, once they have.
    end: Option<Result<(), Status>>,
}

/// How far the subscription has come.
enum Subscription {
    /// Its request has not arrived.
    Unasked(Sink),
    /// The engine has not answered. Until it has, nothing else is read: credit is given by number.
    Asked,
    /// It stands.
    Stands(ConsumerId),
}

/// A request that waits for its answer.
enum Awaited {
    Subscribed,
    Credited,
    Settled(Settle, Items),
}

impl Awaited {
    fn load(&self) -> usize {
        match self {
            Awaited::Subscribed | Awaited::Credited => 1,
            // An empty request counts too, or a flood of them would not be bounded.
            Awaited::Settled(settle, _) => settle.len().max(1),
        }
    }
}

impl Consumption {
    /// Submits what has arrived.
    fn submit_arrived(&mut self, cx: &mut Context<'_>) {
        let (mut ops, mut awaited) = (self.caller.ops(), Vec::new());
        while self.end.is_none()
            && self.waiting < MOST_WAITING
            && !matches!(self.subscription, Subscription::Asked)
        {
            match Pin::new(&mut self.requests).poll_next(cx) {
                Poll::Ready(Some(Ok(request))) => match self.gather(request, &mut ops) {
                    Ok(next) => {
                        self.waiting += next.load();
                        awaited.push(next);
                    }
                    Err(refusal) => self.end = Some(Err(refusal.into())),
                },
                Poll::Ready(Some(Err(status))) => self.end = Some(Err(status)),
                Poll::Ready(None) => self.end = Some(Ok(())),
                Poll::Pending => break,
            }
        }
        if !awaited.is_empty() {
            self.line.submit(ops, awaited);
        }
    }

    fn gather(&mut self, request: ConsumeRequest, ops: &mut Ops) -> Result<Awaited, Refusal> {
        let consumer = match &self.subscription {
            Subscription::Stands(consumer) => Some(*consumer),
            Subscription::Unasked(_) | Subscription::Asked => None,
        };
        let settle = match (request.request, consumer) {
            (Some(Asked::Subscribe(subscribe)), None) => return self.subscribe(subscribe, ops),
            (Some(Asked::Credit(credit)), Some(consumer)) => {
                return ops.credit(consumer, credit).map(|()| Awaited::Credited);
            }
            (Some(Asked::Ack(ack)), Some(_)) => Settle::Ack(ack.receipts, ack.cost),
            (Some(Asked::Nack(nack)), Some(_)) => Settle::Nack(nack.items),
            (Some(Asked::Extend(extend)), Some(_)) => Settle::Extend(extend.items),
            (Some(Asked::Release(release)), Some(_)) => Settle::Release(release.receipts),
            _ => return self.caller.counted(Err(out_of_turn())),
        };
        self.caller.counted(self.caller.queues.check_batch(settle.len()))?;
        let items = settle.gather(ops, &self.caller.namespace, &self.queue);
        Ok(Awaited::Settled(settle, items))
    }

    fn subscribe(&mut self, subscribe: v1::Subscribe, ops: &mut Ops) -> Result<Awaited, Refusal> {
        let asked = std::mem::replace(&mut self.subscription, Subscription::Asked);
        let Subscription::Unasked(sink) = asked else { return self.caller.counted(Err(out_of_turn())) };
        let v1::Subscribe { queue, credit } = subscribe;
        ops.subscribe(&self.caller.namespace, queue.as_bytes(), credit, sink)?;
        self.queue = queue;
        Ok(Awaited::Subscribed)
    }

    fn answer(&mut self, outcomes: Vec<Outcome>, awaited: Vec<Awaited>) {
        let mut outcomes = outcomes.into_iter();
        for request in awaited {
            self.waiting -= request.load();
            match request {
                Awaited::Subscribed | Awaited::Credited => match outcomes.next() {
                    Some(Outcome::Subscribed(consumer)) => {
                        self.subscription = Subscription::Stands(consumer);
                        self.answered.push_back(Told::Subscribed(v1::Subscribed {}));
                    }
                    Some(Outcome::Refused(refused)) => self.end = Some(Err(Refusal::from(*refused).into())),
                    _ => {}
                },
                Awaited::Settled(settle, items) => {
                    self.answered.push_back(Told::Results(settle.response(items.results(&mut outcomes))));
                }
            }
        }
    }

    /// Messages for one response, if any have arrived and the subscription stands.
    fn messages(&mut self, cx: &mut Context<'_>) -> Option<Told> {
        let Subscription::Stands(consumer) = self.subscription else { return None };
        loop {
            match self.inbox.poll_recv(cx) {
                Poll::Ready(Some(more)) => self.delivered.extend(more.deliveries),
                // The engine has let go of it: the queue was deleted, with all that was delivered from it.
                Poll::Ready(None) => {
                    self.end = Some(Err(Refusal::queue_not_found(self.queue.as_bytes()).into()));
                    return None;
                }
                Poll::Pending => break,
            }
        }
        let (mut messages, mut bytes) = (Vec::new(), 0);
        while messages.len() < MESSAGES
            && bytes < MESSAGE_BYTES
            && let Some(delivery) = self.delivered.pop_front()
        {
            match Read::new(delivery) {
                Ok(read) => {
                    bytes += read.message().payload.len();
                    messages.push(v1::Message::from(&read));
                }
                Err(_) => self.return_credit(consumer),
            }
        }
        (!messages.is_empty()).then_some(Told::Messages(v1::ReceiveResponse { messages }))
    }

    /// A message that cannot be read stays leased until its time is over. The client, which does not hear of it, is not
    /// to lose the credit.
    fn return_credit(&mut self, consumer: ConsumerId) {
        let mut ops = self.caller.ops();
        if ops.credit(consumer, 1).is_ok() {
            self.waiting += Awaited::Credited.load();
            self.line.submit(ops, vec![Awaited::Credited]);
        }
    }
}

fn out_of_turn() -> Refusal {
    let message = "the first request of a stream subscribes, and no other does";
    Refusal::invalid_request(message, "send `subscribe` with a queue and credit first, and only then")
}

impl Stream for Consumption {
    type Item = Result<ConsumeResponse, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(told) = self.answered.pop_front() {
                return Poll::Ready(Some(Ok(ConsumeResponse { response: Some(told) })));
            }
            self.submit_arrived(cx);
            let all_answered = match self.line.poll_next(cx) {
                Poll::Ready(Some((outcomes, awaited))) => {
                    self.answer(outcomes, awaited);
                    continue;
                }
                Poll::Ready(None) => true,
                Poll::Pending => false,
            };
            match &mut self.end {
                // Who asks nothing more gets nothing more: it could not answer what it got.
                Some(end) if all_answered => {
                    return Poll::Ready(std::mem::replace(end, Ok(())).err().map(Err));
                }
                Some(_) => return Poll::Pending,
                None => match self.messages(cx) {
                    Some(told) => self.answered.push_back(told),
                    // It may have ended the stream, or given credit back.
                    None if self.end.is_some() || all_answered && !self.line.is_empty() => {}
                    None => return Poll::Pending,
                },
            }
        }
    }
}

impl Drop for Consumption {
    fn drop(&mut self) {
        if let Subscription::Stands(consumer) = self.subscription {
            self.caller.queues.unsubscribe(std::iter::once(consumer));
        }
    }
}
