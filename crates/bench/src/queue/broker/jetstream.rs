//! A JetStream work queue on files, over the NATS text protocol: publishes are answered, a durable pull consumer fetches
//! batches, and the last acknowledgement of a batch is confirmed.

use std::fmt;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::body::{Body, stamp_of};
use super::link::{Link, SILENCE_WITHIN, line_len, text};
use super::roles::{Broker, Consumer, Producer, Seat};

const SUBJECT: &str = "bench";
const STREAM: &str = "BENCH";
const GROUP: &str = "workers";
/// Where replies to publishes, requests and acknowledgements arrive, with a number for each connection. A number is used
/// once: what one connection asked for and did not wait for must not come to another.
const INBOX: &str = "_INBOX.bench";
static CONNECTIONS: AtomicU64 = AtomicU64::new(0);
/// Most messages that are followed at once.
const FOLLOWED: usize = 100;

/// A stream.
pub struct JetStream {
    address: SocketAddr,
    body_len: usize,
}

impl JetStream {
    /// Makes the stream and its consumer.
    pub fn create(address: SocketAddr, body_len: usize) -> Result<JetStream> {
        let mut session = Session::open(address)?;
        let stream = serde_json::json!({
            "name": STREAM, "subjects": [SUBJECT], "retention": "workqueue", "storage": "file", "num_replicas": 1,
            "max_consumers": -1, "max_msgs": -1, "max_bytes": -1, "max_age": 0, "discard": "old",
        });
        session.request(&format!("$JS.API.STREAM.CREATE.{STREAM}"), &stream.to_string())?;
        let consumer = serde_json::json!({ "stream_name": STREAM, "config": {
            "durable_name": GROUP, "deliver_policy": "all", "ack_policy": "explicit", "ack_wait": 60_000_000_000_u64,
            "replay_policy": "instant", "max_ack_pending": -1, "max_waiting": 512,
        }});
        let subject = format!("$JS.API.CONSUMER.DURABLE.CREATE.{STREAM}.{GROUP}");
        session.request(&subject, &consumer.to_string())?;
        Ok(JetStream { address, body_len })
    }
}

impl Broker for JetStream {
    fn producer(&self, _seat: Seat) -> Result<Box<dyn Producer>> {
        let session = Session::open(self.address)?;
        Ok(Box::new(StreamProducer { session, body: Body::new(self.body_len), outgoing: Vec::new() }))
    }

    fn consumer(&self, _seat: Seat) -> Result<Box<dyn Consumer>> {
        let session = Session::open(self.address)?;
        Ok(Box::new(StreamConsumer { session, outgoing: Vec::new(), acks: Vec::new(), asked: 0 }))
    }

    fn left(&self) -> Result<u64> {
        let mut session = Session::open(self.address)?;
        let info = session.request(&format!("$JS.API.STREAM.INFO.{STREAM}"), "")?;
        info["state"]["messages"].as_u64().context("no number of messages")
    }
}

/// A connection that is subscribed to an inbox of its own.
struct Session {
    link: Link,
    inbox: String,
}

/// What the server sends that matters here.
#[derive(PartialEq, Eq)]
enum Sent<'a> {
    /// A message, where it wants to be answered, and its data. Headers come only with a status, which is no message.
    Message {
        reply: Option<&'a str>,
        data: &'a [u8],
    },
    /// A status in the place of a message: no messages, or a request that has ended.
    Status(&'a str),
    Ping,
    /// Nothing to act on.
    Other,
}

/// Short, for errors: a body says nothing.
impl fmt::Debug for Sent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sent::Message { reply, data } => {
                write!(f, "a message of {} bytes, reply to {reply:?}", data.len())
            }
            Sent::Status(status) => write!(f, "status {status}"),
            Sent::Ping => f.write_str("a ping"),
            Sent::Other => f.write_str("something else"),
        }
    }
}

impl Session {
    fn open(address: SocketAddr) -> Result<Session> {
        let number = CONNECTIONS.fetch_add(1, Relaxed);
        let mut session = Session { link: Link::connect(address)?, inbox: format!("{INBOX}.{number}") };
        let options = r#"{"verbose":false,"pedantic":false,"headers":true,"no_responders":true}"#;
        let hello = format!("CONNECT {options}\r\nSUB {} 1\r\nPING\r\n", session.inbox);
        session.link.send(hello.as_bytes())?;
        // The reply to the ping is the last of what the server has to say so far.
        let found = session.link.next(SILENCE_WITHIN, |bytes| {
            let pong = bytes.windows(6).position(|window| window == b"PONG\r\n");
            Ok(pong.map(|at| (at + 6, ())))
        })?;
        found.context("no reply")?;
        Ok(session)
    }

