//! Replies that come later: operations of the Queue door on their way, with the replies that wait behind them.
//!
//! Commands write their replies into one output as ever. One that has no answer yet leaves a mark where its reply
//! belongs. At the end of a turn the output is cut at the first mark: what is before goes out at once, what is behind
//! waits for the outcomes. So a connection that never names a queue pays nothing for this but two looks a turn.

use std::sync::Arc;
use std::task::{Context, Poll};

use crate::api::queue::{Line, Ops, Outcome, Pending};
use crate::api::{Queues, Transport};
use crate::transport::framed::{HIGH_WATER, MAX_UNSENT};

use super::queue::consumers::Consumers;
use super::queue::shape::Shape;
use super::reply::{Reply, Version};

/// Where a reply belongs, and how it is written.
struct Mark {
    at: usize,
    version: Version,
    shape: Shape,
}

/// A submission's replies, and those that wait behind them.
struct Group {
    bytes: Vec<u8>,
    marks: Vec<Mark>,
    payload_bytes: usize,
    /// Whether it is a receive or an acquire that may wait long.
    waits: bool,
}

/// See the module.
#[derive(Default)]
pub struct Later {
    queues: Option<Arc<Queues>>,
    /// What this turn has gathered so far.
    ops: Option<Ops>,
    marks: Vec<Mark>,
    /// In this turn's output, what is behind this is not to go out yet.
    keep: Option<usize>,
    line: Line<Group>,
    outstanding: usize,
    payload_bytes: usize,
    /// Bytes of replies that wait behind others.
    behind_bytes: usize,
    /// Nothing else is to be begun before everything is answered.
    barrier: bool,
    /// The connection is about to end.
    over: bool,
    consumers: Consumers,
}

