//! Decisions inside a Rust program: no server, no socket, each library as its users call it.

pub mod bucket;
pub mod contest;
mod decider;
mod stretch;
