//! The submissions of one connection: the engine sees them in the order in which they came, whatever hooks do, and
//! they are answered in that order.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::ops::Ops;
use super::pending::Pending;
use super::port::Outcome;

/// Submissions that are not answered, oldest first, each with what its owner has to remember.
pub struct Line<T> {
    waiting: VecDeque<(Pending, T)>,
    /// How many of them, from the front, the engine has.
    sent: usize,
}

impl<T> Default for Line<T> {
    fn default() -> Line<T> {
        Line { waiting: VecDeque::new(), sent: 0 }
    }
}

impl<T> Line<T> {
    /// Submits operations behind all others.
    pub fn submit(&mut self, ops: Ops, memo: T) {
        let mut pending = Pending::hold(ops);
        if self.sent == self.waiting.len() {
            pending.release();
            self.sent += usize::from(pending.is_sent());
        }
        self.waiting.push_back((pending, memo));
    }

    /// Lines up an answer that somebody else than the engine sends.
    pub fn expect(&mut self, answer: Pending, memo: T) {
        if self.sent == self.waiting.len() {
            self.sent += 1;
        }
        self.waiting.push_back((answer, memo));
    }

    /// Whether everything is answered.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// What was remembered with the submission that is answered last.
    pub fn last_mut(&mut self) -> Option<&mut T> {
        self.waiting.back_mut().map(|(_, memo)| memo)
    }

    /// What was remembered with the submission that is answered next.
    pub fn first(&self) -> Option<&T> {
        self.waiting.front().map(|(_, memo)| memo)
    }

    /// Gives up waiting for the submission that is next.
    pub fn drop_first(&mut self) -> Option<T> {
        self.sent = self.sent.saturating_sub(1);
        self.waiting.pop_front().map(|(_, memo)| memo)
    }

    /// The next answer. Ready with nothing if there is none to wait for.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<(Vec<Outcome>, T)>> {
        self.advance(context);
        let Some((first, _)) = self.waiting.front_mut() else { return Poll::Ready(None) };
        match Pin::new(first).poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(outcomes) => Poll::Ready(self.drop_first().map(|memo| (outcomes, memo))),
        }
    }

    /// Sends on what hooks have chosen, and what waited behind it.
    fn advance(&mut self, context: &mut Context<'_>) {
        while let Some((next, _)) = self.waiting.get_mut(self.sent) {
            next.release();
            next.advance(context);
            if !next.is_sent() {
                return;
            }
            self.sent += 1;
        }
    }
}