    /// Waits for something that is not protocol's own business, and looks at it.
    fn next<T>(
        &mut self,
        within: Duration,
        mut take: impl FnMut(Sent<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        loop {
            let found = self.link.next(within, |bytes| {
                let Some((len, sent)) = parse(bytes)? else { return Ok(None) };
                let taken = match sent {
                    Sent::Ping => Err(true),
                    Sent::Other => Err(false),
                    sent => Ok(take(sent)?),
                };
                Ok(Some((len, taken)))
            })?;
            match found {
                None => return Ok(None),
                Some(Ok(taken)) => return Ok(Some(taken)),
                Some(Err(true)) => self.link.send(b"PONG\r\n")?,
                Some(Err(false)) => {}
            }
        }
    }

    fn request(&mut self, subject: &str, data: &str) -> Result<serde_json::Value> {
        let request = format!("PUB {subject} {} {}\r\n{data}\r\n", self.inbox, data.len());
        self.link.send(request.as_bytes())?;
        let reply = self.next(SILENCE_WITHIN, |sent| match sent {
            Sent::Message { data, .. } => answer(data),
            other => bail!("{subject}: {other:?}"),
        })?;
        reply.with_context(|| format!("{subject}: no reply"))
    }
}

/// An answer of the JetStream API, unless it is a refusal.
fn answer(data: &[u8]) -> Result<serde_json::Value> {
    let answer: serde_json::Value = serde_json::from_slice(data).context("a reply that is not JSON")?;
    match answer.get("error") {
        Some(error) => bail!("refused: {error}"),
        None => Ok(answer),
    }
}

fn parse(bytes: &[u8]) -> Result<Option<(usize, Sent<'_>)>> {
    let Some(len) = line_len(bytes) else { return Ok(None) };
    let line = text(&bytes[..len])?;
    let words: Vec<&str> = line.split(' ').collect();
    let number = |word: &str| word.parse::<usize>().context("not a length");
    match words[..] {
        ["MSG", _, _, data_len] => message(bytes, len, None, number(data_len)?),
        ["MSG", _, _, reply, data_len] => message(bytes, len, Some(reply), number(data_len)?),
        ["HMSG", .., head_len, all_len] => {
            let (head_len, all_len) = (number(head_len)?, number(all_len)?);
            let Some(head) = bytes.get(len..len + all_len + 2).map(|all| &all[..head_len]) else {
                return Ok(None);
            };
            let status = text(&head[..line_len(head).unwrap_or(head_len)])?;
            Ok(Some((len + all_len + 2, Sent::Status(status))))
        }
        ["PING"] => Ok(Some((len, Sent::Ping))),
        ["-ERR", ..] => bail!("refused: {line}"),
        _ => Ok(Some((len, Sent::Other))),
    }
}

fn message<'a>(
    bytes: &'a [u8],
    head: usize,
    reply: Option<&'a str>,
    data_len: usize,
) -> Result<Option<(usize, Sent<'a>)>> {
    let data = bytes.get(head..head + data_len + 2).map(|data| &data[..data_len]);
    Ok(data.map(|data| (head + data_len + 2, Sent::Message { reply, data })))
}

struct StreamProducer {
    session: Session,
    body: Body,
    outgoing: Vec<u8>,
}

impl Producer for StreamProducer {
    fn send(&mut self, count: usize, stamp: u64) -> Result<()> {
        self.outgoing.clear();
        let body = self.body.stamped(stamp);
        for _ in 0..count {
            write!(self.outgoing, "PUB {SUBJECT} {} {}\r\n", self.session.inbox, body.len())
                .context("out of memory")?;
            self.outgoing.extend_from_slice(body);
            self.outgoing.extend_from_slice(b"\r\n");
        }
        self.session.link.send(&self.outgoing)
    }

    fn confirmed(&mut self, within: Duration) -> Result<usize> {
        let (mut confirmed, mut within) = (0, within);
        while self.session.next(within, stored)?.is_some() {
            confirmed += 1;
            within = Duration::ZERO;
        }
        Ok(confirmed)
    }
}

/// Looks for the sequence number, which an error does not have, rather than at all of the JSON.
fn stored(sent: Sent<'_>) -> Result<()> {
    match sent {
        Sent::Message { data, .. } if data.windows(6).any(|window| window == b"\"seq\":") => Ok(()),
        Sent::Message { data, .. } => bail!("publish: {}", String::from_utf8_lossy(data)),
        other => bail!("publish: {other:?}"),
    }
}

