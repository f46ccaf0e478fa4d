//! The journal: messages, and what became of them, as a log in segments.
//!
//! The owner appends records in memory and takes them as batches, which are written and synced elsewhere. After a
//! crash everything of a batch that was synced comes back, in order, and of later ones a beginning. The files are
//! described in `docs/internals/journal.md`, byte by byte.
//!
//! Invariants:
//! - A segment gets its name only when its header is on disk, and its first record only when the one before is
//!   complete on disk. So only the last one can have a torn tail.
//! - A server never writes to a segment that it found, but for cutting that tail and adding the index.
//! - A batch lies in one segment. Of a batch that was cut short, a beginning comes back, or nothing.
//! - Segments are removed oldest first, each durably before the next, when the copies of what lived in them are on
//!   disk. One that could not be read is renamed, never deleted. The file of one that is gone may come back as a later
//!   segment, in which its old frames do not count.

mod batch;
mod block;
mod clean;
mod codec;
mod files;
mod flaw;
mod header;
mod index;
mod name;
mod reader;
mod recent;
mod record;
mod recover;
mod report;
mod run;
mod scan;
mod segment;
mod space;
mod spare;
mod writer;

pub use batch::Batch;
pub use block::{Charges, Headers};
pub use clean::CleanStep;
pub use flaw::Flaw;
pub use header::VERSION;
pub use reader::{Body, Pinned, Pins, Reader};
pub use record::{DeadLetter, MessageRecord, Record};
pub use report::{Damaged, JournalReport, OldTail, TornTail};
pub use space::{Space, Usage};
pub use writer::{Journal, JournalOptions, Replayed};
