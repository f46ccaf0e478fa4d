//! What recovery tells of a file.

use super::flaw::Flaw;
use std::fmt;

/// A file that is damaged or cannot be used, and is kept for whoever wants to look at it.
///
/// If some of it was used, it moves to its new name with the next finished snapshot: a crash until then must
/// not forget what it still holds. Otherwise it has moved already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetAside {
    /// Its name in the data directory.
    pub file: String,
    /// The name under which it is kept.
    pub kept_as: String,
    /// What is wrong with it.
    pub flaw: Flaw,
}

impl fmt::Display for SetAside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}; it is kept as {}", self.file, self.flaw, self.kept_as)
    }
}

/// The end of a log that was being written when the process or the machine stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TornTail {
    /// The log.
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
