//! How a delivery is answered: by the way it came, or by any other.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use super::feed::Hand;
use super::new_message::millis;
use super::{Receipt, ReceiptText};
use crate::call::Call;
use crate::client::{Handed, hand_over};
use crate::resp::{Frame, Reply};
use crate::wire::receipts;
use crate::{Client, Error};

/// The most receipts in one command.
const RECEIPTS_MAX: usize = 500;

/// What went wrong with an attempt, and what is to happen.
///
/// ```
/// use std::time::Duration;
/// use tidegate_client::Nack;
///
/// // The provider has answered 429: no message of any queue that needs it is delivered for 30 s.
/// let nack = Nack::error("429 Too Many Requests").close("provider:ses", Duration::from_secs(30));
/// # let _: Nack<'_> = nack;
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Nack<'a> {
    delay: Option<Duration>,
    error: Option<&'a str>,
    close: Option<(&'a [u8], Duration)>,
    cost: &'a [(&'a str, u64)],
}

impl<'a> Nack<'a> {
    /// Try again after the queue's own backoff.
    pub fn new() -> Nack<'a> {
        Nack::default()
    }

    /// The same, with what went wrong: hooks can read it, and a dead letter keeps it.
    pub fn error(error: &'a str) -> Nack<'a> {
        Nack { error: Some(error), ..Nack::default() }
    }

    /// Try again after this long.
    pub fn delay(self, delay: Duration) -> Nack<'a> {
        Nack { delay: Some(delay), ..self }
    }

    /// Leave the limit of this throttle key alone for so long: for both doors, and every queue.
    pub fn close<K: AsRef<[u8]> + ?Sized>(self, throttle_key: &'a K, retry_after: Duration) -> Nack<'a> {
        Nack { close: Some((throttle_key.as_ref(), retry_after)), ..self }
    }

    /// What the attempt really cost, by limit. Unless said, all that was taken for the message stays taken.
    pub fn cost(self, cost: &'a [(&'a str, u64)]) -> Nack<'a> {
        Nack { cost, ..self }
    }

    fn write(&self, queue: &str, receipt: Receipt) -> Frame {
        let Nack { delay, error, close, cost } = self;
        let parts = 3
            + 2 * (usize::from(delay.is_some()) + usize::from(error.is_some()))
            + 3 * usize::from(close.is_some())
            + cost_parts(cost);
        let mut frame = Frame::with_room(queue.len() + error.map_or(0, str::len));
        frame.begin(parts).part(b"NACK").part(queue.as_bytes()).part(ReceiptText::new(receipt).as_bytes());
        if let Some(delay) = delay {
            frame.part(b"DELAY").number(millis(*delay));
        }
        if let Some(error) = error {
            frame.part(b"ERROR").part(error.as_bytes());
        }
        if let Some((key, retry_after)) = close {
            frame.part(b"CLOSE").part(key).number(millis(*retry_after));
        }
        write_cost(&mut frame, cost);
        frame
    }
}

/// The way to answer deliveries of one queue.
#[derive(Debug)]
pub(crate) struct Settling {
    pub(super) queue: Arc<str>,
    calls: mpsc::Sender<Call>,
    request_timeout: Duration,
    /// Where what a consumer has in hand is counted. Nobody counts what was received.
    pub(super) hand: Option<Hand>,
}

impl Settling {
    /// Over the connection of a client.
    pub(super) fn of_client(client: &Client, queue: Arc<str>) -> Settling {
        let (calls, request_timeout) = client.way();
        Settling { queue, calls: calls.clone(), request_timeout, hand: None }
    }

    /// Over the connection of a consumer.
    pub(super) fn of_consumer(
        queue: Arc<str>,
        calls: mpsc::Sender<Call>,
        request_timeout: Duration,
        hand: Hand,
    ) -> Settling {
        Settling { queue, calls, request_timeout, hand: Some(hand) }
    }

