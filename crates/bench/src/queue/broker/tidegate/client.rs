//! The same queue through Tidegate's own Rust client, as a program would use it: all connections on one runtime.

use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tidegate_client::{Client, Error, NewMessage, Queue, Receipt};
use tokio::runtime::{Handle, Runtime};
use tokio::task::JoinHandle;

use super::super::body::{Body, stamp_of};
use super::super::link::SILENCE_WITHIN;
use super::super::roles::{Broker, Consumer, Producer, Seat};
use super::admin::Admin;

/// Messages that a follower may have under way.
const CREDIT: u32 = 1000;

/// A queue that exists, by way of the client.
pub struct ClientQueue {
    runtime: Runtime,
    address: SocketAddr,
    name: String,
    body_len: usize,
}

impl ClientQueue {
    /// The queue of that name.
    pub fn open(address: SocketAddr, name: &str, body_len: usize) -> Result<ClientQueue> {
        let runtime = Runtime::new().context("no runtime")?;
        Ok(ClientQueue { runtime, address, name: name.to_string(), body_len })
    }

    fn connect(&self) -> Result<Queue> {
        let connect = Client::options().request_timeout(SILENCE_WITHIN).connect(self.address.to_string());
        let client = self.runtime.block_on(connect).context("cannot connect")?;
        Ok(client.queue(&self.name))
    }
}

impl Broker for ClientQueue {
    fn producer(&self, _seat: Seat) -> Result<Box<dyn Producer>> {
        let (queue, body) = (self.connect()?, Body::new(self.body_len));
        let (done, answers) = channel();
        Ok(Box::new(ClientProducer { runtime: self.runtime.handle().clone(), queue, body, done, answers }))
    }

    fn consumer(&self, _seat: Seat) -> Result<Box<dyn Consumer>> {
        let (runtime, queue) = (self.runtime.handle().clone(), self.connect()?);
        Ok(Box::new(ClientConsumer { runtime, queue, receipts: Vec::new(), acks: Vec::new(), stream: None }))
    }

    fn left(&self) -> Result<u64> {
        Admin::connect(self.address)?.stats(&self.name)?.count("depth")
    }
}

struct ClientProducer {
    runtime: Handle,
    queue: Queue,
    body: Body,
    done: Sender<Result<usize, Error>>,
    answers: Receiver<Result<usize, Error>>,
}

impl Producer for ClientProducer {
    fn send(&mut self, count: usize, stamp: u64) -> Result<()> {
        let (queue, done, body) = (self.queue.clone(), self.done.clone(), self.body.stamped(stamp).to_vec());
        self.runtime.spawn(async move {
            let messages: Vec<NewMessage<'_>> = (0..count).map(|_| NewMessage::new(&body)).collect();
            let results = queue.enqueue_batch(&messages).await;
            let outcome = results.into_iter().try_fold(0, |ids, result| result.map(|_| ids + 1));
            // A producer that is gone has given up before.
            done.send(outcome).ok();
        });
        Ok(())
    }

    fn confirmed(&mut self, within: Duration) -> Result<usize> {
        match self.answers.recv_timeout(within) {
            Ok(outcome) => outcome.context("enqueue"),
            Err(RecvTimeoutError::Timeout) => Ok(0),
            Err(RecvTimeoutError::Disconnected) => bail!("the client is gone"),
        }
    }
}

struct ClientConsumer {
    runtime: Handle,
    queue: Queue,
    /// Received and not acknowledged.
    receipts: Vec<Receipt>,
    /// Acknowledgements of what was followed, under way.
    acks: Vec<JoinHandle<Result<(), Error>>>,
    stream: Option<tidegate_client::Consumer>,
}

impl Consumer for ClientConsumer {
    fn receive(&mut self, want: usize, stamps: &mut Vec<u64>) -> Result<()> {
        while self.receipts.len() < want {
            let max = u32::try_from(want - self.receipts.len())?;
            let messages =
                self.runtime.block_on(self.queue.receive(max, SILENCE_WITHIN / 2)).context("receive")?;
            if messages.is_empty() {
                bail!("{max} messages did not come");
            }
            for message in messages {
                stamps.push(stamp_of(&message.payload)?);
                self.receipts.push(message.receipt);
            }
        }
        Ok(())
    }

    fn ack(&mut self) -> Result<()> {
        let (queue, receipts) = (&self.queue, std::mem::take(&mut self.receipts));
        let acks = std::mem::take(&mut self.acks);
        self.runtime.block_on(async {
            for ack in acks {
                ack.await.context("an acknowledgement was lost")?.context("ack")?;
            }
            let results = if receipts.is_empty() { Vec::new() } else { queue.ack_batch(&receipts).await };
            results.into_iter().try_for_each(|result| result.context("ack"))
        })
    }

    fn follow(&mut self, within: Duration, stamps: &mut Vec<u64>) -> Result<()> {
        let queue = &self.queue;
        let stream = match &mut self.stream {
            Some(stream) => stream,
            none => {
                let stream = self.runtime.block_on(async { queue.consume(CREDIT).await });
                none.insert(stream.context("consume")?)
            }
        };
        let acks = &mut self.acks;
        self.runtime.block_on(async {
            let next = tokio::time::timeout(within, stream.next_batch(CREDIT as usize)).await;
            let Ok(messages) = next else { return Ok(()) };
            for message in messages.context("consume")? {
                stamps.push(stamp_of(&message.payload)?);
                acks.push(tokio::spawn(message.ack()));
            }
            Ok(())
        })
    }
}
