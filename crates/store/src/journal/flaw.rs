//! What can be wrong with a segment, in words for the person who reads about it.

use super::header::VERSION;

/// Why a segment could not be used, or not all of it. Reads on from "it" or a file name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// The first bytes are not those of a segment.
    #[error("does not begin like a segment of the journal")]
    Magic,
    /// A later server wrote it.
    #[error("has format version {version}, and this server knows versions up to {VERSION}")]
    Newer {
        /// The version it says it has.
        version: u32,
    },
    /// The header fails its checksum, or says what no server writes.
    #[error("has a damaged header")]
    Header,
    /// The header is that of another segment.
    #[error("has the header of another file: it was renamed, or copied from elsewhere")]
    Misnamed,
    /// Bytes that were once confirmed to be on disk fail their checksum.
    #[error("is damaged: {bytes} bytes from byte {at_byte} cannot be read")]
    Bytes {
        /// Where they begin.
        at_byte: u64,
        /// How many there are until the next record that can be read, or the end.
        bytes: u64,
    },
}
