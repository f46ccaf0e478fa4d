//! The real-client tests of `tests/wire` and those of the Python package: what they need is installed, then pytest runs
//! against the release server.

mod node;
mod package;
mod packages;
mod python;
mod server;
mod suite;

pub use package::run as run_package;
pub use server::{RunningServer, build as build_server};
pub use suite::run;
