//! One connection: requests in, replies out.

use std::sync::Arc;
use std::task::{Context, Poll};

use crate::api::{Api, Batch, Refusal, Transport};
use crate::transport::framed::{FORESIGHT, Input, Next, Progress, Protocol};

use super::commands;
use super::parse::Parsed;
use super::reply::Reply;
use super::session::Session;
use super::window::Window;

/// One RESP connection.
pub struct Resp {
    api: Arc<Api>,
    session: Session,
    max_frame_bytes: usize,
    /// Bytes that what is left over needs to be worth another look.
    least: usize,
}

impl Resp {
    /// A connection that has said nothing yet.
    pub fn new(api: Arc<Api>, id: u64, max_frame_bytes: usize) -> Resp {
        let session = Session::new(&api, id);
        Resp { api, session, max_frame_bytes, least: 0 }
    }

    #[inline]
    fn reply<'o>(&self, output: &'o mut Vec<u8>) -> Reply<'o> {
        Reply::new(output, self.session.version)
    }

    #[inline]
    fn run(&mut self, batch: &mut Batch<'_>, input: Input<'_>, args: &[&[u8]], output: &mut Vec<u8>) {
        let reply = self.reply(output);
        let mut call = commands::Invocation { batch, session: &mut self.session, input, reply };
        commands::run(&mut call, &self.api, args);
    }
}

impl Protocol for Resp {
    const TRANSPORT: Transport = Transport::Resp;
    const SECTION: &'static str = "resp";

    fn answer(&mut self, input: Input<'_>, max: usize, output: &mut Vec<u8>) -> Progress {
        let mut max = max;
        if !self.session.later.is_idle() {
            self.session.later.begin(output.len());
            max = max.saturating_sub(self.session.later.outstanding()).max(1);
        }
        let progress = self.answer_all(input, max, output);
        if self.session.later.is_touched() {
            self.session.later.finish(output);
        }
        progress
    }

    fn refuse(&mut self, refusal: &Refusal, output: &mut Vec<u8>) {
        let mut bytes = Vec::new();
        self.reply(&mut bytes).error(&format!("ERR {refusal}"));
        match self.session.later.is_idle() {
            true => output.extend_from_slice(&bytes),
            false => self.session.later.append(&bytes),
        }
    }

    #[inline]
    fn expects(&self) -> bool {
        self.session.later.expects()
    }

    fn is_full(&self, max: usize) -> bool {
        self.session.later.is_full(max, self.max_frame_bytes)
    }

    fn poll_later(&mut self, context: &mut Context<'_>, output: &mut Vec<u8>) -> Poll<()> {
        self.session.later.poll(context, self.session.version, output)
    }

    fn wind_up(&mut self, output: &mut Vec<u8>) {
        self.session.later.wind_up(output);
    }
}

impl Resp {
    /// Answers the whole requests at the start of `input`, or notes where their answers belong.
    #[inline]
    fn answer_all(&mut self, arrived: Input<'_>, max: usize, output: &mut Vec<u8>) -> Progress {
        let input = arrived.bytes();
        if input.len() < self.least {
            return Progress { consumed: 0, next: Next::Read };
        }
        self.least = 0;
        let api = self.api.clone();
        let mut batch = api.begin(Transport::Resp);
        let mut window = Window::new(input.len());
        let (mut consumed, mut left) = (0, max);
        while left > 0 {
            let behind = window.read(&input[consumed..], left, self.max_frame_bytes);
            left -= window.len();
            if window.len() >= FORESIGHT && window.first().is_some_and(commands::is_ask) {
                batch.foresee(window.keys());
            }
            for (len, args) in window.requests() {
                consumed += len;
                self.run(&mut batch, arrived, args, output);
                if self.session.halt {
                    return self.halt(consumed);
                }
            }
            match behind {
                None | Some(Parsed::Request(_)) => (),
                Some(Parsed::Line(len, words)) => {
                    consumed += len;
                    left = left.saturating_sub(1);
                    // An empty line is somebody pressing return.
                    if !words.is_empty() {
                        let words: Vec<_> = words.iter().map(Vec::as_slice).collect();
                        self.run(&mut batch, arrived, &words, output);
                    }
                }
                Some(Parsed::Partial(least)) => {
                    self.least = least;
                    return Progress { consumed, next: Next::Read };
                }
                Some(Parsed::TooLarge) => {
                    batch.refuse();
                    let refusal = Refusal::body_too_large(self.max_frame_bytes, "resp.max_frame_bytes");
                    self.reply(output).error(&format!("ERR {refusal}"));
                    return Progress { consumed: input.len(), next: Next::Close };
                }
                Some(Parsed::Broken(why)) => {
                    batch.refuse();
                    self.reply(output).error(&format!("ERR Protocol error: {why}"));
                    return Progress { consumed: input.len(), next: Next::Close };
                }
            }
            if self.session.halt {
                return self.halt(consumed);
            }
        }
        let next = if consumed == input.len() { Next::Read } else { Next::Continue };
        Progress { consumed, next }
    }

    /// Ends a turn early: for good, or until what is on its way has come.
    #[cold]
    fn halt(&mut self, consumed: usize) -> Progress {
        self.session.halt = false;
        let next = if self.session.over { Next::Close } else { Next::Continue };
        Progress { consumed, next }
    }
}
