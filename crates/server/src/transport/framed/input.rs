//! What has arrived, and how parts of it outlive the turn.
//!
//! A payload goes on to the engine's thread. Where many arrive together they stay where the socket put them, and the buffer
//! is let go of with the last of them; the loop reads on into another. One by one they are copied: a buffer is not to be
//! held for a few bytes of it.

use std::cell::RefCell;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

/// The buffer of a loop is lent if it is full to at least one part of so many.
const LENT_PARTS: usize = 4;

/// Of what has not arrived whole, no more than one part of so many of the buffer is put in front of what comes next.
const CARRIED_PARTS: usize = 4;

/// What all connections of a loop read into, one at a time.
pub struct Incoming {
    /// Empty between turns.
    buffer: BytesMut,
    room: usize,
}

impl Incoming {
    /// Takes so many bytes at once.
    pub fn new(room: usize) -> Incoming {
        Incoming { buffer: BytesMut::with_capacity(room), room }
    }

    /// Reads what there is, behind `held` if that is not much. Says how many bytes were read.
    pub fn poll_read<S: AsyncRead + Unpin>(
        &mut self,
        stream: &mut S,
        held: &[u8],
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        self.buffer.clear();
        self.buffer.reserve(self.room);
        if self.carries(held) {
            self.buffer.extend_from_slice(held);
        }
        pin!(stream.read_buf(&mut self.buffer)).poll(context)
    }

    /// Whether what has arrived before is put in front of what arrives next.
    pub fn carries(&self, held: &[u8]) -> bool {
        held.len() <= self.room / CARRIED_PARTS
    }

    /// The bytes that were read, and what they were put behind.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer
    }

    /// Hands them over for a turn.
    pub fn turn<R>(&mut self, turn: impl FnOnce(Input<'_>) -> R) -> R {
        if self.buffer.len() < self.room / LENT_PARTS {
            return turn(Input::from(&self.buffer[..]));
        }
        let lent = self.buffer.split().freeze();
        turn(Input { bytes: &lent, lent: Some(&lent) })
    }
}

/// Bytes at hand for a turn.
#[derive(Clone, Copy)]
pub struct Input<'i> {
    bytes: &'i [u8],
    lent: Option<&'i Bytes>,
}

impl<'i> From<&'i [u8]> for Input<'i> {
    fn from(bytes: &'i [u8]) -> Input<'i> {
        Input { bytes, lent: None }
    }
}

impl<'i> Input<'i> {
    /// The bytes.
    #[inline]
    pub fn bytes(self) -> &'i [u8] {
        self.bytes
    }

    /// A part of them, or some other bytes, for as long as somebody has them.
    pub fn keep(self, part: &[u8]) -> Bytes {
        let is_within = |lent: &&Bytes| {
            let (lent, part) = (lent.as_ptr_range(), part.as_ptr_range());
            lent.start <= part.start && part.end <= lent.end
        };
        match self.lent.filter(is_within) {
            Some(lent) => lent.slice_ref(part),
            None => copied(part),
        }
    }
}

/// What is copied is copied side by side into blocks of this size, and what is larger by itself.
const BLOCK_BYTES: usize = 64 * 1024;
const LARGE_BYTES: usize = BLOCK_BYTES / 4;

thread_local! {
    /// What is left of this loop's block.
    static BLOCK: RefCell<BytesMut> = RefCell::new(BytesMut::new());
}

/// A copy. Another thread frees it soon; many that share a block cost one allocation, over which the two do not have to
/// wait for one another.
fn copied(bytes: &[u8]) -> Bytes {
    if bytes.len() > LARGE_BYTES {
        return Bytes::copy_from_slice(bytes);
    }
    BLOCK.with_borrow_mut(|block| {
        if block.capacity() < bytes.len() {
            *block = BytesMut::with_capacity(BLOCK_BYTES);
        }
        block.extend_from_slice(bytes);
        block.split().freeze()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads `bytes` behind `held`, and keeps all of that.
    fn kept(incoming: &mut Incoming, held: &[u8], mut bytes: &[u8]) -> Bytes {
        let mut context = Context::from_waker(std::task::Waker::noop());
        let len = bytes.len();
        let read = incoming.poll_read(&mut bytes, held, &mut context);
        assert!(matches!(read, Poll::Ready(Ok(read)) if read == len), "{read:?}");
        incoming.turn(|input| input.keep(input.bytes()))
    }

    #[test]
    fn what_is_kept_stays_as_it_was() {
        let mut incoming = Incoming::new(1000);
        let all: Vec<_> =
            (0..50).map(|n| kept(&mut incoming, &[n; 7], &[n; 600][..usize::from(n) * 10])).collect();
        for (n, kept) in (0..50).zip(all) {
            assert_eq!(kept, vec![n; 7 + usize::from(n) * 10]);
        }
    }

    #[test]
    fn a_buffer_that_nobody_has_is_read_into_again() {
        let mut incoming = Incoming::new(1000);
        let first = kept(&mut incoming, b"", &[1; 900]);
        let at = first.as_ptr();
        drop(first);
        let second = kept(&mut incoming, b"", &[2; 900]);
        assert_eq!(second.as_ptr(), at);
        assert_ne!(kept(&mut incoming, b"", &[3; 900]).as_ptr(), at);
    }

    #[test]
    fn a_little_of_a_buffer_does_not_hold_it() {
        let mut incoming = Incoming::new(1000);
        let buffer = incoming.buffer.as_ptr();
        let few = kept(&mut incoming, b"", &[1; 100]);
        assert_ne!(few.as_ptr(), buffer);
        assert_eq!(kept(&mut incoming, b"", &[2; 900]).as_ptr(), buffer);
    }

    #[test]
    fn what_did_not_arrive_is_copied() {
        let lent = Bytes::from_static(&[0; 100]);
        let input = Input { bytes: &lent, lent: Some(&lent) };
        let lengths = [0, 1, 1000, LARGE_BYTES + 1].into_iter().chain([LARGE_BYTES; 5]);
        let bodies: Vec<_> = lengths.zip(0..).map(|(length, nth)| vec![nth; length]).collect();
        let copies: Vec<_> = bodies.iter().map(|body| input.keep(body)).collect();
        assert_eq!(copies, bodies);
        assert_eq!(input.keep(&lent[10..20]).as_ptr(), lent[10..].as_ptr());
    }

    #[test]
    fn much_that_has_not_arrived_whole_stays_where_it_is() {
        let mut incoming = Incoming::new(1000);
        let held = [1; 400];
        assert!(!incoming.carries(&held));
        assert_eq!(kept(&mut incoming, &held, &[2; 300]), vec![2; 300]);
    }
}
