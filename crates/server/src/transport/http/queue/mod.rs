//! The Queue door over HTTP+JSON: one request in, one JSON document out.
//!
//! | module | holds |
//! |---|---|
//! | `call` | a request whose head is read: where it goes, and what becomes of it |
//! | `items` | the operations on several messages: enqueue, ack, nack, extend, release |
//! | `receive` | waiting for messages, for as long as the client waits too |
//! | `admin` | queues, limits and settings |
//! | `shape` | the JSON that clients send |
//! | `answer` | the JSON that is sent back |
//! | `query` | what is behind the `?` of a path |

mod admin;
mod answer;
mod call;
mod items;
mod query;
mod receive;
pub mod shape;

pub use call::Call;
