//! Frames as they arrive.

use std::fmt;

use anyhow::{Context, Result, bail};

use super::wire::{Arguments, BODY, END, HEADER, METHOD};

/// Length of what is before a frame's payload.
const HEAD: usize = 7;

/// One frame.
#[derive(PartialEq, Eq)]
pub enum Frame<'a> {
    /// A method, by class and number, with its arguments.
    Method((u16, u16), &'a [u8]),
    /// The head of a message, with the length of its body.
    Header(u64),
    /// The body of a message, or a part of it.
    Body(&'a [u8]),
    /// A heartbeat.
    Heartbeat,
}

/// Short, for errors: a body says nothing.
impl fmt::Debug for Frame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Frame::Method(number, _) => write!(f, "method {number:?}"),
            Frame::Header(len) => write!(f, "the head of {len} bytes"),
            Frame::Body(body) => write!(f, "a body of {} bytes", body.len()),
            Frame::Heartbeat => f.write_str("a heartbeat"),
        }
    }
}

/// The first frame and its length, if it is all there.
pub fn parse(bytes: &[u8]) -> Result<Option<(usize, Frame<'_>)>> {
    let Some(head) = bytes.get(..HEAD) else { return Ok(None) };
    let len = usize::try_from(u32::from_be_bytes([head[3], head[4], head[5], head[6]]))?;
    let Some(payload) = bytes.get(HEAD..HEAD + len + 1) else { return Ok(None) };
    let (&end, payload) = payload.split_last().context("a frame has an end")?;
    if end != END {
        bail!("not a frame of AMQP 0-9-1: {:?}", String::from_utf8_lossy(head));
    }
    let mut arguments = Arguments(payload);
    let frame = match head[0] {
        METHOD => Frame::Method((arguments.u16()?, arguments.u16()?), &payload[4..]),
        HEADER => {
            let (_class, _weight) = (arguments.u16()?, arguments.u16()?);
            Frame::Header(arguments.u64()?)
        }
        BODY => Frame::Body(payload),
        _ => Frame::Heartbeat,
    };
    Ok(Some((HEAD + len + 1, frame)))
}

#[cfg(test)]
mod tests {
    use super::super::wire::{Method, frame};
    use super::*;

    #[test]
    fn a_frame_is_known_once_it_is_whole() {
        let mut bytes = Vec::new();
        frame(&mut bytes, METHOD, 1, Method::new((60, 80)).bytes(b"x").payload());
        for short in 0..bytes.len() {
            assert_eq!(parse(&bytes[..short]).unwrap(), None);
        }
        assert_eq!(parse(&bytes).unwrap(), Some((bytes.len(), Frame::Method((60, 80), b"x"))));
        *bytes.last_mut().unwrap() = 0;
        assert!(parse(&bytes).is_err());
    }
}
