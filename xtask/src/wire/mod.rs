//! The real-client tests of `tests/wire`: what they need is installed, then pytest runs against the release server.

mod node;
mod packages;
mod python;
mod server;
mod suite;

pub use server::{RunningServer, build as build_server};
pub use suite::run;
