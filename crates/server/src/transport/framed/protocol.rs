//! What a protocol of frames has to be able to do, and what it is given.

use std::cell::RefCell;
use std::task::{Context, Poll};

use super::input::{Incoming, Input};
use crate::api::{Refusal, Transport};
use crate::config;

/// Fewer requests than this at hand are not worth preparing for: see [`Batch::foresee`](crate::api::Batch::foresee).
pub const FORESIGHT: usize = 4;

/// What a protocol makes of the bytes that have arrived.
pub trait Protocol {
    /// Which door this is, for the counters.
    const TRANSPORT: Transport;
    /// The section of the configuration that bounds it.
    const SECTION: &'static str;

    /// Answers the whole requests at the start of `input`, at most `max` of them, into `output`.
    fn answer(&mut self, input: Input<'_>, max: usize, output: &mut Vec<u8>) -> Progress;

    /// Writes a refusal that belongs to the connection rather than to a request.
    fn refuse(&mut self, refusal: &Refusal, output: &mut Vec<u8>);

    /// Whether anything may come that the next input does not ask for: replies that take longer, messages.
    #[inline]
    fn expects(&self) -> bool {
        false
    }

    /// Whether so much is on its way that nothing more is to be begun; `max` requests are enough.
    fn is_full(&self, _max: usize) -> bool {
        false
    }

    /// Adds what has come to `output`. Ready if there was anything.
    fn poll_later(&mut self, _context: &mut Context<'_>, _output: &mut Vec<u8>) -> Poll<()> {
        Poll::Pending
    }

    /// The connection is about to end: from now on only replies are expected that need no waiting for others.
    fn wind_up(&mut self, _output: &mut Vec<u8>) {}
}

/// How far a protocol came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of whole requests, which are done with.
    pub consumed: usize,
    /// What to do next.
    pub next: Next,
}

/// What a connection does once the answers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Wait for more bytes: what is left over is the beginning of a request.
    Read,
    /// Let others have their turn: there are more whole requests.
    Continue,
    /// Close.
    Close,
}

/// The buffers of one loop.
pub struct Buffers {
    pub(super) incoming: RefCell<Incoming>,
    pub(super) output: RefCell<Vec<u8>>,
}

impl Buffers {
    /// Buffers that read this many bytes at once.
    pub fn new(bounds: &config::Framed) -> Buffers {
        let room = bounds.buffer_bytes;
        let (incoming, output) = (Incoming::new(room), Vec::with_capacity(room));
        Buffers { incoming: RefCell::new(incoming), output: RefCell::new(output) }
    }
}
