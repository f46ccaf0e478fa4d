//! The state of inline keys on disk: a snapshot of all of them, and a log of those that changed since.
//!
//! The owner appends changed keys and syncs every so often; what a crash forgets is what was not synced yet.
//! When the log has outgrown the snapshot, it writes a new one while it goes on appending. The files are
//! described in `docs/internals/keys-file.md`, byte by byte.
//!
//! Invariants:
//! - A record is the whole state of its key, so the last one wins, and losing one loses no other.
//! - A file gets its name only when its header is on disk, and a snapshot only when all of it is.
//! - A generation is deleted only when a whole snapshot of a later one is durable.
//! - A damaged file is never deleted. As long as something in it is needed, it keeps its name, too.

mod block;
mod file;
mod header;
mod log;
mod record;
mod recover;
mod report;
mod snapshot;
mod store;
mod walk;

pub use crate::generations::{Flaw, SetAside, TornTail};
pub use header::{HashKey, VERSION};
pub use record::KeyRecord;
pub use recover::Recovery;
pub use report::{Recovered, Report};
pub use snapshot::SnapshotWriter;
pub use store::{KeyStore, Options};
