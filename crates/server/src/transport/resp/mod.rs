//! RESP2 and RESP3: any Redis client.
//!
//! | module | holds |
//! |---|---|
//! | [`parse`], [`inline`] | bytes to arguments |
//! | [`window`] | the next few requests, read ahead |
//! | [`reply`] | answers to bytes |
//! | [`answer`] | one connection |
//! | [`commands`] | the table of commands, which `COMMAND` shows too |
//! | [`later`] | replies that come later |
//! | [`queue`] | the commands of the Queue door |
//! | [`ledger`] | the commands about entities, their limits and leases |
//! | [`ask`] | `THROTTLE` and its family, `CL.THROTTLE` |
//! | [`session`] | what a connection says about itself: `HELLO`, `AUTH`, `SELECT`, ... |
//! | [`transaction`] | `MULTI`, which is refused as a whole |
//! | [`about`] | what clients ask about the server: `INFO`, `COMMAND`, `CONFIG GET`, ... |

mod about;
mod answer;
mod ask;
mod commands;
mod inline;
mod later;
mod ledger;
mod parse;
mod queue;
mod reply;
mod session;
mod transaction;
mod window;

pub use answer::Resp;
