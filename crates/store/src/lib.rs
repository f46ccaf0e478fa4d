//! What Tidegate keeps on disk, and how it comes back after a restart.
//!
//! There is no thread and no clock in this crate: its owner calls it, and `now` is an argument. It never
//! panics on what it finds in a file, and it never deletes a file that it could not read.
//!
//! | module | holds |
//! |---|---|
//! | [`dir`] | the data directory: one process at a time |
//! | [`keys`] | the state of inline keys: snapshots and a log of changes |

pub mod dir;
mod error;
pub mod keys;

pub use dir::DataDir;
pub use error::Error;