struct StreamConsumer {
    session: Session,
    outgoing: Vec<u8>,
    /// Where each message that was received wants to be acknowledged.
    acks: Vec<String>,
    /// Messages that the server was asked for and has not sent yet.
    asked: usize,
}

impl StreamConsumer {
    /// Asks for so many, without an end: they are known to come.
    fn ask(&mut self, batch: usize) -> Result<()> {
        let request = format!(r#"{{"batch":{batch}}}"#);
        let subject = format!("$JS.API.CONSUMER.MSG.NEXT.{STREAM}.{GROUP}");
        write!(self.outgoing, "PUB {subject} {} {}\r\n{request}\r\n", self.session.inbox, request.len())
            .context("out of memory")?;
        self.asked += batch;
        Ok(())
    }

    fn acknowledge(&mut self, confirm: bool) -> Result<()> {
        let count = self.acks.len();
        for (index, ack) in self.acks.drain(..).enumerate() {
            let inbox = if confirm && index + 1 == count { self.session.inbox.as_str() } else { "" };
            write!(self.outgoing, "PUB {ack} {inbox} 4\r\n+ACK\r\n").context("out of memory")?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.session.link.send(&self.outgoing)?;
        self.outgoing.clear();
        Ok(())
    }

    /// Takes the next message, if it comes in time.
    fn take(&mut self, within: Duration, stamps: &mut Vec<u64>) -> Result<bool> {
        let (acks, asked) = (&mut self.acks, &mut self.asked);
        let taken = self.session.next(within, |sent| match sent {
            Sent::Message { reply: Some(reply), data } => {
                acks.push(reply.to_string());
                stamps.push(stamp_of(data)?);
                *asked -= 1;
                Ok(())
            }
            other => bail!("pull: {other:?}"),
        })?;
        Ok(taken.is_some())
    }
}

impl Consumer for StreamConsumer {
    fn receive(&mut self, want: usize, stamps: &mut Vec<u64>) -> Result<()> {
        self.ask(want)?;
        self.flush()?;
        for _ in 0..want {
            if !self.take(SILENCE_WITHIN, stamps)? {
                bail!("{} messages did not come", self.asked);
            }
        }
        Ok(())
    }

    fn ack(&mut self) -> Result<()> {
        self.acknowledge(true)?;
        self.flush()?;
        let confirmed = self.session.next(SILENCE_WITHIN, |sent| match sent {
            Sent::Message { data: [], .. } => Ok(()),
            other => bail!("ack: {other:?}"),
        })?;
        confirmed.context("an acknowledgement was not confirmed")
    }

    fn follow(&mut self, within: Duration, stamps: &mut Vec<u64>) -> Result<()> {
        self.acknowledge(false)?;
        if self.asked < FOLLOWED {
            self.ask(FOLLOWED)?;
        }
        self.flush()?;
        let mut within = within;
        while self.take(within, stamps)? {
            within = Duration::ZERO;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_and_statuses_are_told_apart() {
        let bytes = b"MSG bench 1 $JS.ACK.x 5\r\nhe\nlo\r\nPING\r\n";
        let message = Sent::Message { reply: Some("$JS.ACK.x"), data: b"he\nlo" };
        assert_eq!(parse(bytes).unwrap(), Some((32, message)));
        assert_eq!(parse(&bytes[..30]).unwrap(), None);
        assert_eq!(parse(&bytes[32..]).unwrap(), Some((6, Sent::Ping)));
        let bytes = b"HMSG _INBOX.x 1 16 16\r\nNATS/1.0 404\r\n\r\n\r\n";
        assert_eq!(parse(bytes).unwrap(), Some((bytes.len(), Sent::Status("NATS/1.0 404"))));
        let bytes = b"MSG _INBOX.x 1 0\r\n\r\n";
        assert_eq!(parse(bytes).unwrap(), Some((20, Sent::Message { reply: None, data: b"" })));
        assert!(parse(b"-ERR 'no'\r\n").is_err());
    }

    #[test]
    fn a_publish_that_was_not_stored_is_an_error() {
        let sent = |data| Sent::Message { reply: None, data };
        assert!(stored(sent(br#"{"stream":"BENCH","seq":7}"#)).is_ok());
        assert!(stored(sent(br#"{"error":{"code":503}}"#)).is_err());
        assert!(stored(Sent::Status("NATS/1.0 503")).is_err());
    }
}
