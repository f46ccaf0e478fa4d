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

use crate::api::{Api, Refusal, Transport};
use crate::transport::framed::{Next, Progress, Protocol};

use parse::{Args, Parsed, parse};
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
}

impl Protocol for Resp {
    const TRANSPORT: Transport = Transport::Resp;
    const SECTION: &'static str = "resp";

    fn answer(&mut self, input: &[u8], max: usize, output: &mut Vec<u8>) -> Progress {
        let mut batch = self.api.begin(Self::TRANSPORT);
        let mut args = Args::new();
        let mut consumed = 0;
        for _ in 0..max {
            match parse(&input[consumed..], &mut args) {
                Parsed::Request(len) => {
                    consumed += len;
                    let reply = Reply::new(output, self.session.version);
                    let mut call = commands::Invocation { batch: &mut batch, session: &mut self.session, reply };
                    match args.is_empty() && input[consumed - len] == b'*' {
                        // An empty line is somebody pressing return; an empty array is a mistake.
                        true => call.reply.error("ERR empty command"),
                        false => commands::run(&mut call, &self.api, &args),
                    }
                    if self.session.over {
                        return Progress { consumed, next: Next::Close };
                    }
                }
                Parsed::Partial => return Progress { consumed, next: Next::Read },
                Parsed::Broken(why) => {
                    batch.refuse();
                    let mut reply = Reply::new(output, self.session.version);
                    reply.error(&format!("ERR Protocol error: {why}"));
                    return Progress { consumed: input.len(), next: Next::Close };
                }
            }
        }
        let next = if consumed == input.len() { Next::Read } else { Next::Continue };
        Progress { consumed, next }
    }

    fn refuse(&mut self, refusal: &Refusal, output: &mut Vec<u8>) {
        Reply::new(output, self.session.version).error(&format!("ERR {refusal}"));
    }
}
