//! The tests in Python: those of `tests/wire` with real clients, on either store, those of `tests/dynamodb`, and those of the
//! Python package. What they need is installed, then pytest runs against the release server.

mod dynamodb;
mod node;
mod package;
mod packages;
mod python;
mod server;
mod store;
mod suite;

pub use dynamodb::{run as run_dynamodb, run_steady as run_dynamodb_steady};
pub use package::run as run_package;
pub use server::{RunningServer, build as build_server};
pub use store::Store;
pub use suite::{run, run_ledger_on_dynamodb};
