//! The lane of plain requests: read all there is, decide all, write once.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;

use super::super::activity::Overdue;
use super::super::connection::{Connection, End};
use super::super::operation::Operation;
use super::super::patience::within;
use super::super::{HttpDoor, text};
use super::request::{MAX_BYTES, Plain, Read, read};
use crate::api::{Batch, Refusal, Transport};

/// The buffers that the connections of one loop share, so that an idle one holds no memory for bytes.
pub struct Buffers {
    input: RefCell<Box<[u8]>>,
    output: RefCell<Vec<u8>>,
}

impl Default for Buffers {
    fn default() -> Buffers {
        Buffers { input: RefCell::new(vec![0; MAX_BYTES].into()), output: RefCell::default() }
    }
}

/// Why a connection left the lane.
pub enum Left {
    /// It is over.
    Closed,
    /// A request began and did not end.
    HeadOverdue,
    /// What it has sent begins with something else than a plain request, or with a part of one.
    Other(Bytes),
}

/// Serves plain requests for as long as there are no others.
pub async fn serve(socket: &mut TcpStream, connection: &Connection) -> io::Result<Left> {
    let mut lane = Lane { socket, connection, held: Vec::new(), unsent: Vec::new() };
    let mut end = pin!(connection.end());
    loop {
        let event = poll_fn(|cx| match lane.poll_turn(cx) {
            Poll::Ready(turn) => Poll::Ready(Event::Turn(turn)),
            Poll::Pending => end.as_mut().poll(cx).map(Event::End),
        });
        match event.await {
            Event::Turn(turn) => {
                let turn = turn?;
                lane.flush().await?;
                match turn {
                    Turn::Again => {}
                    Turn::Closed => return Ok(Left::Closed),
                    Turn::Other => return Ok(Left::Other(lane.held.into())),
                }
            }
            Event::End(End::Overdue(Overdue::Head)) => return Ok(Left::HeadOverdue),
            // What has begun is finished by hyper, which knows how to drain.
            Event::End(End::Shutdown) if !lane.held.is_empty() => return Ok(Left::Other(lane.held.into())),
            Event::End(End::Shutdown | End::Overdue(Overdue::Idle)) => return Ok(Left::Closed),
        }
    }
}

enum Event {
    Turn(io::Result<Turn>),
    End(End),
}

/// What a connection does after a turn.
enum Turn {
    Again,
    Closed,
    Other,
}

struct Lane<'a> {
    socket: &'a mut TcpStream,
    connection: &'a Connection,
    /// The beginning of a request that has not arrived whole.
    held: Vec<u8>,
    /// Answers that the socket did not take at once.
    unsent: Vec<u8>,
}

impl Lane<'_> {
    /// Reads what there is, answers it and starts to write the answers.
    fn poll_turn(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Turn>> {
        let buffers = &self.connection.door.buffers;
        let mut input = buffers.input.borrow_mut();
        let mut arrived = ReadBuf::new(&mut input);
        ready!(Pin::new(&mut *self.socket).poll_read(cx, &mut arrived))?;
        if arrived.filled().is_empty() {
            return Poll::Ready(Ok(Turn::Closed));
        }
        let mut output = buffers.output.borrow_mut();
        output.clear();
        let turn = self.answer(arrived.filled(), &mut output);
        self.send(&output, cx)?;
        Poll::Ready(Ok(turn))
    }

    /// Answers what has arrived after what is held, and holds what is left.
    fn answer(&mut self, arrived: &[u8], output: &mut Vec<u8>) -> Turn {
        let held = std::mem::take(&mut self.held);
        let joined = if held.is_empty() { None } else { Some([&held, arrived].concat()) };
        let bytes = joined.as_deref().unwrap_or(arrived);
        let (consumed, turn) = answer_all(bytes, &self.connection.door, output);
        self.held.extend_from_slice(&bytes[consumed..]);
        let activity = &self.connection.activity;
        if self.held.is_empty() {
            activity.await_request();
        } else if consumed > 0 || held.is_empty() {
            activity.request_began();
        }
        turn
    }

    fn send(&mut self, output: &[u8], cx: &mut Context<'_>) -> io::Result<()> {
        if output.is_empty() {
            return Ok(());
        }
        let sent = match Pin::new(&mut *self.socket).poll_write(cx, output) {
            Poll::Ready(sent) => sent?,
            Poll::Pending => 0,
        };
        self.unsent.extend_from_slice(&output[sent..]);
        Ok(())
    }

    /// Writes what the socket did not take at once. A client that does not read is cut off, not waited for.
    async fn flush(&mut self) -> io::Result<()> {
        if self.unsent.is_empty() {
            return Ok(());
        }
        let unsent = std::mem::take(&mut self.unsent);
        let limit = self.connection.door.patience.request;
        within(limit, self.socket.write_all(&unsent))
            .await
            .unwrap_or_else(|| Err(io::ErrorKind::TimedOut.into()))
    }
}

/// Answers the plain requests at the start of `bytes`, and says how many bytes they were.
fn answer_all(bytes: &[u8], door: &HttpDoor, output: &mut Vec<u8>) -> (usize, Turn) {
    let mut api = door.api.begin(Transport::Http);
    let mut consumed = 0;
    loop {
        match read(&bytes[consumed..], door.max_body_bytes) {
            Read::Whole(request) => {
                consumed += request.len;
                let answered = answer(&request, door, &mut api);
                match answered {
                    Ok(json) => text::ok(&json, &door.date, output),
                    Err(refusal) => text::refusal(&refusal, &door.date, output),
                }
            }
            Read::Partial => return (consumed, Turn::Again),
            Read::Other => return (consumed, Turn::Other),
        }
    }
}

fn answer(request: &Plain<'_>, door: &HttpDoor, api: &mut Batch<'_>) -> Result<Vec<u8>, Refusal> {
    let namespace = door.api.authorize(request.token).and_then(|()| match request.namespace {
        None => Ok(door.api.default_namespace()),
        Some(name) => door.api.namespace(name),
    });
    let namespace = namespace.inspect_err(|_| api.refuse())?;
    Operation { ask: request.ask, namespace }.run(api, door.max_batch, request.body)
}
