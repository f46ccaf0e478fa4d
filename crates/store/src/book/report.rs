//! What recovery found, for the server's log.

use crate::generations::{SetAside, TornTail};

/// How recovery went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BookReport {
    /// Records read from snapshots.
    pub snapshot_records: u64,
    /// Records read from logs. What changed often has many.
    pub log_records: u64,
    /// Bytes of the files that were read.
    pub bytes: u64,
    /// Files that are damaged or cannot be used.
    pub set_aside: Vec<SetAside>,
    /// Logs whose last write a crash or a full disk cut short. This is normal.
    pub torn_tails: Vec<TornTail>,
}

impl BookReport {
    /// What a person should know, one line each. Nothing, if all is well.
    pub fn lines(&self) -> Vec<String> {
        let torn = self.torn_tails.iter().map(TornTail::to_string);
        torn.chain(self.set_aside.iter().map(SetAside::to_string)).collect()
    }
}
