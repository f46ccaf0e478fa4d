//! The connection of a consumer: messages come in unasked, credit and answers go out.
//!
//! One task owns it. Whatever leaves at once leaves in one write: acknowledgements, and the credit of the messages
//! that they settle.
//!
//! Invariants: no more messages come than credit was given, or the connection is over; each message in hand gives its
//! credit back exactly once.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, Sleep, sleep};

use super::message::Message;
use super::settle::Settling;
use super::{Receipt, decode};
use crate::Error;
use crate::call::{Call, Caller};
use crate::resp::{Cursor, Frame, Item, command, input};
use crate::wire::{Moved, Wire, receipts};

/// A connection on which nothing was heard for this long is asked for a sign of life. A queue may well be empty for
/// longer than a server keeps silent connections, and one that is gone would never be found out.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// What a consumer and its messages tell the connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hand(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// Messages that are no longer in hand, not yet taken account of.
    returned: AtomicU64,
    /// Credit that was given explicitly, not yet sent.
    granted: AtomicU64,
    draining: AtomicBool,
    changed: Notify,
}

impl Hand {
    /// A message is in hand no more. The connection hears of it by the call that follows.
    pub(super) fn count_back(&self) {
        self.0.returned.fetch_add(1, Ordering::Release);
    }

    /// A message is in hand no more.
    pub(super) fn give_back(&self) {
        self.count_back();
        self.0.changed.notify_one();
    }

    /// So many more messages may come.
    pub(super) fn grant(&self, credit: u32) {
        self.0.granted.fetch_add(credit.into(), Ordering::Release);
        self.0.changed.notify_one();
    }

    /// No more messages are wanted; those in hand are waited for.
    pub(super) fn drain(&self) {
        self.0.draining.store(true, Ordering::Release);
        self.0.changed.notify_one();
    }

    fn is_draining(&self) -> bool {
        self.0.draining.load(Ordering::Acquire)
    }
}

/// Whether messages are still wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Open,
    /// Those in hand are waited for, others given back.
    Draining,
    /// Only what is under way is waited for.
    Closing,
}

/// What one round of the loop has to do.
enum Event {
    Moved(Moved),
    Called,
    /// Credit came back, or the stage may have changed.
    Changed,
    /// Nobody wants messages any more.
    Abandoned,
    Checked,
}

/// The connection of a consumer.
#[derive(Debug)]
pub(super) struct Feed {
    pub(super) wire: Wire,
    /// What the server calls this consumer.
    pub(super) number: u64,
    pub(super) settling: Arc<Settling>,
    pub(super) hand: Hand,
    pub(super) messages: mpsc::UnboundedSender<Message>,
    /// Whether a message in hand that is settled makes room for the next.
    pub(super) replenish: bool,
    /// Messages that may still come.
    pub(super) credit: u64,
    pub(super) stall_timeout: Duration,
}

/// A feed at work.
struct Running {
    feed: Feed,
    stage: Stage,
    /// The credit at the start.
    window: u64,
    /// Credit that came back and is not sent.
    owed: u64,
    in_hand: u64,
    heard_at: Instant,
}

impl Feed {
    /// Serves until the connection breaks, or the consumer is closed or dropped. The error says why it broke.
    pub(super) async fn run(self, mut inbox: mpsc::Receiver<Call>) -> Error {
        let (window, heard_at) = (self.credit, Instant::now());
        let mut running = Running { feed: self, stage: Stage::Open, window, owed: 0, in_hand: 0, heard_at };
        let mut waiting = Vec::new();
        let ended = running.serve(&mut inbox, &mut waiting).await;
        running.feed.wire.fail();
        waiting.into_iter().for_each(|call| call.fail(&Error::Disconnected));
        match ended {
            // The operating system's own words for it say no more.
            Ok(()) | Err(Error::Io(_)) => Error::Disconnected,
            Err(error) => error,
        }
    }
}

impl Running {
    /// An error is the end of the connection.
    async fn serve(
        &mut self,
        inbox: &mut mpsc::Receiver<Call>,
        waiting: &mut Vec<Call>,
    ) -> Result<(), Error> {
        let interval = self.feed.stall_timeout.min(HEARTBEAT);
        let mut check = std::pin::pin!(sleep(interval));
        // Messages may have come right behind the answer to the subscription.
        self.deliver()?;
        loop {
            // What comes while there is output goes out together.
            if self.feed.wire.is_sent() {
                self.feed.wire.accept(waiting);
                self.take_back();
            }
            if self.is_over(inbox, waiting) {
                return Ok(());
            }
            match self.next_event(inbox, waiting, check.as_mut()).await? {
                Event::Moved(Moved::In(0)) => return Err(Error::Disconnected),
                Event::Moved(Moved::In(_)) => {
                    self.heard_at = Instant::now();
                    self.deliver()?;
                }
                Event::Abandoned => self.stage = self.stage_without_reader(),
                Event::Checked => {
                    self.check()?;
                    check.as_mut().reset(Instant::now() + interval);
                }
                Event::Called | Event::Changed | Event::Moved(Moved::Out) => {}
            }
        }
    }

