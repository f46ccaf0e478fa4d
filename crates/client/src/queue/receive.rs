//! Receiving: one connection for each receive that waits, kept for the next one. An acquire that waits uses them too.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::io::AsyncWriteExt;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use super::new_message::millis;
use super::{Message, Queue, decode};
use crate::Error;
use crate::link::{Link, MESSAGES_READ, Target};
use crate::redial::unsent;
use crate::resp::{Cursor, Frame, Item, input};

/// Receives of one client at once; any more wait for their turn.
const POLLS_MAX: usize = 256;
/// Connections that are kept for the next receive.
const IDLE_MAX: usize = 16;
/// The longest wait: a day. The server has a bound of its own.
const WAIT_MAX: Duration = Duration::from_secs(86_400);

/// The connections of one client for who waits for messages.
#[derive(Debug)]
pub(crate) struct Polls {
    pub(super) target: Target,
    turns: Semaphore,
    idle: Mutex<Vec<Link>>,
}

impl Polls {
    pub(crate) fn new(target: Target) -> Polls {
        Polls { target, turns: Semaphore::new(POLLS_MAX), idle: Mutex::default() }
    }

    /// Sends one command and takes its whole reply. If this is dropped, so is the connection, and the server gives
    /// what it would have sent to others.
    async fn ask(&self, command: &Frame) -> Result<Bytes, Error> {
        let _turn = self.turn().await?;
        if let Some(link) = self.idle_link() {
            match self.ask_on(link, command).await {
                // It was closed while it was idle. What a receive was given on a connection that breaks is given
                // back, so it can be sent again.
                Err(Error::Disconnected | Error::Io(_)) => {}
                answer => return answer,
            }
        }
        let link = Link::open(&self.target, MESSAGES_READ).await.map_err(unsent)?;
        self.ask_on(link, command).await.map_err(|error| match error {
            Error::Io(_) => Error::Disconnected,
            error => error,
        })
    }

    async fn ask_on(&self, mut link: Link, command: &Frame) -> Result<Bytes, Error> {
        link.socket.write_all(&command.bytes).await?;
        let length = loop {
            match link.input.whole()? {
                Some(length) => break length,
                None => link.read().await?,
            }
        };
        let reply = link.input.take_first(length);
        self.keep(link);
        Ok(reply)
    }

    /// The turn of one that waits. It is over when this is dropped.
    pub(crate) async fn turn(&self) -> Result<SemaphorePermit<'_>, Error> {
        self.turns.acquire().await.map_err(|_| Error::Disconnected)
    }

    /// A connection to wait on.
    pub(crate) async fn link(&self) -> Result<Link, Error> {
        match self.idle_link() {
            Some(link) => Ok(link),
            None => Link::open(&self.target, MESSAGES_READ).await.map_err(unsent),
        }
    }

    /// Keeps a connection for the next one that waits.
    pub(crate) fn keep(&self, link: Link) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE_MAX {
            idle.push(link);
        }
    }

    /// The connection that was used last, if there is one. Who has spoken unasked, or closed, is of no use.
    fn idle_link(&self) -> Option<Link> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let link = idle.pop()?;
            let silent = link.socket.try_read(&mut [0]);
            if silent.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock) {
                return Some(link);
            }
        }
    }
}

/// Takes at most `max` messages of `queue`, waiting up to `wait` for the first.
pub(super) async fn receive(queue: &Queue, max: u32, wait: Duration) -> Result<Vec<Message>, Error> {
    let polls = queue.client().polls();
    let wait = wait.min(WAIT_MAX);
    let command = command(queue.name(), max, wait);
    let patience = wait + polls.target.options.request_timeout;
    let reply = timeout(patience, polls.ask(&command)).await.unwrap_or(Err(Error::Timeout))?;
    messages(queue, &reply)
}

/// `RECEIVE queue COUNT n WAIT ms`
fn command(queue: &str, max: u32, wait: Duration) -> Frame {
    let mut frame = Frame::with_room(queue.len());
    frame.begin(6).part(b"RECEIVE").part(queue.as_bytes());
    frame.part(b"COUNT").number(max.into()).part(b"WAIT").number(millis(wait));
    frame
}

fn messages(queue: &Queue, reply: &Bytes) -> Result<Vec<Message>, Error> {
    let mut cursor = Cursor::over(reply);
    match cursor.item().map_err(input::malformed)? {
        Item::Array(len) => (0..len)
            .map(|_| decode::message(reply, &mut cursor, queue.settling()).map_err(input::malformed))
            .collect(),
        Item::Error(text) => Err(Error::refused(&String::from_utf8_lossy(text))),
        _ => Err(Error::protocol("a receive is answered by an array of messages")),
    }
}
