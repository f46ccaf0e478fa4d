//! What recovery found, for the server's log and for its first decisions.

use super::header::HashKey;
use crate::generations::{SetAside, TornTail};

/// What comes back from disk besides the records themselves.
pub struct Recovered {
    /// The hash key to use: that of the files, or the fresh one if there are none.
    pub hash_key: HashKey,
    /// The newest time in any file. The server's clock must not start behind it.
    pub newest_now_ns: u64,
    /// What was read, and what could not be.
    pub report: Report,
}

/// How recovery went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Records read from snapshots.
    pub snapshot_records: u64,
    /// Records read from logs. A key that changed often has many.
    pub log_records: u64,
    /// Bytes of the files that were read.
    pub bytes: u64,
    /// Files that are damaged or cannot be used.
    pub set_aside: Vec<SetAside>,
    /// Logs whose last write a crash or a full disk cut short. This is normal.
    pub torn_tails: Vec<TornTail>,
}

impl Report {
    /// Whether to write a snapshot at once, so that nothing depends on a damaged file any more.
    pub fn needs_snapshot(&self) -> bool {
        !self.set_aside.is_empty()
    }
}
