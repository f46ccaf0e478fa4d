//! The subscriptions of a connection, and their messages.
//!
//! A connection numbers its subscriptions itself, so none can name those of another.

use std::collections::VecDeque;
use std::task::{Context, Poll};

use tidegate_core::queue::ConsumerId;
use tokio::sync::mpsc;

use super::message;
use crate::api::Queues;
use crate::api::queue::document::Read;
use crate::api::queue::{Delivered, Deliveries, Delivery, Sink};
use crate::transport::framed::HIGH_WATER;
use crate::transport::resp::reply::Reply;

struct Consumer {
    tag: u32,
    /// Nothing until the engine has answered.
    id: Option<ConsumerId>,
}

/// See the module.
#[derive(Default)]
pub struct Consumers {
    consumers: Vec<Consumer>,
    last_tag: u32,
    inbox: Option<(mpsc::UnboundedSender<Delivered>, Deliveries)>,
    /// Messages that have arrived and are not written: no more than the credit.
    arrived: VecDeque<(u32, Delivery)>,
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
    pub fn add(&mut self) -> (u32, Sink) {
        self.last_tag += 1;
        let tag = self.last_tag;
        self.consumers.push(Consumer { tag, id: None });
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
        let Some((_, inbox)) = &mut self.inbox else { return };
        loop {
            while let Some((tag, delivery)) = self.arrived.pop_front() {
                if !self.consumers.iter().any(|consumer| consumer.tag == tag) {
                    continue;
                }
                // One that cannot be read comes again when its lease has run out; the log says why.
                if let Ok(read) = Read::new(delivery) {
                    reply.push(3);
                    reply.bulk(b"message");
                    reply.integer(tag.into());
                    message::write(reply, &read);
                }
                if reply.position() >= HIGH_WATER {
                    return;
                }
            }
            match inbox.poll_recv(context) {
                Poll::Ready(Some(Delivered { tag, deliveries })) => {
                    self.arrived.extend(deliveries.into_iter().map(|delivery| (tag, delivery)));
                }
                Poll::Ready(None) | Poll::Pending => return,
            }
        }
    }
}
