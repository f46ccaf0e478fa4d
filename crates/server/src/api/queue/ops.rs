//! Operations that a transport has at hand: names looked up, numbers checked, ready to be submitted together.

use std::sync::Arc;

use bytes::Bytes;
use tidegate_core::queue::{ConsumerId, QueueId, Receipt};
use tidegate_engine::definition::Lent;
use tidegate_engine::op::{Cost, WaitingAcquire};
use tidegate_engine::{Admin, Close, Nack, Receive};

use super::admin::{AdminCall, Told};
use super::message::{NewMessage, check_key};
use super::port::{Op, Sink};
use super::prepare::{Open, Prepared, prepare};
use super::queues::Queues;
use super::receipt;
use crate::api::ledger::acquire::spent;
use crate::api::metrics::QueueOperation;
use crate::api::namespace::NamespaceName;
use crate::api::{Refusal, Transport};

/// The most credit that one call may give.
const MAX_CREDIT: i64 = 1_000_000;
/// What is kept of the words of a nack.
const MAX_ERROR_BYTES: usize = 4 * 1024;
/// The longest time that a call may name, in milliseconds: ten years.
const MAX_MS: i64 = 10 * 366 * 24 * 3600 * 1000;

/// Operations on their way to the engine. One that is refused here is not among them; the others stay.
pub struct Ops {
    pub(super) queues: Arc<Queues>,
    pub(super) transport: Transport,
    pub(super) ops: Vec<Op>,
    /// Messages that a hook has a say in, by their place.
    pub(super) open: Vec<(usize, Open)>,
    /// Bytes of payloads.
    bytes: usize,
    /// The queue that was named last: most calls name the same one again.
    last: Option<Lent>,
    /// How often each operation was asked for, to be counted once.
    asked: [u64; QueueOperation::ALL.len()],
}

/// A nack, in the caller's numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct NackCall<'a> {
    /// When to try again.
    pub delay_ms: Option<i64>,
    /// What went wrong.
    pub error: Option<&'a [u8]>,
    /// A throttle key to leave alone, and for how many milliseconds.
    pub close: Option<(&'a [u8], i64)>,
    /// The real cost of the attempt; as taken if it says nothing.
    pub cost: Option<CostCall<'a>>,
}

