//! A question that is sent when it is awaited.

use std::future::IntoFuture;
use std::pin::Pin;

use crate::resp::command::{self, Verb};
use crate::{Client, Decision, Error, Limit, Request};

/// A question about one key: [`Client::throttle`] or [`Client::peek`]. Await it to send it.
#[derive(Debug)]
#[must_use = "nothing is asked until this is awaited"]
pub struct Ask<'a, K> {
    client: &'a Client,
    verb: Verb,
    request: Request<K>,
}

impl<'a, K: AsRef<[u8]>> Ask<'a, K> {
    pub(crate) fn new(client: &'a Client, verb: Verb, key: K, limit: Limit) -> Ask<'a, K> {
        Ask { client, verb, request: Request::new(key, limit) }
    }

    /// Asks for `quantity` tokens, all or none, instead of one. 0 takes nothing and always passes.
    pub fn quantity(self, quantity: u64) -> Ask<'a, K> {
        Ask { request: self.request.quantity(quantity), ..self }
    }
}

impl<'a, K: AsRef<[u8]>> IntoFuture for Ask<'a, K> {
    type Output = Result<Decision, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        // The key goes into the frame here, so the future neither borrows it nor cares whether it is `Send`.
        let frame = command::ask(self.verb, &self.request);
        let client = self.client;
        Box::pin(async move { client.call(frame).await.and_then(Decision::from_reply) })
    }
}
