//! The first 44 bytes of a keys file: what it is, and which hash key its records were made with.
//!
//! Layout (little endian): magic 8, version 4, kind 4, generation 8, hash key 16, CRC-32 of these 4.

use crate::generations::{FileName, Flaw, Kind};

/// The format written by this server, and the only one that it reads: in version 1 keys had another hash.
pub const VERSION: u32 = 2;

/// The secret of the keyed hash that identifies keys.
pub type HashKey = [u8; 16];

pub(crate) const HEADER_BYTES: usize = 44;
const CHECKED_BYTES: usize = HEADER_BYTES - 4;
const MAGIC: [u8; 8] = *b"TIDEKEYS";

/// What the header of a file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub name: FileName,
    pub hash_key: HashKey,
}

impl Header {
    /// The header as bytes.
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&kind_code(self.name.kind).to_le_bytes());
        bytes[16..24].copy_from_slice(&self.name.generation.to_le_bytes());
        bytes[24..40].copy_from_slice(&self.hash_key);
        let checksum = crc32fast::hash(&bytes[..CHECKED_BYTES]);
        bytes[CHECKED_BYTES..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Reads the header at the start of `bytes`, which belongs to the file `name`.
    pub fn decode(bytes: &[u8], name: FileName) -> Result<Header, Flaw> {
        if !bytes.starts_with(&MAGIC) {
            return Err(Flaw::Magic);
        }
        // A later version may have a header of another length, so its version is read first and unchecked.
        match bytes.get(8..12).map(|version| u32::from_le_bytes(version.try_into().expect("4 bytes"))) {
            Some(VERSION) => {}
            Some(version) if version > VERSION => return Err(Flaw::Newer { version }),
            Some(version @ 1..VERSION) => return Err(Flaw::Older { version }),
            _ => return Err(Flaw::Header),
        }
        let hash_key = bytes.get(24..40).and_then(|key| key.try_into().ok()).ok_or(Flaw::Header)?;
        let header = Header { name, hash_key };
        let bytes = bytes.first_chunk::<HEADER_BYTES>().ok_or(Flaw::Header)?;
        match header.encode() == *bytes {
            true => Ok(header),
            false if is_checked(bytes) => Err(Flaw::Misnamed),
            false => Err(Flaw::Header),
        }
    }

    /// The state of the checksum after this header, from which the checksum of each block goes on. So a block
    /// counts only in the file that it was written to, whatever the disk mixes up.
    pub fn seed(&self) -> u32 {
        crc32fast::hash(&self.encode()[..CHECKED_BYTES])
    }
}

fn kind_code(kind: Kind) -> u32 {
    match kind {
        Kind::Snapshot => 1,
        Kind::Log => 2,
    }
}

fn is_checked(bytes: &[u8; HEADER_BYTES]) -> bool {
    crc32fast::hash(&bytes[..CHECKED_BYTES]).to_le_bytes() == bytes[CHECKED_BYTES..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generations::Series;

    const NAME: FileName = FileName { series: Series::Keys, generation: 7, kind: Kind::Log };
    const HEADER: Header = Header { name: NAME, hash_key: *b"0123456789abcdef" };

    #[test]
    fn a_header_is_read_back() {
        assert_eq!(Header::decode(&HEADER.encode(), NAME), Ok(HEADER));
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        for bit in 0..HEADER_BYTES * 8 {
            let mut bytes = HEADER.encode();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let flaw = Header::decode(&bytes, NAME).unwrap_err();
            match bit / 8 {
                0..8 => assert_eq!(flaw, Flaw::Magic),
                8..12 => assert!(matches!(flaw, Flaw::Newer { .. } | Flaw::Header), "{flaw}"),
                _ => assert_eq!(flaw, Flaw::Header),
            }
        }
    }

    #[test]
    fn a_short_header_is_no_header() {
        for length in 0..HEADER_BYTES {
            Header::decode(&HEADER.encode()[..length], NAME).unwrap_err();
        }
    }

    #[test]
    fn a_header_under_another_name_is_misnamed() {
        for name in [FileName { generation: 8, ..NAME }, FileName { kind: Kind::Snapshot, ..NAME }] {
            assert_eq!(Header::decode(&HEADER.encode(), name), Err(Flaw::Misnamed));
        }
    }
}