/// The real cost of a message, in the caller's numbers.
pub type CostCall<'a> = &'a [(&'a [u8], i64)];

impl Ops {
    /// Refuses more at once than are allowed.
    pub fn check_batch(&self, len: usize) -> Result<(), Refusal> {
        self.queues.check_batch(len)
    }

    pub(super) fn new(queues: Arc<Queues>, transport: Transport) -> Ops {
        let (ops, open, asked) = (Vec::new(), Vec::new(), [0; QueueOperation::ALL.len()]);
        Ops { queues, transport, ops, open, bytes: 0, last: None, asked }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// Bytes of payloads that they hold.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Puts a message into a queue. Answered with `Enqueued`.
    pub fn enqueue(
        &mut self,
        namespace: &NamespaceName,
        queue: &[u8],
        message: NewMessage<'_>,
    ) -> Result<(), Refusal> {
        let prepared = self
            .queue(namespace, queue)
            .cloned()
            .and_then(|queue| prepare(queue, message, self.queues.bounds()));
        let Prepared { enqueue, open } = self.count(QueueOperation::Enqueue, prepared)?;
        self.open.extend(open.map(|open| (self.ops.len(), open)));
        self.bytes += enqueue.payload.len();
        self.ops.push(Op::Enqueue(enqueue));
        Ok(())
    }

    /// Waits for messages; `max` is 1 and `wait_ms` 0 if unsaid. Answered with `Received`.
    pub fn receive(
        &mut self,
        namespace: &NamespaceName,
        queue: &[u8],
        max: Option<i64>,
        wait_ms: Option<i64>,
    ) -> Result<(), Refusal> {
        let receive = self.queue(namespace, queue).map(|queue| queue.id).and_then(|queue| {
            let bounds = self.queues.bounds();
            let max = within("the number of messages", max.unwrap_or(1), 1, i64::MAX)?;
            let wait_ms = within("the time to wait", wait_ms.unwrap_or(0), 0, i64::MAX)?;
            // Fewer messages than asked for, or an empty answer early, are nothing unusual.
            let max = u32::try_from(max).map_or(bounds.max_receive, |max| max.min(bounds.max_receive));
            Ok(Receive { queue, max, wait_ms: wait_ms.min(bounds.max_wait_ms) })
        });
        let receive = self.count(QueueOperation::Receive, receive)?;
        self.ops.push(Op::Receive(receive));
        Ok(())
    }

    /// Delivers to `sink` as long as there is credit. Answered with `Subscribed`.
    pub fn subscribe(
        &mut self,
        namespace: &NamespaceName,
        queue: &[u8],
        credit: i64,
        sink: Sink,
    ) -> Result<(), Refusal> {
        let subscription =
            self.queue(namespace, queue).and_then(|queue| Ok((queue.id, check_credit(credit, 0)?)));
        let (queue, credit) = self.count(QueueOperation::Consume, subscription)?;
        self.ops.push(Op::Subscribe { queue, credit, sink });
        Ok(())
    }

    /// Lets a subscription have more messages. Answered with `Done`.
    pub fn credit(&mut self, consumer: ConsumerId, credit: i64) -> Result<(), Refusal> {
        let credit = self.count(QueueOperation::Consume, check_credit(credit, 1))?;
        self.ops.push(Op::Credit { consumer, credit });
        Ok(())
    }

    /// Ends a subscription. Answered with `Done`.
    pub fn unsubscribe(&mut self, consumer: ConsumerId) {
        self.ops.push(Op::Unsubscribe { consumer });
    }

    /// The message is done with, at this cost if it says one. Answered with `Done`.
    pub fn ack(
        &mut self,
        namespace: &NamespaceName,
        queue: &[u8],
        text: &[u8],
        cost: CostCall<'_>,
    ) -> Result<(), Refusal> {
        let named = self.named(namespace, queue, text).and_then(|named| Ok((named, real_cost(cost)?)));
        let ((queue, receipt), cost) = self.count(QueueOperation::Ack, named)?;
        Op::ack(&mut self.ops, queue, receipt, cost);
        Ok(())
    }

    /// The attempt has failed. Answered with `Done`.
    pub fn nack(
        &mut self,
        namespace: &NamespaceName,
        queue: &[u8],
        text: &[u8],
        call: NackCall<'_>,
    ) -> Result<(), Refusal> {
        let named = self.named(namespace, queue, text).and_then(|named| Ok((named, nack(call)?)));
        let ((queue, receipt), nack) = self.count(QueueOperation::Nack, named)?;
        self.ops.push(Op::Nack { queue, receipt, nack });
        Ok(())
    }

    /// The message needs longer, from now on. Answered with `Done`.
    pub fn extend(
        &mut self,
        namespace: &NamespaceName,
        queue: &[u8],
        text: &[u8],
        visibility_ms: i64,
    ) -> Result<(), Refusal> {
        let named = self
            .named(namespace, queue, text)
            .and_then(|named| Ok((named, within("the visibility timeout", visibility_ms, 1, MAX_MS)?)));
        let ((queue, receipt), visibility_ms) = self.count(QueueOperation::Extend, named)?;
        self.ops.push(Op::Extend { queue, receipt, visibility_ms });
        Ok(())
    }

    /// Gives the message back: no attempt. Answered with `Done`.
    pub fn release(&mut self, namespace: &NamespaceName, queue: &[u8], text: &[u8]) -> Result<(), Refusal> {
        let named = self.named(namespace, queue, text);
        let (queue, receipt) = self.count(QueueOperation::Release, named)?;
        self.ops.push(Op::Release { queue, receipt });
        Ok(())
    }

    /// Stands in line for an acquire. Answered with `Acquired`.
    pub fn acquire(&mut self, waiting: Box<WaitingAcquire>) {
        self.ops.push(Op::Acquire(waiting));
    }

    /// An administrative call. What comes back tells of its outcome.
    pub fn admin(&mut self, namespace: &NamespaceName, call: AdminCall) -> Result<Told, Refusal> {
        let AdminCall { task, mut told } = call;
        let checked = self.queues.hooks().check(&task);
        self.count(QueueOperation::Admin, checked)?;
        if let Told::Deleted { name, id } = &mut told {
            *id = self.queue(namespace, name.as_bytes()).ok().map(|queue| queue.id);
        }
        self.ops.push(Op::Admin(Admin { namespace: namespace.shared(), task }));
        Ok(told)
    }

    fn queue(&mut self, namespace: &NamespaceName, name: &[u8]) -> Result<&Lent, Refusal> {
        let same =
            |queue: &Lent| queue.name().as_bytes() == name && queue.kept.namespace == namespace.as_str();
        let queue = match self.last.take() {
            Some(queue) if same(&queue) => queue,
            _ => self.queues.queue(namespace, name)?.into(),
        };
        Ok(self.last.insert(queue))
    }

    fn named(
        &mut self,
        namespace: &NamespaceName,
        queue: &[u8],
        text: &[u8],
    ) -> Result<(QueueId, Receipt), Refusal> {
        Ok((self.queue(namespace, queue)?.id, receipt::parse(text)?))
    }

    fn count<T>(&mut self, operation: QueueOperation, result: Result<T, Refusal>) -> Result<T, Refusal> {
        self.asked[operation as usize] += 1;
        result.inspect_err(|refusal| self.queues.metrics().refused(self.transport, refusal.code()))
    }
}

impl Drop for Ops {
    fn drop(&mut self) {
        self.queues.metrics().asked(self.transport, &self.asked);
    }
}

fn real_cost(cost: CostCall<'_>) -> Result<Cost, Refusal> {
    let spent = cost.iter().map(|(limit, amount)| {
        let (limit, amount) = spent(limit, *amount)?;
        Ok((limit.into(), amount))
    });
    spent.collect()
}

fn nack(call: NackCall<'_>) -> Result<Nack, Refusal> {
    let delay_ms = call.delay_ms.map(|delay| within("the delay", delay, 0, MAX_MS)).transpose()?;
    let error = call.error.map(|error| {
        let kept = &error[..error.len().min(MAX_ERROR_BYTES)];
        String::from_utf8_lossy(kept).into_owned().into_boxed_str()
    });
    let close = call.close.map(|(key, retry_after_ms)| close(key, retry_after_ms)).transpose()?;
    let cost = real_cost(call.cost.unwrap_or_default())?;
    Ok(Nack { delay_ms, error, close, cost })
}

/// A throttle key to leave alone.
pub(super) fn close(key: &[u8], retry_after_ms: i64) -> Result<Close, Refusal> {
    check_key(key)?;
    let retry_after_ms = within("retry_after_ms", retry_after_ms, 0, MAX_MS)?;
    Ok(Close { key: Bytes::copy_from_slice(key), retry_after_ms })
}

fn check_credit(credit: i64, least: i64) -> Result<u32, Refusal> {
    within("credit", credit, least, MAX_CREDIT).map(|credit| credit as u32)
}

fn within(what: &str, value: i64, least: i64, most: i64) -> Result<u64, Refusal> {
    match u64::try_from(value) {
        Ok(number) if (least..=most).contains(&value) => Ok(number),
        _ => {
            let message = match most {
                i64::MAX => format!("{what} must be at least {least}, and is {value}"),
                _ => format!("{what} must be from {least} to {most}, and is {value}"),
            };
            Err(Refusal::invalid_request(message, "send a number in that range"))
        }
    }
}
