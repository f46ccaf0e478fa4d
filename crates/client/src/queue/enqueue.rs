//! An enqueue that is sent when it is awaited.

use std::future::IntoFuture;
use std::pin::Pin;
use std::time::{Duration, SystemTime};

use super::{MessageId, NewMessage, Queue};
use crate::Error;
use crate::resp::{Frame, Reply};

/// A message for a queue: [`Queue::enqueue`]. Await it to send it; the answer is its id. The methods are those of
/// [`NewMessage`].
#[derive(Debug)]
#[must_use = "nothing is enqueued until this is awaited"]
pub struct Enqueue<'a> {
    queue: &'a Queue,
    message: NewMessage<'a>,
}

impl<'a> Enqueue<'a> {
    pub(super) fn new(queue: &'a Queue, message: NewMessage<'a>) -> Enqueue<'a> {
        Enqueue { queue, message }
    }

    fn map(self, change: impl FnOnce(NewMessage<'a>) -> NewMessage<'a>) -> Enqueue<'a> {
        Enqueue { message: change(self.message), ..self }
    }

    /// Its fairness key: the tenant that it belongs to.
    pub fn key<K: AsRef<[u8]> + ?Sized>(self, key: &'a K) -> Enqueue<'a> {
        self.map(|message| message.key(key))
    }

    /// The weight of its fairness key from now on.
    pub fn weight(self, weight: u32) -> Enqueue<'a> {
        self.map(|message| message.weight(weight))
    }

    /// What it counts for in its tenant's share. 1 unless said.
    pub fn cost(self, cost: u32) -> Enqueue<'a> {
        self.map(|message| message.cost(cost))
    }

    /// Deliver it so much later.
    pub fn delay(self, delay: Duration) -> Enqueue<'a> {
        self.map(|message| message.delay(delay))
    }

    /// Deliver it not before then.
    pub fn at(self, at: SystemTime) -> Enqueue<'a> {
        self.map(|message| message.at(at))
    }

    /// Deliver it only when the limit of this throttle key has a token for it.
    pub fn throttle<K: AsRef<[u8]> + ?Sized>(self, key: &'a K) -> Enqueue<'a> {
        self.map(|message| message.throttle(key))
    }

    /// Deliver it only when the limit of this throttle key has `amount` tokens for it.
    pub fn charge<K: AsRef<[u8]> + ?Sized>(self, key: &'a K, amount: u64) -> Enqueue<'a> {
        self.map(|message| message.charge(key, amount))
    }

    /// Deliver it only when this limit of an entity has `amount` for it.
    pub fn charge_entity(
        self,
        entity: &'a str,
        resource: &'a str,
        limit: &'a str,
        amount: u64,
    ) -> Enqueue<'a> {
        self.map(|message| message.charge_entity(entity, resource, limit, amount))
    }

    /// A header: for consumers, hooks and templates.
    pub fn header<N, V>(self, name: &'a N, value: &'a V) -> Enqueue<'a>
    where
        N: AsRef<[u8]> + ?Sized,
        V: AsRef<[u8]> + ?Sized,
    {
        self.map(|message| message.header(name, value))
    }
}

impl<'a> IntoFuture for Enqueue<'a> {
    type Output = Result<MessageId, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        let Enqueue { queue, message } = self;
        // Written here, so the future does not borrow the message.
        let mut frame = Frame::with_room(message.size(queue.name()));
        message.write(queue.name(), &mut frame);
        Box::pin(async move { queue.client().call(frame).await.and_then(id) })
    }
}

fn id(reply: Reply) -> Result<MessageId, Error> {
    let id = match reply {
        Reply::Bulk(id) => MessageId::from_hex(&id),
        _ => None,
    };
    id.ok_or(Error::protocol("an enqueue is answered by an id"))
}
