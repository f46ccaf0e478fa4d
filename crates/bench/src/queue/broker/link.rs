//! A connection, and what has arrived on it and was not looked at yet.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// How long a server may take for anything before it counts as stuck.
pub const SILENCE_WITHIN: Duration = Duration::from_secs(20);
const ROOM: usize = 256 * 1024;

/// One connection.
pub struct Link {
    stream: TcpStream,
    buffer: Vec<u8>,
    /// What is in the buffer: from here
    start: usize,
    /// to here.
    end: usize,
}

impl Link {
    /// Connects.
    pub fn connect(address: SocketAddr) -> Result<Link> {
        let stream = TcpStream::connect(address).context("cannot connect")?;
        stream.set_nodelay(true).context("no TCP_NODELAY")?;
        Ok(Link { stream, buffer: vec![0; ROOM], start: 0, end: 0 })
    }

    /// Sends it all.
    pub fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.stream.write_all(bytes).context("cannot send")
    }

    /// What has arrived and was not passed over.
    pub fn unread(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Passes over that many bytes.
    pub fn pass(&mut self, len: usize) {
        debug_assert!(len <= self.end - self.start, "passed over more than has arrived");
        self.start += len;
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Waits at most that long for more to arrive, and says whether it did.
    pub fn fill(&mut self, within: Duration) -> Result<bool> {
        if !self.readable(within)? {
            return Ok(false);
        }
        if self.end == self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            if self.end * 2 > self.buffer.len() {
                self.buffer.resize(self.buffer.len() * 2, 0);
            }
        }
        match self.stream.read(&mut self.buffer[self.end..]) {
            Ok(0) => bail!("the server closed the connection"),
            Ok(read) => self.end += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(false),
            Err(error) => return Err(error).context("cannot receive"),
        }
        Ok(true)
    }

    /// Waits for more to arrive; a server that is silent for long is an error.
    pub fn fill_soon(&mut self) -> Result<()> {
        if !self.fill(SILENCE_WITHIN)? {
            bail!("no reply for {} s", SILENCE_WITHIN.as_secs());
        }
        Ok(())
    }

    /// Waits until `parse` finds something at the start of what has arrived: its length and what it is.
    pub fn next<T>(
        &mut self,
        within: Duration,
        mut parse: impl FnMut(&[u8]) -> Result<Option<(usize, T)>>,
    ) -> Result<Option<T>> {
        let mut since = None;
        loop {
            if let Some((len, found)) = parse(self.unread())? {
                self.pass(len);
                return Ok(Some(found));
            }
            // What is there already is taken without a look at the clock.
            let left = within.saturating_sub(since.get_or_insert_with(Instant::now).elapsed());
            if !self.fill(left)? && left.is_zero() {
                return Ok(None);
            }
        }
    }

    /// To the nanosecond, where a read time-out is rounded to the kernel's tick.
    fn readable(&self, within: Duration) -> Result<bool> {
        let mut watched = libc::pollfd { fd: self.stream.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let timeout = libc::timespec {
            tv_sec: i64::try_from(within.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(within.subsec_nanos()),
        };
        // SAFETY: both pointers are to live locals, one descriptor is announced, and no signal mask is given.
        let ready = unsafe { libc::ppoll(&raw mut watched, 1, &raw const timeout, std::ptr::null()) };
        match ready {
            0 => Ok(false),
            1.. => Ok(true),
            _ => {
                let error = std::io::Error::last_os_error();
                if error.kind() == ErrorKind::Interrupted {
                    Ok(false)
                } else {
                    Err(error).context("poll failed")
                }
            }
        }
    }
}

/// The length of the first line with its end, if it is all there.
pub fn line_len(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|&byte| byte == b'\n').map(|newline| newline + 1)
}

/// A line without its end, as text.
pub fn text(line: &[u8]) -> Result<&str> {
    Ok(std::str::from_utf8(line).context("a reply that is not text")?.trim_end())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn more_than_the_buffer_holds_is_kept() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut link = Link::connect(listener.local_addr().unwrap()).unwrap();
        let (mut far, _) = listener.accept().unwrap();
        let sent: Vec<u8> = (0..3 * ROOM).map(|at| (at % 251) as u8).collect();
        let expected = sent.clone();
        let writer = std::thread::spawn(move || far.write_all(&sent).map(|()| far).unwrap());
        while link.unread().len() < 10 {
            link.fill_soon().unwrap();
        }
        link.pass(10);
        while link.unread().len() < expected.len() - 10 {
            link.fill_soon().unwrap();
        }
        assert_eq!(link.unread(), &expected[10..]);
        let far = writer.join().unwrap();
        assert!(!link.fill(Duration::ZERO).unwrap());
        drop(far);
        assert!(link.fill_soon().is_err());
    }

    #[test]
    fn the_next_line_is_awaited() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut link = Link::connect(listener.local_addr().unwrap()).unwrap();
        let (mut far, _) = listener.accept().unwrap();
        far.write_all(b"one\ntw").unwrap();
        let line =
            |link: &mut Link| link.next(Duration::ZERO, |bytes| Ok(line_len(bytes).map(|len| (len, len))));
        link.fill_soon().unwrap();
        assert_eq!(line(&mut link).unwrap(), Some(4));
        assert_eq!(line(&mut link).unwrap(), None);
        assert_eq!(link.unread(), b"tw");
    }
}
