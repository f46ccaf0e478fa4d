//! A beanstalkd tube: put, reserve, delete, one line each and pipelined.

use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::body::{Body, stamp_of};
use super::link::{Link, SILENCE_WITHIN, line_len, text};
use super::roles::{Broker, Consumer, Producer, Seat};

const TUBE: &str = "bench";
const DELETED: &str = "DELETED";

/// A tube.
pub struct Tube {
    address: SocketAddr,
    body_len: usize,
}

impl Tube {
    /// Tubes come with their first job.
    pub fn new(address: SocketAddr, body_len: usize) -> Tube {
        Tube { address, body_len }
    }
}

impl Broker for Tube {
    fn producer(&self, _seat: Seat) -> Result<Box<dyn Producer>> {
        let mut link = Link::connect(self.address)?;
        link.send(format!("use {TUBE}\r\n").as_bytes())?;
        expect(&mut link, "USING ")?;
        Ok(Box::new(TubeProducer { link, body: Body::new(self.body_len), outgoing: Vec::new() }))
    }

    fn consumer(&self, _seat: Seat) -> Result<Box<dyn Consumer>> {
        let mut link = Link::connect(self.address)?;
        link.send(format!("watch {TUBE}\r\nignore default\r\n").as_bytes())?;
        expect(&mut link, "WATCHING ")?;
        expect(&mut link, "WATCHING ")?;
        Ok(Box::new(TubeConsumer { link, outgoing: Vec::new(), ids: Vec::new() }))
    }

    fn left(&self) -> Result<u64> {
        let mut link = Link::connect(self.address)?;
        link.send(format!("stats-tube {TUBE}\r\n").as_bytes())?;
        let left = link.next(SILENCE_WITHIN, |bytes| {
            let Some(Reply { line, data, len }) = Reply::parse(bytes)? else { return Ok(None) };
            // A tube without jobs and connections is gone.
            if line == "NOT_FOUND" {
                return Ok(Some((len, 0)));
            }
            Ok(Some((len, jobs_in(text(data)?))))
        })?;
        left.context("no reply")
    }
}

fn jobs_in(stats: &str) -> u64 {
    let states = ["ready", "reserved", "delayed", "buried"].map(|state| format!("current-jobs-{state}: "));
    let count =
        |line: &str| states.iter().find_map(|state| line.strip_prefix(state.as_str())?.parse::<u64>().ok());
    stats.lines().filter_map(count).sum()
}

fn expect(link: &mut Link, start: &str) -> Result<()> {
    let found = link.next(SILENCE_WITHIN, |bytes| {
        let Some(Reply { line, len, .. }) = Reply::parse(bytes)? else { return Ok(None) };
        if !line.starts_with(start) {
            bail!("{line} instead of {start}");
        }
        Ok(Some((len, ())))
    })?;
    found.context("no reply")
}

/// A line, and the data that it announces.
struct Reply<'a> {
    line: &'a str,
    data: &'a [u8],
    len: usize,
}

impl Reply<'_> {
    fn parse(bytes: &[u8]) -> Result<Option<Reply<'_>>> {
        let Some(len) = line_len(bytes) else { return Ok(None) };
        let line = text(&bytes[..len])?;
        if !line.starts_with("RESERVED ") && !line.starts_with("OK ") {
            return Ok(Some(Reply { line, data: &[], len }));
        }
        let data_len: usize =
            line.rsplit(' ').next().and_then(|len| len.parse().ok()).context("no length")?;
        let data = bytes.get(len..len + data_len + 2).map(|data| &data[..data_len]);
        Ok(data.map(|data| Reply { line, data, len: len + data_len + 2 }))
    }
}

struct TubeProducer {
    link: Link,
    body: Body,
    outgoing: Vec<u8>,
}

impl Producer for TubeProducer {
    fn send(&mut self, count: usize, stamp: u64) -> Result<()> {
        self.outgoing.clear();
        let body = self.body.stamped(stamp);
        for _ in 0..count {
            // Priority, delay, and the seconds until a job that is not deleted comes back.
            write!(self.outgoing, "put 0 0 60 {}\r\n", body.len()).context("out of memory")?;
            self.outgoing.extend_from_slice(body);
            self.outgoing.extend_from_slice(b"\r\n");
        }
        self.link.send(&self.outgoing)
    }

