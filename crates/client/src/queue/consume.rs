//! A subscription that is made when it is awaited.

use std::future::IntoFuture;
use std::pin::Pin;

use super::{Consumer, Queue};
use crate::Error;

/// A stream of messages to be: [`Queue::consume`]. Await it to open it.
#[derive(Debug)]
#[must_use = "nothing is consumed until this is awaited"]
pub struct Consume<'a> {
    queue: &'a Queue,
    credit: u32,
    replenish: bool,
}

impl<'a> Consume<'a> {
    pub(super) fn new(queue: &'a Queue, credit: u32) -> Consume<'a> {
        Consume { queue, credit, replenish: true }
    }

    /// Credit is given by [`Consumer::credit`] alone: a message that is settled does not make room for the next.
    pub fn explicit_credit(self) -> Consume<'a> {
        Consume { replenish: false, ..self }
    }
}

impl<'a> IntoFuture for Consume<'a> {
    type Output = Result<Consumer, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(Consumer::open(self.queue.clone(), self.credit, self.replenish))
    }
}
