//! A connection on which more is to come than its client asks for next: replies that take longer, messages of
//! subscriptions. It reads, writes and waits for those all at once, so that none of the three holds up another: a
//! client that sends a lot before it reads is not waited for by a server that waits for it to read.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::AsyncWrite;

use super::connection::Connection;
use super::deadline::Deadline;
use super::{Next, Protocol};

/// Unsent bytes above which no message is fetched that nobody asked for just now: it stays in the journal.
pub const HIGH_WATER: usize = 256 * 1024;

/// Unsent bytes above which no more replies are fetched and no more requests taken. So there is room for the replies
/// to requests that a client sends while it leaves its messages unread.
pub const MAX_UNSENT: usize = 1024 * 1024;

/// Why a connection leaves this mode.
pub enum Leaving {
    /// Nothing more is to come. This is how it goes on.
    Plain(Next),
    /// The server stops.
    Stop,
}

enum Event {
    Turn(Next),
    Later,
    Late,
    Stop,
}

/// How long the client has left its replies unread.
struct Patience {
    deadline: Deadline,
    runs: bool,
}

impl<P: Protocol> Connection<'_, P> {
    /// Serves while anything may come.
    pub(super) async fn duplex<S: Future>(
        &mut self,
        mut next: Next,
        mut stopped: Pin<&mut S>,
    ) -> io::Result<Leaving> {
        let mut patience = Patience { deadline: Deadline::none(), runs: false };
        while self.protocol.expects() || !self.unsent.is_empty() {
            if next == Next::Close {
                break;
            }
            if next == Next::Continue && self.takes_requests() {
                tokio::task::yield_now().await;
                next = poll_fn(|context| Poll::Ready(self.held_turn(context))).await?;
                continue;
            }
            let event = poll_fn(|context| match self.poll_event(next, &mut patience, context) {
                Poll::Pending => stopped.as_mut().poll(context).map(|_| Ok(Event::Stop)),
                ready => ready,
            });
            match event.await? {
                Event::Turn(turn) => next = turn,
                Event::Later => (),
                Event::Late => next = self.refuse_late(),
                Event::Stop => return Ok(Leaving::Stop),
            }
        }
        self.rest();
        Ok(Leaving::Plain(next))
    }

    fn poll_event(
        &mut self,
        next: Next,
        patience: &mut Patience,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<Event>> {
        self.write_some(patience, context)?;
        if self.unsent.len() < MAX_UNSENT
            && let Poll::Ready(fetched) = self.poll_later(context)
        {
            return Poll::Ready(fetched.map(|()| Event::Later));
        }
        if next == Next::Read
            && self.takes_requests()
            && let Poll::Ready(turn) = self.poll_read_turn(context)
        {
            return Poll::Ready(turn.map(Event::Turn));
        }
        if patience.deadline.poll(context).is_ready() {
            let told = "the client does not read its replies";
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, told)));
        }
        self.deadline.poll(context).map(|()| Ok(Event::Late))
    }

    fn takes_requests(&self) -> bool {
        !self.protocol.is_full(self.bounds.max_pipeline) && self.unsent.len() < MAX_UNSENT
    }

    /// Writes what the socket takes.
    fn write_some(&mut self, patience: &mut Patience, context: &mut Context<'_>) -> io::Result<()> {
        let mut sent = 0;
        while sent < self.unsent.len() {
            match Pin::new(&mut self.stream).poll_write(context, &self.unsent[sent..]) {
                Poll::Ready(Ok(0)) => return Err(io::ErrorKind::WriteZero.into()),
                Poll::Ready(written) => sent += written?,
                Poll::Pending => break,
            }
        }
        match sent == self.unsent.len() {
            // A connection that rests holds no memory for bytes.
            true => self.unsent = Vec::new(),
            false => drop(self.unsent.drain(..sent)),
        }
        match (self.unsent.is_empty(), patience.runs) {
            (true, false) => (),
            (true, true) => {
                patience.deadline.set(0);
                patience.runs = false;
            }
            (false, true) if sent == 0 => (),
            (false, _) => {
                patience.deadline.set(self.bounds.write_timeout_ms);
                patience.runs = true;
            }
        }
        Ok(())
    }

    /// Waits for what is on its way, and writes it, until nothing more is to come.
    pub(super) async fn finish(&mut self) -> io::Result<()> {
        self.protocol.wind_up(&mut self.unsent);
        loop {
            self.flush().await?;
            if !self.protocol.expects() {
                return Ok(());
            }
            self.later().await;
        }
    }

    /// Waits until there is room for further requests.
    pub(super) async fn make_room(&mut self) -> io::Result<()> {
        while self.protocol.is_full(self.bounds.max_pipeline) {
            // Nothing is fetched while too much is unsent.
            self.flush().await?;
            self.later().await;
        }
        Ok(())
    }

    async fn later(&mut self) {
        poll_fn(|context| self.protocol.poll_later(context, &mut self.unsent)).await;
    }
}
