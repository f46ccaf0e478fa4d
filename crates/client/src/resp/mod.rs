//! RESP3: commands out, replies in.
//!
//! | module | subject |
//! |---|---|
//! | [`command`] | the bytes of a command |
//! | [`item`] | one item of a reply: a line, a bulk string, the head of an array |
//! | [`extent`] | where a reply ends, however it is cut into reads |
//! | [`input`] | the bytes that came in, reply by reply |
//! | [`reply`] | a whole reply, kept |

pub(crate) mod command;
pub(crate) mod extent;
pub(crate) mod input;
pub(crate) mod item;
pub(crate) mod reply;

pub(crate) use command::Frame;
pub(crate) use input::Input;
pub(crate) use item::{Cursor, Item, Stop};
pub(crate) use reply::Reply;
