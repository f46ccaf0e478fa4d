//! The life of one connection.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;

use super::deadline::Deadline;
use super::duplex::{Leaving, MAX_UNSENT};
use super::{Buffers, Input, Next, Progress, Protocol};
use crate::api::Refusal;
use crate::config;

/// Serves a connection until its client closes it, breaks a bound, or the server stops.
pub async fn serve<P: Protocol>(
    stream: TcpStream,
    protocol: P,
    bounds: &config::Framed,
    buffers: &Buffers,
    mut stop: watch::Receiver<bool>,
) -> io::Result<()> {
    let mut deadline = Deadline::none();
    deadline.set(bounds.idle_timeout_ms);
    let (held, unsent) = (Vec::new(), Vec::new());
    let mut connection = Connection { stream, protocol, bounds, buffers, held, unsent, deadline };
    let mut stopped = std::pin::pin!(stop.wait_for(|stop| *stop));
    let mut next = Next::Read;
    loop {
        next = match next {
            Next::Read => {
                let event = poll_fn(|context| match connection.poll_read_turn(context) {
                    Poll::Ready(next) => Poll::Ready(next.map(Event::Turn)),
                    Poll::Pending if connection.deadline.poll(context).is_ready() => {
                        Poll::Ready(Ok(Event::Late))
                    }
                    Poll::Pending => stopped.as_mut().poll(context).map(|_| Ok(Event::Stop)),
                });
                match event.await? {
                    Event::Turn(next) => next,
                    Event::Late => connection.refuse_late(),
                    Event::Stop => return connection.drain().await,
                }
            }
            Next::Continue => {
                tokio::task::yield_now().await;
                poll_fn(|context| Poll::Ready(connection.held_turn(context))).await?
            }
            Next::Close => return connection.close().await,
        };
        if connection.protocol.expects() {
            next = match connection.duplex(next, stopped.as_mut()).await? {
                Leaving::Plain(next) => next,
                Leaving::Stop => return connection.drain().await,
            };
        }
        connection.flush().await?;
    }
}

enum Event {
    Turn(Next),
    Late,
    Stop,
}

pub(super) struct Connection<'a, P> {
    pub(super) stream: TcpStream,
    pub(super) protocol: P,
    pub(super) bounds: &'a config::Framed,
    buffers: &'a Buffers,
    /// The beginning of a request that has not arrived whole, or whole ones that wait for their turn.
    held: Vec<u8>,
    /// Answers that the socket did not take at once.
    pub(super) unsent: Vec<u8>,
    pub(super) deadline: Deadline,
}

