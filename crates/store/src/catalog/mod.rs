//! The catalog: queues, entities, limits and settings, in an embedded database (redb, file `catalog.redb`).
//!
//! Seldom written, and wanted by key or in full: what a database is good at, and the journal is not. A commit is one
//! transaction, and durable when it returns. All of it is read at start, and kept in memory by its owner. Tables and
//! versions are in `docs/internals/catalog.md`.
//!
//! Invariants:
//! - The database gets its name when it is complete on disk, tables and version included.
//! - The id of a queue is never given out again, even if the queue is long gone.

mod change;
mod database;
mod rows;
mod tables;

pub use change::{CatalogState, Change, OldLimits, StoredRate, Table};
pub use database::Catalog;
pub use tables::VERSION;