    /// Waits for whichever comes first. Each branch loses nothing when another one wins.
    async fn next_event(
        &mut self,
        inbox: &mut mpsc::Receiver<Call>,
        waiting: &mut Vec<Call>,
        check: Pin<&mut Sleep>,
    ) -> std::io::Result<Event> {
        let wire = &mut self.feed.wire;
        let room = wire.room();
        let is_sent = wire.is_sent();
        let may_take = room > 0 && is_sent && waiting.is_empty();
        tokio::select! {
            biased;
            // Answers before messages: they make room.
            Some(_) = some(inbox.recv_many(waiting, room)), if may_take => Ok(Event::Called),
            moved = wire.exchange() => moved.map(Event::Moved),
            () = self.feed.hand.0.changed.notified(), if is_sent => Ok(Event::Changed),
            () = self.feed.messages.closed(), if self.stage == Stage::Open => Ok(Event::Abandoned),
            () = check => Ok(Event::Checked),
        }
    }

    fn stage_without_reader(&self) -> Stage {
        if self.feed.hand.is_draining() { Stage::Draining } else { Stage::Closing }
    }

    fn is_over(&self, inbox: &mpsc::Receiver<Call>, waiting: &[Call]) -> bool {
        let wire = &self.feed.wire;
        let is_quiet = wire.is_sent() && wire.is_answered() && waiting.is_empty() && inbox.is_empty();
        match self.stage {
            Stage::Open => false,
            Stage::Draining => is_quiet && self.in_hand == 0,
            Stage::Closing => is_quiet,
        }
    }

    /// Takes account of messages that are no longer in hand, and passes credit on.
    ///
    /// What comes back is kept while the server could still send half of all: a queue that flows then costs one
    /// command for many messages. Once most are in hand, every credit goes back at once.
    fn take_back(&mut self) {
        let shared = &self.feed.hand.0;
        let returned = shared.returned.swap(0, Ordering::AcqRel);
        let granted = shared.granted.swap(0, Ordering::AcqRel);
        self.in_hand = self.in_hand.saturating_sub(returned);
        self.owed += granted + if self.feed.replenish { returned } else { 0 };
        let is_short = granted > 0 || self.feed.credit <= self.window / 2;
        if self.owed > 0 && is_short && self.stage == Stage::Open && !self.feed.hand.is_draining() {
            let credit = std::mem::take(&mut self.owed);
            self.feed.credit += credit;
            let mut frame = Frame::with_room(0);
            frame.begin(3).part(b"CREDIT").number(self.feed.number).number(credit);
            self.feed.wire.send(frame, Caller::Connection);
        }
    }

    /// Hands out what has come in whole.
    fn deliver(&mut self) -> Result<(), Error> {
        while let Some(length) = self.feed.wire.whole()? {
            if self.feed.wire.input.first(length).starts_with(b">") {
                let push = self.feed.wire.input.take_first(length);
                self.push(&push)?;
            } else {
                self.feed.wire.answer(length)?;
            }
        }
        Ok(())
    }

    /// `["message", consumer, message]`, or `["ended", consumer, why]`. Other pushes are not for us.
    fn push(&mut self, push: &Bytes) -> Result<(), Error> {
        let mut cursor = Cursor::over(push);
        match (cursor.item(), cursor.item(), cursor.item()) {
            (Ok(Item::Push(3)), Ok(Item::Bulk(b"message")), Ok(Item::Integer(_))) => {}
            (Ok(Item::Push(3)), Ok(Item::Bulk(b"ended")), Ok(Item::Integer(_))) => {
                let why = cursor.item().map_err(input::malformed)?;
                return Err(match why {
                    Item::Bulk(why) => Error::refused(&String::from_utf8_lossy(why)),
                    _ => Error::protocol("the end of a subscription says why"),
                });
            }
            _ => return Ok(()),
        }
        let left = self.feed.credit.checked_sub(1);
        self.feed.credit = left.ok_or(Error::protocol("more messages than credit was given"))?;
        let message = decode::message(push, &mut cursor, &self.feed.settling).map_err(input::malformed)?;
        self.in_hand += 1;
        match self.stage {
            Stage::Open => {
                // Nobody there: dropped, it gives its credit back, and the connection is about to end.
                self.feed.messages.send(message).ok();
            }
            Stage::Draining => self.release(message.receipt),
            // Given back with the connection.
            Stage::Closing => {}
        }
        Ok(())
    }

    fn release(&mut self, receipt: Receipt) {
        let frame = receipts(b"RELEASE", &self.feed.settling.queue, &[receipt]);
        self.feed.wire.send(frame, Caller::Nobody);
    }

    /// Gives up a connection that has stalled, and asks a silent one for a sign of life.
    fn check(&mut self) -> Result<(), Error> {
        let wire = &mut self.feed.wire;
        if !wire.is_answered() {
            let stalled = wire.progress_at.elapsed() >= self.feed.stall_timeout;
            return if stalled { Err(Error::Timeout) } else { Ok(()) };
        }
        if self.heard_at.elapsed() >= HEARTBEAT {
            wire.send(command::words(&[b"PING"]), Caller::Nobody);
        }
        Ok(())
    }
}

/// What was taken, or nothing at the end. The inbox does not end before its task: the task itself can call.
async fn some(taken: impl Future<Output = usize>) -> Option<usize> {
    Some(taken.await).filter(|taken| *taken > 0)
}
