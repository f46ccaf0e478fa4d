//! A connection with one channel.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::super::link::{Link, SILENCE_WITHIN};
use super::frame::{self, Frame};
use super::wire::{Arguments, METHOD, Method};

/// The one channel.
pub const CHANNEL: u16 = 1;

mod number {
    //! Methods of connection and channel, by class and number.
    pub const START: (u16, u16) = (10, 10);
    pub const START_OK: (u16, u16) = (10, 11);
    pub const TUNE: (u16, u16) = (10, 30);
    pub const TUNE_OK: (u16, u16) = (10, 31);
    pub const OPEN: (u16, u16) = (10, 40);
    pub const OPEN_OK: (u16, u16) = (10, 41);
    pub const CLOSE: (u16, u16) = (10, 50);
    pub const CHANNEL_OPEN: (u16, u16) = (20, 10);
    pub const CHANNEL_OPEN_OK: (u16, u16) = (20, 11);
    pub const CHANNEL_CLOSE: (u16, u16) = (20, 40);
}

/// An open connection.
pub struct Session {
    /// The socket under it.
    pub link: Link,
}

impl Session {
    /// Connects as the user that every new server has.
    pub fn open(address: SocketAddr) -> Result<Session> {
        let mut session = Session { link: Link::connect(address)? };
        session.link.send(b"AMQP\0\0\x09\x01")?;
        session.expect(number::START, |_| Ok(()))?;
        let login =
            Method::new(number::START_OK).table(&[]).short("PLAIN").long(b"\0guest\0guest").short("en_US");
        session.send(0, &login)?;
        let (channels, frame_len) =
            session.expect(number::TUNE, |arguments| Ok((arguments.u16()?, arguments.u32()?)))?;
        let tuned =
            Method::new(number::TUNE_OK).bytes(&channels.to_be_bytes()).bytes(&frame_len.to_be_bytes());
        // No heartbeats.
        session.send(0, &tuned.bytes(&0_u16.to_be_bytes()))?;
        session.call(
            0,
            &Method::new(number::OPEN).short("/").short("").bytes(&[0]),
            number::OPEN_OK,
            |_| Ok(()),
        )?;
        let open = Method::new(number::CHANNEL_OPEN).short("");
        session.call(CHANNEL, &open, number::CHANNEL_OPEN_OK, |_| Ok(()))?;
        Ok(session)
    }

    fn send(&mut self, channel: u16, method: &Method) -> Result<()> {
        let mut bytes = Vec::new();
        super::wire::frame(&mut bytes, METHOD, channel, method.payload());
        self.link.send(&bytes)
    }

    /// Sends a method and reads the one that answers it.
    pub fn call<T>(
        &mut self,
        channel: u16,
        method: &Method,
        answer: (u16, u16),
        read: impl FnMut(&mut Arguments<'_>) -> Result<T>,
    ) -> Result<T> {
        self.send(channel, method)?;
        self.expect(answer, read)
    }

    fn expect<T>(
        &mut self,
        expected: (u16, u16),
        mut read: impl FnMut(&mut Arguments<'_>) -> Result<T>,
    ) -> Result<T> {
        let found = self.next(SILENCE_WITHIN, |frame| match frame {
            Frame::Method(number, arguments) if number == expected => read(&mut Arguments(arguments)),
            other => bail!("{other:?} instead of method {expected:?}"),
        })?;
        found.with_context(|| format!("no method {expected:?}"))
    }

    /// Waits at most that long for a frame, and looks at it. A connection or channel that is closed is an error.
    pub fn next<T>(
        &mut self,
        within: Duration,
        mut take: impl FnMut(Frame<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        self.link.next(within, |bytes| {
            let Some((len, frame)) = frame::parse(bytes)? else { return Ok(None) };
            if let Frame::Method(number::CLOSE | number::CHANNEL_CLOSE, arguments) = frame {
                let mut arguments = Arguments(arguments);
                let code = arguments.u16()?;
                bail!("refused: {code} {}", String::from_utf8_lossy(arguments.short()?));
            }
            Ok(Some((len, take(frame)?)))
        })
    }
}
