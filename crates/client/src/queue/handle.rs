//! A queue, as a client holds it.

use std::sync::Arc;
use std::time::Duration;

use super::message::Message;
use super::receive;
use super::settle::Settling;
use super::{Consume, Enqueue, MessageId, Nack, NewMessage, Receipt};
use crate::call::Call;
use crate::resp::Frame;
use crate::{Client, Error};

/// A batch is cut where it passes this many bytes or messages: each piece is one write, and one turn of the server.
const BATCH_BYTES: usize = 1024 * 1024;
const BATCH_MESSAGES: usize = 1024;

/// A queue by its name: [`Client::queue`]. Cheap to clone. That it exists is the server's to say, with each call.
#[derive(Clone, Debug)]
pub struct Queue {
    client: Client,
    settling: Arc<Settling>,
}

impl Queue {
    pub(crate) fn new(client: &Client, name: &str) -> Queue {
        Queue { client: client.clone(), settling: Arc::new(Settling::of_client(client, name.into())) }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.settling.queue
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    pub(super) fn settling(&self) -> &Arc<Settling> {
        &self.settling
    }

    /// Enqueues a message, once this is awaited. It is answered when the message is as safe as the queue's durability
    /// says: on disk, by default.
    ///
    /// ```no_run
    /// # async fn run(client: tidegate_client::Client) -> Result<(), tidegate_client::Error> {
    /// let orders = client.queue("orders");
    /// let id = orders.enqueue("one more").key("tenant-7").throttle("provider:stripe").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn enqueue<'a, P: AsRef<[u8]> + ?Sized>(&'a self, payload: &'a P) -> Enqueue<'a> {
        Enqueue::new(self, NewMessage::new(payload))
    }

    /// Enqueues all of `messages` and gives one result for each, in the same order. Each stands alone: one that is
    /// refused does not keep the next out. The whole batch is one write, unless it is larger than a megabyte.
    ///
    /// ```no_run
    /// # async fn run(client: tidegate_client::Client) {
    /// use tidegate_client::NewMessage;
    ///
    /// let messages = ["a", "b"].map(|body| NewMessage::new(body).key("tenant-7"));
    /// for result in client.queue("orders").enqueue_batch(&messages).await {
    ///     println!("{result:?}");
    /// }
    /// # }
    /// ```
    pub async fn enqueue_batch(&self, messages: &[NewMessage<'_>]) -> Vec<Result<MessageId, Error>> {
        let mut handed = Vec::new();
        for (frame, count) in self.pieces(messages) {
            let (call, answer) = Call::ids(frame, count);
            handed.push((count, self.client.hand_over(call, answer).await));
        }
        let mut results = Vec::with_capacity(messages.len());
        for (count, call) in handed {
            let answer = match call {
                Ok(call) => call.answer().await,
                Err(error) => Err(error),
            };
            match answer {
                Ok(ids) => results.extend(ids),
                Err(error) => results.extend((0..count).map(|_| Err(error.clone()))),
            }
        }
        results
    }

    /// The commands of a batch, in pieces of a bounded size, each with its number of messages.
    fn pieces(&self, messages: &[NewMessage<'_>]) -> Vec<(Frame, usize)> {
        let name = self.name();
        let mut pieces = Vec::new();
        let mut rest = messages;
        while !rest.is_empty() {
            let mut size = 0;
            let fits = |message: &&NewMessage<'_>| {
                let first = size == 0;
                size += message.size(name) + FRAMING;
                first || size <= BATCH_BYTES
            };
            let count = rest.iter().take(BATCH_MESSAGES).take_while(fits).count();
            let (piece, behind) = rest.split_at(count);
            let mut frame = Frame::with_room(size);
            piece.iter().for_each(|message| message.write(name, &mut frame));
            pieces.push((frame, count));
            rest = behind;
        }
        pieces
    }

    /// Takes at most `max` messages, waiting up to `wait` for the first of them. Empty when none came in time.
    ///
    /// Waiting stalls nobody: a receive has a connection of its own. The messages are the caller's until they are
    /// settled or the queue's visibility timeout has passed.
    ///
    /// ```no_run
    /// # async fn run(client: tidegate_client::Client) -> Result<(), tidegate_client::Error> {
    /// use std::time::Duration;
    ///
    /// for message in client.queue("orders").receive(10, Duration::from_secs(20)).await? {
    ///     println!("{:?}", message.payload);
    ///     message.ack().await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn receive(&self, max: u32, wait: Duration) -> Result<Vec<Message>, Error> {
        receive::receive(self, max, wait).await
    }

    /// Opens a stream of messages, once this is awaited: at most `credit` of them are unsettled at a time. See
    /// [`Consumer`](super::Consumer).
    pub fn consume(&self, credit: u32) -> Consume<'_> {
        Consume::new(self, credit)
    }

    /// The delivery is done with. [`Message::ack`] is the same for who still has the message.
    pub async fn ack(&self, receipt: Receipt) -> Result<(), Error> {
        self.settling.ack(receipt).await
    }

    /// The delivery is done with, and this is what it really cost, by limit.
    pub async fn ack_with_cost(&self, receipt: Receipt, cost: &[(&str, u64)]) -> Result<(), Error> {
        self.settling.ack_with_cost(receipt, cost).await
    }

    /// Acknowledges all of `receipts` together and gives one result for each, in the same order.
    pub async fn ack_batch(&self, receipts: &[Receipt]) -> Vec<Result<(), Error>> {
        self.settling.each(b"ACK", receipts).await
    }

    /// The attempt has failed.
    pub async fn nack(&self, receipt: Receipt, nack: Nack<'_>) -> Result<(), Error> {
        self.settling.nack(receipt, nack).await
    }

    /// The message stays with its holder for so long from now on.
    pub async fn extend(&self, receipt: Receipt, visibility_timeout: Duration) -> Result<(), Error> {
        self.settling.extend(receipt, visibility_timeout).await
    }

    /// Gives the message back, to the end of its line. That is no failed attempt.
    pub async fn release(&self, receipt: Receipt) -> Result<(), Error> {
        self.settling.release(receipt).await
    }

    /// Gives all of these messages back, with one result for each, in the same order.
    pub async fn release_batch(&self, receipts: &[Receipt]) -> Vec<Result<(), Error>> {
        self.settling.each(b"RELEASE", receipts).await
    }
}

/// Lengths and line ends of a command, beside what the message counts itself.
const FRAMING: usize = 32;