impl<P: Protocol> Connection<'_, P> {
    /// Reads what there is, answers it and starts to write the answers.
    pub(super) fn poll_read_turn(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Next>> {
        let mut incoming = self.buffers.incoming.borrow_mut();
        if ready!(incoming.poll_read(&mut self.stream, &self.held, context))? == 0 {
            return Poll::Ready(Ok(Next::Close));
        }
        if !incoming.carries(&self.held) {
            self.held.extend_from_slice(incoming.bytes());
            return Poll::Ready(self.held_turn(context));
        }
        let begun = !self.held.is_empty();
        self.held.clear();
        let progress = incoming.turn(|input| {
            let progress = self.answer(input, context)?;
            self.held.extend_from_slice(&input.bytes()[progress.consumed..]);
            Ok::<_, io::Error>(progress)
        })?;
        Poll::Ready(Ok(self.settle(progress, !begun || progress.consumed > 0)))
    }

    /// The same for bytes that arrived before.
    pub(super) fn held_turn(&mut self, context: &mut Context<'_>) -> io::Result<Next> {
        let mut held = std::mem::take(&mut self.held);
        let progress = self.answer(Input::from(&held[..]), context)?;
        held.drain(..progress.consumed);
        self.held = held;
        Ok(self.settle(progress, progress.consumed > 0))
    }

    /// Decides whole requests and sends their answers, as far as the socket takes them.
    fn answer(&mut self, input: Input<'_>, context: &mut Context<'_>) -> io::Result<Progress> {
        let mut output = self.buffers.output.borrow_mut();
        output.clear();
        let progress = self.protocol.answer(input, self.bounds.max_pipeline, &mut output);
        let sent = self.send(&output, context)?;
        self.unsent.extend_from_slice(&output[sent..]);
        Ok(progress)
    }

    /// Fetches what has come for the client since, and sends it, as far as the socket takes it.
    pub(super) fn poll_later(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.unsent.is_empty() {
            return self.protocol.poll_later(context, &mut self.unsent).map(Ok);
        }
        let mut output = self.buffers.output.borrow_mut();
        output.clear();
        ready!(self.protocol.poll_later(context, &mut output));
        let sent = self.send(&output, context)?;
        self.unsent.extend_from_slice(&output[sent..]);
        output.shrink_to(MAX_UNSENT);
        Poll::Ready(Ok(()))
    }

    fn send(&mut self, bytes: &[u8], context: &mut Context<'_>) -> io::Result<usize> {
        if bytes.is_empty() || !self.unsent.is_empty() {
            return Ok(0);
        }
        match Pin::new(&mut self.stream).poll_write(context, bytes) {
            Poll::Ready(sent) => sent,
            Poll::Pending => Ok(0),
        }
    }

    /// Sets the deadline for what the connection waits for now. `fresh`: what is left over has only begun to
    /// arrive; if not, its time is running already.
    fn settle(&mut self, progress: Progress, fresh: bool) -> Next {
        if progress.next == Next::Read && self.held.is_empty() {
            self.held = Vec::new();
            self.rest();
        } else if progress.next == Next::Read && self.held.len() > self.bounds.max_frame_bytes {
            let option = format!("{}.max_frame_bytes", P::SECTION);
            return self.refuse(&Refusal::body_too_large(self.bounds.max_frame_bytes, &option));
        } else if progress.next == Next::Read && fresh {
            self.deadline.set(self.bounds.handshake_timeout_ms);
        }
        progress.next
    }

    /// Waits for the client, which may take its time: for ever while something is to come to it.
    pub(super) fn rest(&mut self) {
        let patience_ms = if self.protocol.expects() { 0 } else { self.bounds.idle_timeout_ms };
        self.deadline.set(patience_ms);
    }

    fn refuse(&mut self, refusal: &Refusal) -> Next {
        self.protocol.refuse(refusal, &mut self.unsent);
        Next::Close
    }

    pub(super) fn refuse_late(&mut self) -> Next {
        if self.held.is_empty() {
            // Silence is no request, so it gets no answer.
            return Next::Close;
        }
        let option = format!("{}.handshake_timeout_ms", P::SECTION);
        self.refuse(&Refusal::timeout(self.bounds.handshake_timeout_ms, &option))
    }

    /// Writes what the socket did not take at once. A client that does not read is cut off, not waited for.
    pub(super) async fn flush(&mut self) -> io::Result<()> {
        if self.unsent.is_empty() {
            return Ok(());
        }
        let unsent = std::mem::take(&mut self.unsent);
        let limit = Duration::from_millis(self.bounds.write_timeout_ms);
        match timeout(limit, self.stream.write_all(&unsent)).await {
            Ok(written) => written,
            Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read its replies")),
        }
    }

    /// Answers what has arrived before the server was told to stop, and closes.
    async fn drain(mut self) -> io::Result<()> {
        self.protocol.wind_up(&mut self.unsent);
        loop {
            self.make_room().await?;
            let turn = poll_fn(|context| match self.poll_read_turn(context) {
                Poll::Pending => Poll::Ready(Ok(None)),
                Poll::Ready(next) => Poll::Ready(next.map(Some)),
            });
            let mut next = turn.await?;
            while next == Some(Next::Continue) {
                self.flush().await?;
                self.make_room().await?;
                next = Some(poll_fn(|context| Poll::Ready(self.held_turn(context))).await?);
            }
            self.flush().await?;
            if next != Some(Next::Read) {
                return self.close().await;
            }
        }
    }

    async fn close(mut self) -> io::Result<()> {
        if self.protocol.expects() {
            self.finish().await?;
        }
        linger(self.stream).await
    }
}

/// Writes the last words to a connection that is not served, and closes it.
pub async fn say_goodbye(mut stream: TcpStream, words: &[u8]) {
    let goodbye = async {
        stream.write_all(words).await?;
        linger(stream).await
    };
    if let Ok(Err(error)) = timeout(LINGER, goodbye).await {
        tracing::debug!(%error, "a connection was gone before it was turned away");
    }
}

/// How long a closing connection waits for its client to see it.
const LINGER: Duration = Duration::from_millis(500);
const MAX_DISCARDED_READS: usize = 256;

/// Closes so that the last reply is not lost: bytes that a closed socket had not read would reset it.
async fn linger(mut stream: TcpStream) -> io::Result<()> {
    stream.shutdown().await?;
    let mut rest = [0; 4096];
    let discard = async {
        for _ in 0..MAX_DISCARDED_READS {
            if stream.read(&mut rest).await? == 0 {
                break;
            }
        }
        Ok(())
    };
    timeout(LINGER, discard).await.unwrap_or(Ok(()))
}
