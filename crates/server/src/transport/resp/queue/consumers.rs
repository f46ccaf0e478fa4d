//! The subscriptions of a connection, and their messages.
//!
//! A connection numbers its subscriptions itself, so none can name those of another.

use std::collections::VecDeque;
use std::task::{Context, Poll};

use tidegate_core::queue::ConsumerId;
use tokio::sync::mpsc;

use super::message;
use crate::api::queue::document::Read;
use crate::api::queue::{Delivered, Deliveries, Delivery, Sink};
use crate::api::{Queues, Refusal};
use crate::transport::framed::HIGH_WATER;
use crate::transport::resp::reply::Reply;

struct Consumer {
    tag: u32,
    queue: Vec<u8>,
    /// Nothing until the engine has answered.
    id: Option<ConsumerId>,
}

/// See the module.
#[derive(Default)]
pub struct Consumers {
    consumers: Vec<Consumer>,
    last_tag: u32,
    inbox: Option<(mpsc::UnboundedSender<Delivered>, Deliveries)>,
    /// What has arrived and is not written: no more messages than the credit.
    arrived: VecDeque<(u32, Arrived)>,
}

enum Arrived {
    Message(Delivery),
    /// The queue is gone.
    End,
}

impl Consumers {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.consumers.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.consumers.len()
    }

    /// A new one, to be confirmed: its number, and where its messages go.
    pub fn add(&mut self, queue: &[u8]) -> (u32, Sink) {
        self.last_tag += 1;
        let tag = self.last_tag;
        self.consumers.push(Consumer { tag, queue: queue.to_vec(), id: None });
        let (sender, _) = self.inbox.get_or_insert_with(mpsc::unbounded_channel);
        (tag, Sink::new(tag, sender.clone()))
    }

    /// The engine knows it.
    pub fn confirm(&mut self, tag: u32, id: ConsumerId) {
        if let Some(consumer) = self.consumers.iter_mut().find(|consumer| consumer.tag == tag) {
            consumer.id = Some(id);
        }
    }

    /// Forgets one.
    pub fn remove(&mut self, tag: u32) {
        self.consumers.retain(|consumer| consumer.tag != tag);
    }

    /// The one of this number.
    pub fn find(&self, tag: i64) -> Option<ConsumerId> {
        self.consumers.iter().find(|consumer| i64::from(consumer.tag) == tag)?.id
    }

    /// The one of this number, which is forgotten: messages that are still to come for it are none.
    pub fn take(&mut self, tag: i64) -> Option<ConsumerId> {
        let id = self.find(tag)?;
        self.consumers.retain(|consumer| consumer.id != Some(id));
        Some(id)
    }

    /// Ends them all.
    pub fn end(&mut self, queues: Option<&Queues>) {
        if self.consumers.is_empty() {
            return;
        }
        let ended = std::mem::take(&mut self.consumers);
        self.arrived.clear();
        self.inbox = None;
        if let Some(queues) = queues {
            queues.unsubscribe(ended.into_iter().filter_map(|consumer| consumer.id));
        }
    }

    /// Writes messages that have arrived, as pushes, until enough is written.
    pub fn poll(&mut self, context: &mut Context<'_>, reply: &mut Reply<'_>) {
        loop {
            while let Some((tag, arrived)) = self.arrived.pop_front() {
                self.write(tag, arrived, reply);
                if reply.position() >= HIGH_WATER {
                    return;
                }
            }
            let Some((_, inbox)) = &mut self.inbox else { return };
            match inbox.poll_recv(context) {
                Poll::Ready(Some(Delivered { tag, deliveries })) if deliveries.is_empty() => {
                    self.arrived.push_back((tag, Arrived::End));
                }
                Poll::Ready(Some(Delivered { tag, deliveries })) => {
                    let messages = deliveries.into_iter().map(|delivery| (tag, Arrived::Message(delivery)));
                    self.arrived.extend(messages);
                }
                Poll::Ready(None) | Poll::Pending => return,
            }
        }
    }

    fn write(&mut self, tag: u32, arrived: Arrived, reply: &mut Reply<'_>) {
        let Some(at) = self.consumers.iter().position(|consumer| consumer.tag == tag) else { return };
        match arrived {
            // One that cannot be read comes again when its lease has run out; the log says why.
            Arrived::Message(delivery) => {
                if let Ok(read) = Read::new(delivery) {
                    reply.push(3);
                    reply.bulk(b"message");
                    reply.integer(tag.into());
                    message::write(reply, &read);
                }
            }
            Arrived::End => {
                let consumer = self.consumers.remove(at);
                reply.push(3);
                reply.bulk(b"ended");
                reply.integer(tag.into());
                reply.bulk(format!("ERR {}", Refusal::queue_not_found(&consumer.queue)).as_bytes());
            }
        }
    }
}
