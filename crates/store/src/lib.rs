//! What Tidegate keeps on disk, and how it comes back after a restart.
//!
//! There is no thread and no clock in this crate: its owner calls it, and `now` is an argument. It never
//! panics on what it finds in a file, and it never deletes a file that it could not read.
//!
//! | module | holds |
//! |---|---|
//! | [`dir`] | the data directory: one process at a time |
//! | [`keys`] | the state of inline keys: snapshots and a log of changes |
//! | [`disk`] | the few file operations that the queue part needs, real and simulated |
//! | [`journal`] | messages and what became of them: a log in segments |
//! | [`catalog`] | queues, limits and settings: an embedded database |
//! | [`history`] | usage by the minute and what it adds up to, audit: an embedded database |
//! | [`book`] | bucket levels and leases: snapshots and a log of opaque records |

pub mod book;
pub mod catalog;
mod database;
pub mod dir;
pub mod disk;
mod error;
mod generations;
pub mod history;
pub mod journal;
pub mod keys;

pub use book::Book;
pub use catalog::Catalog;
pub use dir::DataDir;
pub use error::Error;
pub use history::History;
pub use journal::Journal;