    fn confirmed(&mut self, within: Duration) -> Result<usize> {
        let (mut confirmed, mut within) = (0, within);
        while self.link.next(within, inserted)?.is_some() {
            confirmed += 1;
            within = Duration::ZERO;
        }
        Ok(confirmed)
    }
}

fn inserted(bytes: &[u8]) -> Result<Option<(usize, ())>> {
    let Some(Reply { line, len, .. }) = Reply::parse(bytes)? else { return Ok(None) };
    if !line.starts_with("INSERTED ") {
        bail!("put: {line}");
    }
    Ok(Some((len, ())))
}

struct TubeConsumer {
    link: Link,
    outgoing: Vec<u8>,
    /// Reserved and not deleted.
    ids: Vec<u64>,
}

impl TubeConsumer {
    /// Takes the reply to one reserve; a time-out is no job.
    fn reserved(&mut self, within: Duration, stamps: &mut Vec<u64>) -> Result<bool> {
        let job = self.link.next(within, |bytes| {
            let Some(Reply { line, data, len }) = Reply::parse(bytes)? else { return Ok(None) };
            if line == "TIMED_OUT" {
                return Ok(Some((len, None)));
            }
            let id =
                line.strip_prefix("RESERVED ").and_then(|rest| rest.split(' ').next()?.parse::<u64>().ok());
            let id = id.with_context(|| format!("reserve: {line}"))?;
            Ok(Some((len, Some((id, stamp_of(data)?)))))
        })?;
        let Some((id, stamp)) = job.context("no reply to a reserve")? else { return Ok(false) };
        self.ids.push(id);
        stamps.push(stamp);
        Ok(true)
    }

    fn delete(&mut self) -> Result<usize> {
        for id in &self.ids {
            write!(self.outgoing, "delete {id}\r\n").context("out of memory")?;
        }
        let deleting = self.ids.len();
        self.ids.clear();
        Ok(deleting)
    }

    fn flush(&mut self) -> Result<()> {
        self.link.send(&self.outgoing)?;
        self.outgoing.clear();
        Ok(())
    }
}

impl Consumer for TubeConsumer {
    fn receive(&mut self, want: usize, stamps: &mut Vec<u64>) -> Result<()> {
        for _ in 0..want {
            self.outgoing.extend_from_slice(b"reserve\r\n");
        }
        self.flush()?;
        for _ in 0..want {
            self.reserved(SILENCE_WITHIN, stamps)?;
        }
        Ok(())
    }

    fn ack(&mut self) -> Result<()> {
        let deleting = self.delete()?;
        self.flush()?;
        (0..deleting).try_for_each(|_| expect(&mut self.link, DELETED))
    }

    fn follow(&mut self, within: Duration, stamps: &mut Vec<u64>) -> Result<()> {
        let deleting = self.delete()?;
        let within_s = within.as_secs().max(1);
        write!(self.outgoing, "reserve-with-timeout {within_s}\r\n").context("out of memory")?;
        self.flush()?;
        (0..deleting).try_for_each(|_| expect(&mut self.link, DELETED))?;
        self.reserved(SILENCE_WITHIN, stamps).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_belongs_to_the_line_that_announces_it() {
        let reply = Reply::parse(b"RESERVED 7 5\r\nhe\nlo\r\nDELETED\r\n").unwrap().unwrap();
        assert_eq!((reply.line, reply.data, reply.len), ("RESERVED 7 5", &b"he\nlo"[..], 21));
        assert!(Reply::parse(b"RESERVED 7 5\r\nhello").unwrap().is_none());
        assert_eq!(Reply::parse(b"DELETED\r\nx").unwrap().unwrap().len, 9);
        assert!(inserted(b"BURIED 3\r\n").is_err());
    }

    #[test]
    fn jobs_of_every_state_are_left() {
        let stats =
            "---\nname: bench\ncurrent-jobs-urgent: 9\ncurrent-jobs-ready: 3\ncurrent-jobs-reserved: 2\n";
        assert_eq!(jobs_in(stats), 5);
    }
}
