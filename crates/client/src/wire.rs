//! One connection at work: bytes on their way out and in, and who waits for what.
//!
//! Invariants: `in_flight` holds exactly the callers whose bytes have been put in `output` and who wait for replies,
//! oldest first; a call is put in `output` at most once in its life.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::{Buf, BytesMut};
use tokio::io::AsyncWriteExt;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::Instant;

use crate::Error;
use crate::call::{AckCaller, Call, Caller};
use crate::link::Link;
use crate::queue::{Receipt, ReceiptText};
use crate::resp::{Frame, Input};

/// A frame of at least this size becomes the output instead of being copied into it.
const LARGE_FRAME: usize = 8 * 1024;
/// The most acknowledgements in one command.
const ACKS_MAX: usize = 100;

/// A connection and the calls on it.
#[derive(Debug)]
pub(crate) struct Wire {
    reader: OwnedReadHalf,
    writer: OwnedWriteHalf,
    pub(crate) input: Input,
    output: BytesMut,
    in_flight: VecDeque<Caller>,
    /// Replies that are still to come.
    replies_due: usize,
    max_in_flight: usize,
    /// When a reply last came, or the first call in flight was made.
    pub(crate) progress_at: Instant,
}

/// What has happened to a connection.
#[derive(Debug)]
pub(crate) enum Moved {
    /// So many bytes came in; 0 is the end.
    In(usize),
    /// Some bytes went out.
    Out,
}

impl Wire {
    pub(crate) fn new(link: Link, max_in_flight: usize) -> Wire {
        let (reader, writer) = link.socket.into_split();
        Wire {
            reader,
            writer,
            input: link.input,
            output: BytesMut::new(),
            in_flight: VecDeque::new(),
            replies_due: 0,
            max_in_flight,
            progress_at: Instant::now(),
        }
    }

    /// How many more replies may be due.
    pub(crate) fn room(&self) -> usize {
        self.max_in_flight.saturating_sub(self.replies_due)
    }

    /// Whether all that was to be sent is sent.
    pub(crate) fn is_sent(&self) -> bool {
        self.output.is_empty()
    }

    /// Whether all calls have been answered.
    pub(crate) fn is_answered(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// Whether something is unanswered that the server has to hear of.
    pub(crate) fn is_insisting(&self) -> bool {
        self.in_flight.iter().any(Caller::is_insisted)
    }

    /// Reads or writes, whichever can be done first. Nothing is lost when this is dropped half way.
    pub(crate) async fn exchange(&mut self) -> std::io::Result<Moved> {
        tokio::select! {
            // Reading first: a connection that the server has closed is found out before another call is put on it.
            biased;
            read = self.input.read(&mut self.reader) => read.map(Moved::In),
            written = self.writer.write_buf(&mut self.output), if self.output.has_remaining() => {
                written.map(|_| Moved::Out)
            }
        }
    }

    /// Puts calls in line for the wire, as many as there is room for. The others stay in `waiting`.
    pub(crate) fn accept(&mut self, waiting: &mut Vec<Call>) {
        if waiting.is_empty() {
            return;
        }
        let mut acks = Acks::default();
        let fitting = self.fitting(waiting);
        for call in waiting.drain(..fitting) {
            // Nobody would hear the answer, and the call has not been counted: better not to send it.
            if call.is_given_up() {
                continue;
            }
            match call {
                Call::Ack { queue, receipt, caller } => {
                    if !acks.takes(&queue) {
                        acks.send(self);
                    }
                    acks.push(queue, receipt, caller);
                }
                Call::Commands { frame, caller } => {
                    acks.send(self);
                    self.send(frame, caller);
                }
            }
        }
        acks.send(self);
    }

    /// How many of these calls may go on the wire now. A batch above the bound goes alone.
    fn fitting(&self, waiting: &[Call]) -> usize {
        let mut due = self.replies_due;
        let fits = |call: &&Call| {
            let alone = due == 0;
            due += call.replies();
            alone || due <= self.max_in_flight
        };
        waiting.iter().take_while(fits).count()
    }

    /// Puts one call in line.
    pub(crate) fn send(&mut self, frame: Frame, caller: Caller) {
        if self.in_flight.is_empty() {
            self.progress_at = Instant::now();
        }
        self.replies_due += caller.replies();
        self.in_flight.push_back(caller);
        if self.output.is_empty() && frame.bytes.len() >= LARGE_FRAME {
            self.output = frame.bytes;
        } else {
            self.output.extend_from_slice(&frame.bytes);
        }
    }

    /// The length of the first reply, if it is there whole. Bytes that are no reply are told to whoever has waited
    /// longest: whose replies the rest would be cannot be known.
    pub(crate) fn whole(&mut self) -> Result<Option<usize>, Error> {
        self.input.whole().inspect_err(|error| {
            if let Some(caller) = self.in_flight.pop_front() {
                caller.fail(error);
            }
        })
    }

    /// Hands the first reply, which has this length, to whoever has waited longest. After an error the connection is
    /// of no more use.
    pub(crate) fn answer(&mut self, length: usize) -> Result<(), Error> {
        let caller = self.in_flight.pop_front().ok_or(Error::protocol("a reply that nobody asked for"))?;
        self.progress_at = Instant::now();
        self.replies_due -= 1;
        let waits = caller.answer(self.input.first(length))?;
        self.input.drop_first(length);
        if let Some(caller) = waits {
            self.in_flight.push_front(caller);
        }
        Ok(())
    }

    /// Tells everybody in line that no answer will come.
    pub(crate) fn fail(self) {
        self.in_flight.into_iter().for_each(|caller| caller.fail(&Error::Disconnected));
    }
}

/// Acknowledgements for one queue that become one command.
#[derive(Debug, Default)]
struct Acks {
    queue: Option<Arc<str>>,
    receipts: Vec<Receipt>,
    callers: Vec<AckCaller>,
}

impl Acks {
    fn takes(&self, queue: &Arc<str>) -> bool {
        self.callers.len() < ACKS_MAX && self.queue.as_ref().is_none_or(|own| own == queue)
    }

    fn push(&mut self, queue: Arc<str>, receipt: Receipt, caller: AckCaller) {
        self.queue = Some(queue);
        self.receipts.push(receipt);
        self.callers.push(caller);
    }

    fn send(&mut self, wire: &mut Wire) {
        let Some(queue) = self.queue.take() else { return };
        let frame = receipts(b"ACK", &queue, &self.receipts);
        self.receipts.clear();
        wire.send(frame, Caller::Acks(std::mem::take(&mut self.callers)));
    }
}

/// A command about receipts: `ACK queue receipt [receipt ...]`, and `RELEASE` likewise.
pub(crate) fn receipts(name: &[u8], queue: &str, receipts: &[Receipt]) -> Frame {
    const ROOM_EACH: usize = 32;
    let mut frame = Frame::with_room(queue.len() + receipts.len() * ROOM_EACH);
    frame.begin(2 + receipts.len()).part(name).part(queue.as_bytes());
    for receipt in receipts {
        frame.part(ReceiptText::new(*receipt).as_bytes());
    }
    frame
}
