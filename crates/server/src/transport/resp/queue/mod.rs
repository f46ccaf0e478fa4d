//! The commands of the Queue door.
//!
//! | module | holds |
//! |---|---|
//! | [`enqueue`] | `ENQUEUE` |
//! | [`receive`] | `RECEIVE`, `CONSUME`, `CREDIT`, `UNCONSUME` |
//! | [`settle`] | `ACK`, `NACK`, `EXTEND`, `RELEASE` |
//! | [`admin`], [`limit`] | `QUEUE`, `SETTING`; `LIMIT` |
//! | [`consumers`] | the subscriptions of a connection, and their messages |
//! | [`message`], [`shape`] | messages and outcomes to bytes |
//! | [`options`] | words and numbers behind a command's fixed arguments |

pub mod admin;
pub mod consumers;
pub mod enqueue;
pub mod limit;
mod message;
pub mod options;
pub mod receive;
pub mod settle;
pub mod shape;