impl Later {
    /// Whether nothing is on its way, and no reply would have to wait.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.line.is_empty()
    }

    /// Whether something may come: replies, or messages of a subscription.
    #[inline]
    pub fn expects(&self) -> bool {
        !self.line.is_empty() || !self.consumers.is_empty()
    }

    /// Whether this turn has to be finished: see [`finish`](Later::finish).
    #[inline]
    pub fn is_touched(&self) -> bool {
        self.keep.is_some() || !self.marks.is_empty()
    }

    /// Whether no further request is to be begun for now.
    pub fn is_full(&self, max_requests: usize, max_bytes: usize) -> bool {
        self.barrier
            || self.outstanding >= max_requests
            || self.payload_bytes > max_bytes
            || self.behind_bytes > MAX_UNSENT
    }

    /// Requests that are not answered.
    pub fn outstanding(&self) -> usize {
        self.outstanding
    }

    /// Begins a turn while replies are on their way: all of its output waits behind them.
    pub fn begin(&mut self, output_len: usize) {
        self.keep = Some(output_len);
    }

    /// The operations of this turn, to add to.
    pub fn ops(&mut self, queues: &Arc<Queues>) -> &mut Ops {
        if self.queues.is_none() {
            self.queues = Some(queues.clone());
        }
        self.ops.get_or_insert_with(|| queues.ops(Transport::Resp))
    }

    /// The subscriptions of this connection.
    pub fn consumers(&mut self) -> &mut Consumers {
        &mut self.consumers
    }

    /// Notes that a reply of this shape belongs here.
    pub fn mark(&mut self, reply: &Reply<'_>, shape: Shape) {
        self.marks.push(Mark { at: reply.position(), version: reply.version(), shape });
    }

    /// Notes that a reply of this shape belongs here, and that what follows has to wait for it.
    pub fn mark_barrier(&mut self, reply: &Reply<'_>, shape: Shape) {
        self.mark(reply, shape);
        self.barrier = true;
    }

    /// What follows has to wait for what is on its way.
    pub fn bar(&mut self) {
        self.barrier = true;
    }

    /// Submits what this turn has gathered so far; what follows is a submission of its own.
    pub fn cut(&mut self, output: &mut Vec<u8>, waits: bool) {
        let (Some(ops), Some(first)) = (self.ops.take(), self.marks.first()) else { return };
        let keep = *self.keep.get_or_insert(first.at);
        let mut marks = std::mem::take(&mut self.marks);
        marks.iter_mut().for_each(|mark| mark.at -= keep);
        self.outstanding += marks.len();
        self.payload_bytes += ops.bytes();
        let group = Group { bytes: output.split_off(keep), marks, payload_bytes: ops.bytes(), waits };
        self.behind_bytes += group.bytes.len();
        self.line.submit(ops, group);
    }

    /// Notes that a reply of this shape belongs here, once an answer has come that the engine does not send.
    pub fn expect(&mut self, queues: &Arc<Queues>, answer: Pending, shape: Shape, reply: &mut Reply<'_>) {
        self.cut(reply.output(), false);
        if self.queues.is_none() {
            self.queues = Some(queues.clone());
        }
        let (at, version) = (reply.position(), reply.version());
        let keep = *self.keep.get_or_insert(at);
        let waits = shape.waits();
        let marks = vec![Mark { at: at - keep, version, shape }];
        let group = Group { bytes: reply.output().split_off(keep), marks, payload_bytes: 0, waits };
        self.outstanding += 1;
        self.behind_bytes += group.bytes.len();
        self.line.expect(answer, group);
    }

    /// Ends a turn: submits what it has gathered, and takes what has to wait out of its output.
    #[cold]
    pub fn finish(&mut self, output: &mut Vec<u8>) {
        self.cut(output, false);
        if let Some(keep) = self.keep.take() {
            self.append(&output.split_off(keep));
        }
    }

    /// Bytes that go out behind all replies that are on their way.
    pub fn append(&mut self, bytes: &[u8]) {
        if let Some(last) = self.line.last_mut() {
            last.bytes.extend_from_slice(bytes);
            self.behind_bytes += bytes.len();
        }
    }

    /// Writes replies whose outcomes have come, in order, and messages of subscriptions. Ready if it wrote anything.
    pub fn poll(&mut self, context: &mut Context<'_>, version: Version, output: &mut Vec<u8>) -> Poll<()> {
        let before = output.len();
        while output.len() < MAX_UNSENT {
            self.drop_waiting(output);
            let Poll::Ready(Some((outcomes, group))) = self.line.poll_next(context) else { break };
            self.write(group, outcomes, output);
        }
        // A subscription whose number has not been told has no messages yet.
        if output.len() < HIGH_WATER && !self.barrier {
            self.consumers.poll(context, &mut Reply::new(output, version));
        }
        match output.len() > before {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }

    fn write(&mut self, group: Group, outcomes: Vec<Outcome>, output: &mut Vec<u8>) {
        let Group { bytes, marks, payload_bytes, .. } = group;
        self.outstanding -= marks.len();
        self.payload_bytes -= payload_bytes;
        self.behind_bytes -= bytes.len();
        if self.line.is_empty() {
            self.barrier = false;
        }
        let mut outcomes = outcomes.into_iter();
        let mut written = 0;
        for Mark { at, version, shape } in marks {
            output.extend_from_slice(&bytes[written..at]);
            written = at;
            let mut reply = Reply::new(output, version);
            shape.write(&mut outcomes, &mut self.consumers, self.queues.as_deref(), &mut reply);
        }
        output.extend_from_slice(&bytes[written..]);
    }

    /// The connection is about to end: its subscriptions do so now, and a receive that waits comes back with nothing.
    pub fn wind_up(&mut self, output: &mut Vec<u8>) {
        self.unsubscribe_all();
        self.over = true;
        self.drop_waiting(output);
    }

    fn drop_waiting(&mut self, output: &mut Vec<u8>) {
        while self.over && self.line.first().is_some_and(|group| group.waits) {
            if let Some(group) = self.line.drop_first() {
                self.write(group, vec![Outcome::Received(Vec::new())], output);
            }
        }
    }

    /// Ends the subscriptions.
    pub fn unsubscribe_all(&mut self) {
        self.consumers.end(self.queues.as_deref());
    }
}

impl Drop for Later {
    fn drop(&mut self) {
        self.unsubscribe_all();
    }
}
