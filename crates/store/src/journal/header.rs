//! The first 28 bytes of a segment: what it is, and from where its checksums go on.
//!
//! Layout (little endian): magic 8, version 4, segment 4, salt 8, CRC-32C of these 4.

use super::flaw::Flaw;
use super::name::SegmentName;

/// The format written by this server, and the newest one that it reads.
pub const VERSION: u32 = 1;

pub(crate) const HEADER_BYTES: usize = 28;
const CHECKED_BYTES: usize = HEADER_BYTES - 4;
const MAGIC: [u8; 8] = *b"TIDEJRNL";

/// What the header of a segment says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub name: SegmentName,
    pub salt: u64,
}

impl Header {
    /// The header as bytes.
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.name.0.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.salt.to_le_bytes());
        let checksum = crc32c::crc32c(&bytes[..CHECKED_BYTES]);
        bytes[CHECKED_BYTES..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Reads the header at the start of `bytes`, which belongs to the segment `name`.
    pub fn decode(bytes: &[u8], name: SegmentName) -> Result<Header, Flaw> {
        if !bytes.starts_with(&MAGIC) {
            return Err(Flaw::Magic);
        }
        // A later version may have a header of another length, so its version is read first and unchecked.
        match bytes.get(8..12).map(|version| u32::from_le_bytes(version.try_into().expect("4 bytes"))) {
            Some(VERSION) => {}
            Some(version) if version > VERSION => return Err(Flaw::Newer { version }),
            _ => return Err(Flaw::Header),
        }
        let bytes = bytes.first_chunk::<HEADER_BYTES>().ok_or(Flaw::Header)?;
        let salt = u64::from_le_bytes(bytes[16..24].try_into().expect("8 bytes"));
        let header = Header { name, salt };
        match header.encode() == *bytes {
            true => Ok(header),
            false if is_checked(bytes) => Err(Flaw::Misnamed),
            false => Err(Flaw::Header),
        }
    }

    /// The segment that a file is or was, if its header is whole.
    pub fn number(bytes: &[u8; HEADER_BYTES]) -> Option<u32> {
        let number = u32::from_le_bytes(bytes[12..16].try_into().ok()?);
        let header = Header::decode(bytes, SegmentName(number)).ok()?;
        header.name.is_valid().then_some(number)
    }

    /// The state of the checksum after this header, from which that of each frame goes on. So a frame counts
    /// only in the segment that it was written to, and no payload can hold one: its sender does not know the salt.
    pub fn seed(&self) -> u32 {
        crc32c::crc32c(&self.encode()[..CHECKED_BYTES])
    }
}

fn is_checked(bytes: &[u8; HEADER_BYTES]) -> bool {
    crc32c::crc32c(&bytes[..CHECKED_BYTES]).to_le_bytes() == bytes[CHECKED_BYTES..]
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: SegmentName = SegmentName(7);
    const HEADER: Header = Header { name: NAME, salt: 0x0123_4567_89ab_cdef };

    #[test]
    fn a_header_is_read_back_and_under_no_other_name() {
        assert_eq!(Header::decode(&HEADER.encode(), NAME), Ok(HEADER));
        assert_eq!(Header::decode(&HEADER.encode(), SegmentName(8)), Err(Flaw::Misnamed));
    }

    #[test]
    fn every_flipped_bit_and_every_missing_byte_is_noticed() {
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
        for length in 0..HEADER_BYTES {
            Header::decode(&HEADER.encode()[..length], NAME).unwrap_err();
        }
    }

    #[test]
    fn a_file_says_which_segment_it_was() {
        assert_eq!(Header::number(&HEADER.encode()), Some(7));
        let mut bytes = HEADER.encode();
        bytes[13] ^= 1;
        assert_eq!(Header::number(&bytes), None);
        assert_eq!(Header::number(&[0; HEADER_BYTES]), None);
    }
}
