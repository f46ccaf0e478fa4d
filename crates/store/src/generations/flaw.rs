//! What can be wrong with a file, in words for the person who finds it set aside.

use std::io;

/// Why a file could not be used, or not all of it. Reads on from "it" or a file name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// The first bytes are not those of a file of its name.
    #[error("does not begin like a file of its name")]
    Magic,
    /// A later server wrote it.
    #[error("has format version {version}, which is later than this server's")]
    Newer {
        /// The version it says it has.
        version: u32,
    },
    /// An earlier server wrote it, with hashes that nobody makes any more. Only a keys file has any.
    #[error("has format version {version}, whose keys had another hash: they start full")]
    Older {
        /// The version it says it has.
        version: u32,
    },
    /// The header fails its checksum, or says what no server writes.
    #[error("has a damaged header")]
    Header,
    /// The header is that of another generation, or of another kind of file.
    #[error("has the header of another file: it was renamed, or copied from elsewhere")]
    Misnamed,
    /// Its hashes mean nothing here. Only a keys file has any.
    #[error("was written with another hash key, so its keys cannot be told")]
    OtherHashKey,
    /// A block fails its checksum, or is not whole.
    #[error("is damaged at byte {at_byte}")]
    Block {
        /// Where the first such block begins.
        at_byte: u64,
    },
    /// It ends before its end.
    #[error("is cut short: its end is missing")]
    NoEnd,
    /// It goes on after its end.
    #[error("goes on after its end, at byte {at_byte}")]
    AfterEnd {
        /// Where the excess begins.
        at_byte: u64,
    },
    /// The disk would not give it back.
    #[error("cannot be read at byte {at_byte}: {kind}")]
    Unreadable {
        /// Where reading failed.
        at_byte: u64,
        /// What the system said.
        kind: io::ErrorKind,
    },
}
