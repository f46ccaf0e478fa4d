//! RESP: a door, and a client that sends lines.

pub mod client;
mod door;

pub use door::Door;
