//! Blocks: up to 2,048 records under one checksum. A file is its header and then blocks, nothing else.
//!
//! Layout (little endian): marker 4, CRC-32 4, count 4, now 8, durable 8, then `count` records. The checksum
//! covers the file's header and all of the block that follows it. A block of no records ends its file.

use super::record::{KeyRecord, RECORD_BYTES};

/// What each block begins with. After damage, reading goes on at the next one whose block is whole.
pub(crate) const MARKER: [u8; 4] = *b"KBLK";
/// Bytes before the records.
pub(crate) const HEAD_BYTES: usize = 28;
/// More records than this go into several blocks. It bounds what a reader allocates, whatever a file says.
pub(crate) const MAX_RECORDS: usize = 2048;

const CHECKED_FROM: usize = 8;

/// What a block says besides its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// The time of its writer.
    pub now_ns: u64,
    /// How many bytes of the file were known to be on disk when it was written.
    pub durable_bytes: u64,
}

/// The part of a block that says how long it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    bytes: [u8; HEAD_BYTES],
    count: usize,
}

impl Head {
    /// The head of a block, if these bytes may be one.
    pub fn decode(bytes: [u8; HEAD_BYTES]) -> Option<Head> {
        let count = u32_at(&bytes, 8) as usize;
        (bytes.starts_with(&MARKER) && count <= MAX_RECORDS).then_some(Head { bytes, count })
    }

    /// Bytes of the records that follow.
    pub fn records_bytes(&self) -> usize {
        self.count * RECORD_BYTES
    }

    /// Whether the block is the last of its file.
    pub fn is_end(&self) -> bool {
        self.count == 0
    }

    pub fn stamp(&self) -> Stamp {
        Stamp { now_ns: u64_at(&self.bytes, 12), durable_bytes: u64_at(&self.bytes, 20) }
    }

    /// Whether this head and these records are what was written to the file with this seed.
    pub fn vouches_for(&self, records: &[u8], seed: u32) -> bool {
        let mut checksum = crc32fast::Hasher::new_with_initial(seed);
        checksum.update(&self.bytes[CHECKED_FROM..]);
        checksum.update(records);
        checksum.finalize() == u32_at(&self.bytes, 4)
    }
}

/// Puts one block into `bytes`. Without records it is the block that ends a file.
pub(crate) fn encode(records: &[KeyRecord], stamp: Stamp, seed: u32, bytes: &mut Vec<u8>) {
    debug_assert!(records.len() <= MAX_RECORDS, "no reader would take this block");
    let start = bytes.len();
    bytes.reserve(HEAD_BYTES + records.len() * RECORD_BYTES);
    bytes.extend_from_slice(&MARKER);
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(&(records.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&stamp.now_ns.to_le_bytes());
    bytes.extend_from_slice(&stamp.durable_bytes.to_le_bytes());
    for record in records {
        bytes.extend_from_slice(&record.encode());
    }
    let mut checksum = crc32fast::Hasher::new_with_initial(seed);
    checksum.update(&bytes[start + CHECKED_FROM..]);
    bytes[start + 4..start + CHECKED_FROM].copy_from_slice(&checksum.finalize().to_le_bytes());
}

/// Replaces `records` with those in `bytes`.
pub(crate) fn decode_records(bytes: &[u8], records: &mut Vec<KeyRecord>) {
    let (whole, rest) = bytes.as_chunks::<RECORD_BYTES>();
    debug_assert!(rest.is_empty(), "the head says how many records follow");
    records.clear();
    records.extend(whole.iter().map(KeyRecord::decode));
}

fn u32_at(bytes: &[u8; HEAD_BYTES], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"))
}

fn u64_at(bytes: &[u8; HEAD_BYTES], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_core::Tat;

    const SEED: u32 = 0x5eed;
    const STAMP: Stamp = Stamp { now_ns: 11, durable_bytes: 44 };

    fn records(count: usize) -> Vec<KeyRecord> {
        (0..count as u128).map(|n| KeyRecord { hash: n << 64 | n, tat: Tat { ns: 3, rem: 4 } }).collect()
    }

    fn decode(bytes: &[u8], seed: u32) -> Option<(Head, Vec<KeyRecord>)> {
        let head = Head::decode(*bytes.first_chunk()?)?;
        let payload = bytes.get(HEAD_BYTES..HEAD_BYTES + head.records_bytes())?;
        let mut records = Vec::new();
        decode_records(payload, &mut records);
        head.vouches_for(payload, seed).then_some((head, records))
    }

    #[test]
    fn a_block_is_read_back() {
        let mut bytes = Vec::new();
        encode(&records(MAX_RECORDS), STAMP, SEED, &mut bytes);
        let (head, read) = decode(&bytes, SEED).unwrap();
        assert_eq!((head.stamp(), head.is_end()), (STAMP, false));
        assert_eq!(read, records(MAX_RECORDS));
    }

    #[test]
    fn every_flipped_bit_and_another_file_are_noticed() {
        let mut bytes = Vec::new();
        encode(&records(2), STAMP, SEED, &mut bytes);
        assert!(decode(&bytes, SEED + 1).is_none());
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(decode(&bytes, SEED).is_none(), "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn an_end_holds_no_records_and_zeros_are_no_block() {
        let mut bytes = Vec::new();
        encode(&[], STAMP, SEED, &mut bytes);
        assert!(decode(&bytes, SEED).unwrap().0.is_end());
        assert!(Head::decode([0; HEAD_BYTES]).is_none());
    }
}
