//! The calls on one connection.
//!
//! One task owns the socket. It takes every call that waits, writes them all at once, and hands each reply to
//! the oldest call without one. Reading never waits for writing, so a server that stops reading until its
//! replies are taken cannot lock up with us.
//!
//! Invariants: `in_flight` holds exactly the calls whose bytes have been put in `output` and whose reply has not
//! been read, oldest first, at most `max_in_flight`; a call is put in `output` at most once in its life.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, Sleep, sleep};

use crate::link::Link;
use crate::reply::{self, Reply};
use crate::{Error, Options};

/// Room for this many bytes is made before each read: a few hundred replies.
const READ_SIZE: usize = 16 * 1024;

/// One call: the bytes to send, and who waits for the reply.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) frame: Vec<u8>,
    pub(crate) caller: Caller,
}

/// Who waits for a reply.
#[derive(Debug)]
pub(crate) struct Caller(oneshot::Sender<Result<Reply, Error>>);

impl Call {
    /// A call, and where its answer will come.
    pub(crate) fn new(frame: Vec<u8>) -> (Call, oneshot::Receiver<Result<Reply, Error>>) {
        let (sender, answer) = oneshot::channel();
        (Call { frame, caller: Caller(sender) }, answer)
    }
}

impl Caller {
    pub(crate) fn answer(self, answer: Result<Reply, Error>) {
        // A caller that has given up is not there to be told.
        self.0.send(answer).ok();
    }

    fn has_given_up(&self) -> bool {
        self.0.is_closed()
    }
}

/// Why a pipeline is over.
#[derive(Debug)]
pub(crate) enum End {
    /// Every client was dropped: nobody can call any more.
    ClientsGone,
    /// The connection is of no more use. The calls that were on it have been told.
    Broken,
}

/// What one round of the loop has to do.
enum Event {
    Read(usize),
    Written,
    Called(usize),
    Checked,
}

/// One connection and the calls on it.
#[derive(Debug)]
pub(crate) struct Pipeline {
    reader: OwnedReadHalf,
    writer: OwnedWriteHalf,
    input: BytesMut,
    output: BytesMut,
    in_flight: VecDeque<Caller>,
    max_in_flight: usize,
    /// When a reply last came, or the first call in flight was made.
    progress_at: Instant,
    stall_timeout: Duration,
}

impl Pipeline {
    pub(crate) fn new(link: Link, options: &Options) -> Pipeline {
        let (reader, writer) = link.socket.into_split();
        Pipeline {
            reader,
            writer,
            input: link.input,
            output: BytesMut::new(),
            in_flight: VecDeque::new(),
            max_in_flight: options.max_in_flight,
            progress_at: Instant::now(),
            // Twice, so that a caller hears of its own time-out and not of the connection that we then drop.
            stall_timeout: options.request_timeout * 2,
        }
    }

    /// Serves calls until the connection breaks or nobody can call any more. `waiting` are calls taken from the
    /// inbox before, at most `max_in_flight`; it is left empty.
    pub(crate) async fn serve(mut self, inbox: &mut mpsc::Receiver<Call>, waiting: &mut Vec<Call>) -> End {
        let end = self.exchange(inbox, waiting).await;
        for caller in self.in_flight {
            caller.answer(Err(Error::Disconnected));
        }
        end
    }

    async fn exchange(&mut self, inbox: &mut mpsc::Receiver<Call>, waiting: &mut Vec<Call>) -> End {
        let mut stall_check = std::pin::pin!(sleep(self.stall_timeout));
        loop {
            self.accept(waiting);
            let event = match self.next_event(inbox, waiting, stall_check.as_mut()).await {
                Ok(event) => event,
                Err(_) => return End::Broken,
            };
            match event {
                Event::Read(0) => return End::Broken,
                Event::Called(0) => return End::ClientsGone,
                Event::Read(_) if self.deliver().is_err() => return End::Broken,
                Event::Checked if self.progress_at.elapsed() >= self.stall_timeout => return End::Broken,
                Event::Checked => stall_check.as_mut().reset(self.progress_at + self.stall_timeout),
                Event::Read(_) | Event::Called(_) | Event::Written => {}
            }
        }
    }

    /// Waits for whichever comes first. Each branch loses nothing when another one wins.
    async fn next_event(
        &mut self,
        inbox: &mut mpsc::Receiver<Call>,
        waiting: &mut Vec<Call>,
        stall_check: std::pin::Pin<&mut Sleep>,
    ) -> std::io::Result<Event> {
        let room = self.max_in_flight - self.in_flight.len();
        self.input.reserve(READ_SIZE);
        tokio::select! {
            // Reading first: a connection that the server has closed is found out before another call is put on it.
            // It cannot crowd out the others, since replies only come to what was written.
            biased;
            read = self.reader.read_buf(&mut self.input) => read.map(Event::Read),
            written = self.writer.write_buf(&mut self.output), if self.output.has_remaining() => {
                written.map(|_| Event::Written)
            }
            // Not while there is output: what comes in meanwhile goes out together.
            called = inbox.recv_many(waiting, room), if room > 0 && self.output.is_empty() => {
                Ok(Event::Called(called))
            }
            () = stall_check, if !self.in_flight.is_empty() => Ok(Event::Checked),
        }
    }

    /// Puts calls in line for the wire.
    fn accept(&mut self, waiting: &mut Vec<Call>) {
        if self.in_flight.is_empty() {
            self.progress_at = Instant::now();
        }
        for call in waiting.drain(..) {
            // Nobody would hear the answer, and the call has not been counted: better not to send it.
            if !call.caller.has_given_up() {
                self.output.extend_from_slice(&call.frame);
                self.in_flight.push_back(call.caller);
            }
        }
    }

    /// Hands out the replies that have come in whole.
    fn deliver(&mut self) -> Result<(), Error> {
        while let Some(reply) = reply::decode(&mut self.input).transpose() {
            let caller =
                self.in_flight.pop_front().ok_or(Error::protocol("a reply that nobody asked for"))?;
            self.progress_at = Instant::now();
            match reply {
                Ok(Reply::Error(text)) => caller.answer(Err(Error::refused(&text))),
                Ok(reply) => caller.answer(Ok(reply)),
                Err(error) => {
                    // Whose replies the rest would be cannot be known.
                    caller.answer(Err(error.clone()));
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}
