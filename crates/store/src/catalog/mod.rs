//! The catalog: queues, limits and settings, in an embedded database (redb, file `catalog.redb`).
//!
//! Little, seldom written, and wanted by key or in full: what a database is good at, and the journal is not. A
//! commit is one transaction, and durable when it returns. All of it is read at start, and kept in memory by its owner.
//!
//! Invariants:
//! - The database gets its name when it is complete on disk, tables and version included.
//! - The id of a queue is never given out again, even if the queue is long gone.

mod backend;
mod change;
mod database;
mod tables;

pub use change::{CatalogState, Change, StoredRate};
pub use database::Catalog;
pub use tables::VERSION;
