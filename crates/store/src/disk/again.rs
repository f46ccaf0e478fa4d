//! A file written again with what is in it.
//!
//! When a sync fails, the system takes the bytes for written from there on: they are read back from memory, the next
//! sync says nothing, and the next power failure takes them. A process that ended because of that and starts again
//! cannot tell. So it writes what it is going to rely on once more: the same bytes, so that nothing is at risk.

use super::contract::DiskFile;
use std::io;

const CHUNK_BYTES: u64 = 1 << 20;

/// Writes the first `bytes` of a file over themselves. A disk too full for that is left as it is. Does not sync.
pub(crate) fn write_again(file: &impl DiskFile, bytes: u64) -> io::Result<()> {
    let mut chunk = Vec::new();
    let mut at = 0;
    while at < bytes {
        chunk.resize((bytes - at).min(CHUNK_BYTES) as usize, 0);
        file.read_at(&mut chunk, at)?;
        match file.write_at(&chunk, at) {
            Err(reason) if reason.kind() == io::ErrorKind::StorageFull => break,
            written => written?,
        }
        at += chunk.len() as u64;
    }
    Ok(())
}
