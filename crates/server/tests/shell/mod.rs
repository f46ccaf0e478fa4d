//! What the tests of commands have in common.

mod scripted;

pub use scripted::{scripted_server, tidegate};
