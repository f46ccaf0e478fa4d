//! A stream of messages over a connection of its own.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};

use super::feed::{Feed, Hand};
use super::settle::Settling;
use super::{Message, Queue, Receipt};
use crate::Error;
use crate::link::{Link, MESSAGES_READ};
use crate::redial::{Backoff, unsent};
use crate::resp::{Frame, Reply};
use crate::wire::Wire;

/// A stream of messages of one queue: [`Queue::consume`].
///
/// The server sends a message as soon as there is one that may run, as long as there is credit. Each message in hand
/// takes one, and gives it back when it is settled or dropped: with a credit of 100, a hundred messages are worked on
/// at a time. Those that wait to be taken by [`next`](Consumer::next) count too.
///
/// - It has a connection of its own: however slow it is, no other call waits for it.
/// - When the connection breaks, the server gives all messages in hand to others at once, and settling them fails.
///   `next` then says so, once, and opens a new connection when it is called again.
/// - Dropped, it ends its subscription: messages that are not settled by then go to others. To finish them first,
///   [`close`](Consumer::close) it.
///
/// ```no_run
/// # async fn run(client: tidegate_client::Client) -> Result<(), tidegate_client::Error> {
/// let mut consumer = client.queue("orders").consume(100).await?;
/// loop {
///     let message = consumer.next().await?;
///     tokio::spawn(async move {
///         println!("{:?}", message.payload);
///         message.ack().await
///     });
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct Consumer {
    queue: Queue,
    credit: u32,
    replenish: bool,
    /// Nothing after the connection broke.
    live: Option<Live>,
    backoff: Backoff,
    /// No attempt to connect before then.
    pause_until: Option<Instant>,
}

/// An open connection.
#[derive(Debug)]
struct Live {
    messages: mpsc::UnboundedReceiver<Message>,
    hand: Hand,
    settling: Arc<Settling>,
    task: JoinHandle<Error>,
}

impl Consumer {
    pub(super) async fn open(queue: Queue, credit: u32, replenish: bool) -> Result<Consumer, Error> {
        let live = Some(Live::open(&queue, credit, replenish).await?);
        Ok(Consumer { queue, credit, replenish, live, backoff: Backoff::default(), pause_until: None })
    }

    /// The next message. Waits for as long as there is none. Nothing is lost if this is dropped before it is done.
    ///
    /// An error says that the connection has broken, or that a new one could not be opened. Calling again opens one,
    /// after a pause that grows with each failure.
    pub async fn next(&mut self) -> Result<Message, Error> {
        loop {
            let live = self.connected().await?;
            match live.messages.recv().await {
                // What was sent over a connection that broke has gone to others by now.
                Some(message) if live.task.is_finished() => drop(message),
                Some(message) => return Ok(message),
                None => return Err(self.ended().await),
            }
        }
    }

    /// The messages that are there, at most `max`; waits if there are none. As [`next`](Consumer::next) otherwise.
    pub async fn next_batch(&mut self, max: usize) -> Result<Vec<Message>, Error> {
        let mut batch = Vec::new();
        let live = self.connected().await?;
        while live.messages.recv_many(&mut batch, max.max(1)).await > 0 {
            if !live.task.is_finished() {
                return Ok(batch);
            }
            batch.clear();
        }
        Err(self.ended().await)
    }

    /// Gives credit for `more` messages, beside what settled messages give back. A new connection begins with the credit
    /// that the consumer began with.
    pub fn credit(&self, more: u32) {
        if let Some(live) = &self.live {
            live.hand.grant(more);
        }
    }

    /// The queue.
    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    /// Ends the subscription without losing work: messages that were not taken are given back, and those in hand are
    /// waited for until they are settled or dropped.
    pub async fn close(mut self) {
        let Some(mut live) = self.live.take() else { return };
        live.hand.drain();
        live.messages.close();
        let mut unread = Vec::new();
        while let Some(message) = live.messages.recv().await {
            unread.push(message);
        }
        let receipts: Vec<Receipt> = unread.iter().map(|message| message.receipt).collect();
        // One that is refused has gone to others already.
        drop(live.settling.each(b"RELEASE", &receipts).await);
        drop(unread);
        live.task.await.ok();
    }

    /// The connection, opened again if it broke.
    async fn connected(&mut self) -> Result<&mut Live, Error> {
        if self.live.is_none() {
            if let Some(until) = self.pause_until {
                sleep_until(until).await;
            }
            match Live::open(&self.queue, self.credit, self.replenish).await {
                Ok(live) => self.live = Some(live),
                Err(error) => {
                    self.pause_until = Some(Instant::now() + self.backoff.pause());
                    return Err(error);
                }
            }
            (self.backoff, self.pause_until) = (Backoff::default(), None);
        }
        self.live.as_mut().ok_or(Error::Disconnected)
    }

    /// Why the connection broke. The next one may be opened after a short pause, so that a server that hangs up at
    /// once is not called all the time.
    async fn ended(&mut self) -> Error {
        let Some(live) = &mut self.live else { return Error::Disconnected };
        let error = (&mut live.task).await.unwrap_or(Error::Disconnected);
        self.live = None;
        self.pause_until = Some(Instant::now() + self.backoff.pause());
        error
    }
}

impl Live {
    async fn open(queue: &Queue, credit: u32, replenish: bool) -> Result<Live, Error> {
        let target = &queue.client().polls().target;
        let options = &target.options;
        let mut link = Link::open(target, MESSAGES_READ).await.map_err(unsent)?;
        let subscription = timeout(options.request_timeout, link.ask(&command(queue.name(), credit))).await;
        let number = match subscription.unwrap_or(Err(Error::Timeout)).map_err(unsent)? {
            Reply::Integer(number) => number.cast_unsigned(),
            _ => return Err(Error::protocol("a subscription is answered by the number of its consumer")),
        };
        let (calls, inbox) = mpsc::channel(options.max_in_flight);
        // No more come than there is credit for.
        let (sender, messages) = mpsc::unbounded_channel();
        let hand = Hand::default();
        let name = queue.settling().queue.clone();
        let settling = Arc::new(Settling::of_consumer(name, calls, options.request_timeout, hand.clone()));
        let feed = Feed {
            wire: Wire::new(link, options.max_in_flight),
            number,
            settling: settling.clone(),
            hand: hand.clone(),
            messages: sender,
            replenish,
            credit: credit.into(),
            stall_timeout: options.stall_timeout(),
        };
        Ok(Live { messages, hand, settling, task: tokio::spawn(feed.run(inbox)) })
    }
}

/// `CONSUME queue CREDIT n`
fn command(queue: &str, credit: u32) -> Frame {
    let mut frame = Frame::with_room(queue.len());
    frame.begin(4).part(b"CONSUME").part(queue.as_bytes()).part(b"CREDIT").number(credit.into());
    frame
}
