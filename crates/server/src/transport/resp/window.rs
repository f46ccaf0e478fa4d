//! The next few requests of a pipeline, read ahead of being run.
//!
//! Reading them first tells which keys are about to be asked for, so that the table can fetch them all at once.

use super::parse::{Parsed, parse};

/// Requests read ahead, at most.
const LEN: usize = 16;

/// What a typical request takes, to make room for as many as have arrived.
const TYPICAL_BYTES: usize = 48;
const WORDS: usize = 6;

/// See the module.
pub struct Window<'a> {
    words: Vec<&'a [u8]>,
    requests: Vec<Request>,
}

/// A request that was read: where its words end, and how many bytes it took.
struct Request {
    words_end: usize,
    len: usize,
}

impl<'a> Window<'a> {
    /// A window on nothing, for input of this length.
    pub fn new(input_len: usize) -> Window<'a> {
        let requests = (input_len / TYPICAL_BYTES + 1).min(LEN);
        Window { words: Vec::with_capacity(requests * WORDS), requests: Vec::with_capacity(requests) }
    }

    /// Reads the requests at the start of `input`, at most `most` of them, in place of those it held. What stands
    /// behind them, unless the window is full, is returned: never a [`Parsed::Request`].
    #[inline]
    pub fn read(&mut self, input: &'a [u8], most: usize, max_frame_bytes: usize) -> Option<Parsed> {
        self.words.clear();
        self.requests.clear();
        let mut at = 0;
        for _ in 0..most.min(LEN) {
            match parse(&input[at..], max_frame_bytes, &mut self.words) {
                Parsed::Request(len) => self.requests.push(Request { words_end: self.words.len(), len }),
                other => return Some(other),
            }
            at += self.requests.last().map_or(0, |request| request.len);
        }
        None
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// Every request: its bytes and its words.
    #[inline]
    pub fn requests(&self) -> impl Iterator<Item = (usize, &[&'a [u8]])> {
        let mut start = 0;
        self.requests.iter().map(move |request| {
            let words = &self.words[start..request.words_end];
            start = request.words_end;
            (request.len, words)
        })
    }

    /// The name of the first one.
    #[inline]
    pub fn first(&self) -> Option<&'a [u8]> {
        self.words.first().copied()
    }

    /// The words that are keys, if their commands have any.
    pub fn keys(&self) -> impl Iterator<Item = &'a [u8]> {
        self.requests().filter_map(|(_, words)| words.get(1).copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: usize = 1000;

    #[test]
    fn reads_requests_until_something_else() {
        let input = b"*1\r\n$4\r\nPING\r\n*0\r\n*2\r\n$3\r\nDEL\r\n$1\r\nk\r\n*2\r\n$3\r\nDEL\r\n$1";
        let mut window = Window::new(input.len());
        // Twice, since a window is used again.
        for _ in 0..2 {
            assert_eq!(window.read(input, 10, MAX), Some(Parsed::Partial(0)));
            let requests: Vec<_> = window.requests().map(|(len, words)| (len, words.to_vec())).collect();
            let del: Vec<&[u8]> = vec![b"DEL", b"k"];
            assert_eq!(requests, [(14, vec![b"PING".as_slice()]), (4, vec![]), (20, del)]);
            assert_eq!(window.keys().collect::<Vec<_>>(), [b"k"]);
        }
        assert_eq!((window.read(input, 2, MAX), window.len()), (None, 2));
        assert_eq!(
            (window.read(b"*x\r\n", 2, MAX), window.len()),
            (Some(Parsed::Broken("invalid length")), 0)
        );
    }

    #[test]
    fn holds_so_many_and_no_more() {
        let input = b"*1\r\n$4\r\nPING\r\n".repeat(LEN + 1);
        let mut window = Window::new(input.len());
        assert_eq!((window.read(&input, usize::MAX, MAX), window.len()), (None, LEN));
    }
}
