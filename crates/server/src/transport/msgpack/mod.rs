//! MessagePack over TCP: frames of a 4-byte big-endian length and one value, pipelined.
//!
//! A request is a map or an array, and is answered in kind. A frame that holds no request is answered with an
//! error and the next one is read: the length says where it begins.

mod request;
mod response;
mod session;

pub use session::Msgpack;
