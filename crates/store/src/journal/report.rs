//! What recovery found, for the server's log.

use super::flaw::Flaw;
use std::fmt;

/// How recovery went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JournalReport {
    /// Segments that were read.
    pub segments: u64,
    /// Segments among them that were read from end to end, because they have no index.
    pub scanned: u64,
    /// Records in them.
    pub records: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The ends of segments whose last write a crash or a full disk cut short. This is normal.
    pub torn_tails: Vec<TornTail>,
    /// The ends of segments that were written over earlier ones. This is normal, and nothing to tell a person of.
    pub old_tails: Vec<OldTail>,
    /// Segments of which something cannot be read.
    pub damaged: Vec<Damaged>,
    /// Segments that should be there and are not.
    pub missing: Vec<u32>,
}

impl JournalReport {
    /// What a person should know, one line each. Nothing, if all is well.
    pub fn lines(&self) -> Vec<String> {
        let torn = self.torn_tails.iter().map(TornTail::to_string);
        let damaged = self.damaged.iter().map(Damaged::to_string);
        let missing = self.missing.iter().map(|number| {
            format!("{} is missing: what it said is unknown", super::name::SegmentName(*number))
        });
        torn.chain(damaged).chain(missing).collect()
    }
}

/// The end of a segment that was being written when the process or the machine stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TornTail {
    /// The segment.
    pub file: String,
    /// Where the part that was never confirmed begins.
    pub at_byte: u64,
    /// How long that part is.
    pub bytes: u64,
}

impl fmt::Display for TornTail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TornTail { file, at_byte, bytes } = self;
        write!(f, "the last write to {file} was cut short and is left out: {bytes} bytes from byte {at_byte}")
    }
}

/// The end of a segment whose file was an earlier one: what that left, and perhaps a write that was cut short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OldTail {
    /// The segment.
    pub file: String,
    /// Where its own records end.
    pub at_byte: u64,
    /// How much followed.
    pub bytes: u64,
}

impl fmt::Display for OldTail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OldTail { file, at_byte, bytes } = self;
        write!(
            f,
            "{file} ends at byte {at_byte}; {bytes} bytes behind it, of an earlier segment or never confirmed, are left out"
        )
    }
}

/// A segment of which something cannot be read. It is never deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damaged {
    /// The segment.
    pub file: String,
    /// The name under which it is kept, if nothing of it could be used. Otherwise it keeps its name for as long as
    /// messages in it are needed, and is set aside then.
    pub kept_as: Option<String>,
    /// What is wrong with it.
    pub flaw: Flaw,
}

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}; ", self.file, self.flaw)?;
        match &self.kept_as {
            Some(kept_as) => write!(f, "it is kept as {kept_as}"),
            None => write!(f, "the rest of it is used"),
        }
    }
}