    pub(super) async fn ack(&self, receipt: Receipt) -> Result<(), Error> {
        let (caller, answer) = oneshot::channel();
        let call = Call::Ack { queue: self.queue.clone(), receipt, caller };
        self.hand_over(call, answer).await?.answer().await?
    }

    /// An ack that says what it really cost goes alone.
    pub(super) async fn ack_with_cost(&self, receipt: Receipt, cost: &[(&str, u64)]) -> Result<(), Error> {
        let mut frame = Frame::with_room(self.queue.len());
        frame.begin(3 + cost_parts(cost)).part(b"ACK").part(self.queue.as_bytes());
        frame.part(ReceiptText::new(receipt).as_bytes());
        write_cost(&mut frame, cost);
        self.call(frame).await.and_then(ok)
    }

    pub(super) async fn nack(&self, receipt: Receipt, nack: Nack<'_>) -> Result<(), Error> {
        self.call(nack.write(&self.queue, receipt)).await.and_then(ok)
    }

    pub(super) async fn extend(&self, receipt: Receipt, visibility_timeout: Duration) -> Result<(), Error> {
        let mut frame = Frame::with_room(self.queue.len());
        let receipt = ReceiptText::new(receipt);
        frame.begin(4).part(b"EXTEND").part(self.queue.as_bytes()).part(receipt.as_bytes());
        frame.number(millis(visibility_timeout));
        self.call(frame).await.and_then(ok)
    }

    pub(super) async fn release(&self, receipt: Receipt) -> Result<(), Error> {
        self.call(receipts(b"RELEASE", &self.queue, &[receipt])).await.and_then(ok)
    }

    /// `ACK` or `RELEASE` of many.
    pub(super) async fn each(&self, name: &[u8], all: &[Receipt]) -> Vec<Result<(), Error>> {
        let mut handed = Vec::new();
        for some in all.chunks(RECEIPTS_MAX) {
            let (call, answer) = Call::one(receipts(name, &self.queue, some));
            handed.push((some.len(), self.hand_over(call, answer).await));
        }
        let mut results = Vec::with_capacity(all.len());
        for (count, call) in handed {
            let reply = match call {
                Ok(call) => call.answer().await.and_then(|reply| reply),
                Err(error) => Err(error),
            };
            results.extend(one_by_one(reply, count));
        }
        results
    }

    async fn call(&self, frame: Frame) -> Result<Reply, Error> {
        let (call, answer) = Call::one(frame);
        self.hand_over(call, answer).await?.answer().await?
    }

    async fn hand_over<T>(&self, call: Call, answer: oneshot::Receiver<T>) -> Result<Handed<T>, Error> {
        hand_over(&self.calls, self.request_timeout, call, answer).await
    }
}

fn cost_parts(cost: &[(&str, u64)]) -> usize {
    if cost.is_empty() { 0 } else { 1 + 2 * cost.len() }
}

/// `COST limit amount ...`
fn write_cost(frame: &mut Frame, cost: &[(&str, u64)]) {
    if !cost.is_empty() {
        frame.part(b"COST");
    }
    for (limit, amount) in cost {
        frame.part(limit.as_bytes()).number(*amount);
    }
}

fn ok(reply: Reply) -> Result<(), Error> {
    match reply {
        Reply::Simple(_) | Reply::Bulk(_) => Ok(()),
        _ => Err(Error::protocol("this is answered by OK")),
    }
}

/// The results of `count` receipts out of the reply to all of them.
fn one_by_one(reply: Result<Reply, Error>, count: usize) -> Vec<Result<(), Error>> {
    let all = |error: Error| (0..count).map(|_| Err(error.clone())).collect();
    match reply {
        Err(error) => all(error),
        Ok(Reply::Array(items)) if items.len() == count => items
            .into_iter()
            .map(|item| match item {
                Reply::Error(text) => Err(Error::refused(&text)),
                item => ok(item),
            })
            .collect(),
        Ok(reply) if count == 1 => vec![ok(reply)],
        Ok(_) => all(Error::protocol("several receipts are answered one by one")),
    }
}
