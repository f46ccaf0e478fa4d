//! RESP2 and RESP3: any Redis client.
//!
//! | module | holds |
//! |---|---|
//! | [`parse`], [`inline`] | bytes to arguments |
//! | [`reply`] | answers to bytes |
//! | [`commands`] | the table of commands, which `COMMAND` shows too |
//! | [`ask`] | `THROTTLE` and its family, `CL.THROTTLE` |
//! | [`session`] | what a connection says about itself: `HELLO`, `AUTH`, `SELECT`, ... |
//! | [`about`] | what clients ask about the server: `INFO`, `COMMAND`, `CONFIG GET`, ... |

mod about;
mod ask;
mod commands;
mod inline;
mod parse;
mod reply;
mod session;

use std::sync::Arc;

use crate::api::{Api, Batch, Refusal, Transport};
use crate::transport::framed::{Next, Progress, Protocol};

use parse::{Parsed, parse};
use reply::Reply;
pub use session::Session;

/// One RESP connection.
pub struct Resp {
    api: Arc<Api>,
    session: Session,
}

impl Resp {
    /// A connection that has said nothing yet.
    pub fn new(api: Arc<Api>, id: u64) -> Resp {
        let session = Session::new(&api, id);
        Resp { api, session }
    }

    #[inline]
    fn reply<'o>(&self, output: &'o mut Vec<u8>) -> Reply<'o> {
        Reply::new(output, self.session.version)
    }

    #[inline]
    fn run(&mut self, batch: &mut Batch<'_>, args: &[&[u8]], output: &mut Vec<u8>) {
        let reply = self.reply(output);
        let mut call = commands::Invocation { batch, session: &mut self.session, reply };
        commands::run(&mut call, &self.api, args);
    }
}

impl Protocol for Resp {
    const TRANSPORT: Transport = Transport::Resp;
    const SECTION: &'static str = "resp";

    fn answer(&mut self, input: &[u8], max: usize, output: &mut Vec<u8>) -> Progress {
        let api = self.api.clone();
        let mut batch = api.begin(Self::TRANSPORT);
        let mut args = Vec::with_capacity(8);
        let mut consumed = 0;
        for _ in 0..max {
            match parse(&input[consumed..], &mut args) {
                Parsed::Request(len) => {
                    consumed += len;
                    self.run(&mut batch, &args, output);
                }
                Parsed::Line(len, words) => {
                    consumed += len;
                    // An empty line is somebody pressing return.
                    if !words.is_empty() {
                        self.run(&mut batch, &words.iter().map(Vec::as_slice).collect::<Vec<_>>(), output);
                    }
                }
                Parsed::Partial => return Progress { consumed, next: Next::Read },
                Parsed::Broken(why) => {
                    batch.refuse();
                    self.reply(output).error(&format!("ERR Protocol error: {why}"));
                    return Progress { consumed: input.len(), next: Next::Close };
                }
            }
            if self.session.over {
                return Progress { consumed, next: Next::Close };
            }
        }
        let next = if consumed == input.len() { Next::Read } else { Next::Continue };
        Progress { consumed, next }
    }

    fn refuse(&mut self, refusal: &Refusal, output: &mut Vec<u8>) {
        self.reply(output).error(&format!("ERR {refusal}"));
    }
}
