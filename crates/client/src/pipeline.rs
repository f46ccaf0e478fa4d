//! The calls of clients on one connection.
//!
//! One task owns the socket. It takes every call that waits, writes them all at once, and hands each reply to
//! the oldest call without one. Reading never waits for writing, so a server that stops reading until its
//! replies are taken cannot lock up with us.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Sleep, sleep, timeout};

use crate::call::{Call, Inbox};
use crate::link::Link;
use crate::wire::{Moved, Wire};
use crate::{Error, Options};

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
    Moved(Moved),
    Called(usize),
    Checked,
}

/// One connection and the calls on it.
#[derive(Debug)]
pub(crate) struct Pipeline {
    wire: Wire,
    stall_timeout: Duration,
}

impl Pipeline {
    pub(crate) fn new(link: Link, options: &Options) -> Pipeline {
        Pipeline { wire: Wire::new(link, options.max_in_flight), stall_timeout: options.stall_timeout() }
    }

    /// Serves calls until the connection breaks or nobody can call any more. `waiting` are calls taken from the
    /// inbox before, at most `max_in_flight`; those that found no room stay there.
    pub(crate) async fn serve(mut self, inbox: &mut Inbox, waiting: &mut Vec<Call>) -> End {
        let end = self.exchange(inbox, waiting).await.map_or(End::Broken, |()| End::ClientsGone);
        self.wire.fail();
        end
    }

    /// An error is the end of the connection.
    async fn exchange(&mut self, inbox: &mut Inbox, waiting: &mut Vec<Call>) -> Result<(), Error> {
        let mut stall_check = std::pin::pin!(sleep(self.stall_timeout));
        loop {
            self.wire.accept(waiting);
            match self.next_event(inbox, waiting, stall_check.as_mut()).await? {
                Event::Moved(Moved::In(0)) => return Err(Error::Disconnected),
                Event::Called(0) => return self.finish(inbox, waiting).await,
                Event::Moved(Moved::In(_)) => self.deliver()?,
                Event::Checked if self.wire.progress_at.elapsed() >= self.stall_timeout => {
                    return Err(Error::Timeout);
                }
                Event::Checked => stall_check.as_mut().reset(self.wire.progress_at + self.stall_timeout),
                Event::Called(_) | Event::Moved(Moved::Out) => {}
            }
        }
    }

    /// Waits for whichever comes first. Each branch loses nothing when another one wins.
    async fn next_event(
        &mut self,
        inbox: &mut Inbox,
        waiting: &mut Vec<Call>,
        stall_check: Pin<&mut Sleep>,
    ) -> std::io::Result<Event> {
        let room = self.wire.room();
        // Not while there is output: what comes in meanwhile goes out together.
        let may_take = room > 0 && self.wire.is_sent() && waiting.is_empty();
        let is_waiting = !self.wire.is_answered();
        tokio::select! {
            // The connection first: it cannot crowd out the others, since replies only come to what was written.
            biased;
            moved = self.wire.exchange() => moved.map(Event::Moved),
            called = inbox.take(waiting, room), if may_take => Ok(Event::Called(called)),
            () = stall_check, if is_waiting => Ok(Event::Checked),
        }
    }

    /// Nobody can call any more: what the server has to hear all the same is sent, and answered, before the connection
    /// is closed. Closing it with answers unread would be a reset, which may reach the server before what was sent.
    async fn finish(&mut self, inbox: &mut Inbox, waiting: &mut Vec<Call>) -> Result<(), Error> {
        while let Ok(end) = inbox.ends.try_recv() {
            waiting.push(end);
        }
        let patience = self.stall_timeout;
        let last_words = async {
            loop {
                self.wire.accept(waiting);
                if waiting.is_empty() && !self.wire.is_insisting() {
                    return Ok(());
                }
                match self.wire.exchange().await? {
                    Moved::In(0) => return Err(Error::Disconnected),
                    Moved::In(_) => self.deliver()?,
                    Moved::Out => {}
                }
            }
        };
        timeout(patience, last_words).await.unwrap_or(Err(Error::Timeout))
    }

    /// Hands out the replies that have come in whole.
    fn deliver(&mut self) -> Result<(), Error> {
        while let Some(length) = self.wire.whole()? {
            if self.wire.input.first(length).starts_with(b">") {
                // Nobody has subscribed to anything here, so it is no reply and for no one.
                self.wire.input.drop_first(length);
            } else {
                self.wire.answer(length)?;
            }
        }
        Ok(())
    }
}
