//! The book: somebody else's state, as a snapshot of all of it and a log of what changed since.
//!
//! To the book records are bytes. Its owner (the ledger's keeper: bucket levels, leases) appends what changed, syncs
//! every so often, and at a start gets everything back in order; what a crash forgets is what was not synced yet. When
//! the log has outgrown the snapshot, it writes a new one while it goes on appending. The files are those of
//! [`keys`](crate::keys), for records of any length and on a disk that can be simulated; `docs/internals/book.md` has
//! them byte by byte.
//!
//! Invariants:
//! - Records are read in the order in which they were appended, without gaps but for damage.
//! - A file gets its name only when its header is on disk, and a snapshot only when all of it is.
//! - A generation is deleted only when a whole snapshot of a later one is durable.
//! - A damaged file is never deleted. As long as something in it is needed, it keeps its name, too.

mod block;
mod file;
mod header;
mod recover;
mod report;
mod snapshot;
mod walk;
mod writer;

pub use crate::generations::{Flaw, SetAside, TornTail};
pub use block::MAX_RECORD_BYTES;
pub use header::VERSION;
pub use report::BookReport;
pub use snapshot::Snapshot;
pub use writer::{Book, BookOptions};
