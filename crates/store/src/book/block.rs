//! Blocks: some 64 KiB of records under one checksum. A file is its header and then blocks, nothing else.
//!
//! Layout (little endian): marker 4, CRC-32C 4, bytes of the records 4, durable 8, then the records, each its length 4
//! and its bytes. The checksum covers the file's header and all of the block that follows it. A block without records
//! ends its file.

/// What each block begins with. After damage, reading goes on at the next one whose block is whole.
pub(crate) const MARKER: [u8; 4] = *b"BBLK";
/// Bytes before the records.
pub(crate) const HEAD_BYTES: usize = 20;
/// The longest record.
pub const MAX_RECORD_BYTES: usize = 16 << 20;

/// A block that has this much takes no further record.
const FULL_BYTES: usize = 64 << 10;
/// A longer one was never written. It bounds what a reader allocates, whatever a file says.
const MAX_BLOCK_BYTES: usize = FULL_BYTES + LENGTH_BYTES + MAX_RECORD_BYTES;
const LENGTH_BYTES: usize = 4;
const CHECKED_FROM: usize = 8;
/// A buffer that grew beyond this is given back when it is empty again.
const KEPT_BYTES: usize = 4 << 20;

/// Records on their way to a file. What the heads of their blocks say is filled in when it is known which.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    bytes: Vec<u8>,
    /// Where each block begins.
    starts: Vec<usize>,
}

impl Blocks {
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Adds a record.
    pub fn push(&mut self, record: &[u8]) {
        // A caller's bug: no reader would take this block.
        assert!(record.len() <= MAX_RECORD_BYTES, "a record of {} bytes", record.len());
        if self.starts.last().is_none_or(|start| self.bytes.len() - start >= FULL_BYTES) {
            self.begin();
        }
        self.bytes.extend_from_slice(&(record.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(record);
    }

    /// Adds the block that ends a file.
    pub fn push_end(&mut self) {
        self.begin();
    }

    /// The blocks as they go into the file with this seed, of which so many bytes are known to be on disk.
    pub fn seal(&mut self, seed: u32, durable_bytes: u64) -> &[u8] {
        let ends = self.starts.iter().skip(1).copied().chain([self.bytes.len()]);
        for (start, end) in self.starts.iter().copied().zip(ends) {
            let block = &mut self.bytes[start..end];
            let records = (block.len() - HEAD_BYTES) as u32;
            block[..4].copy_from_slice(&MARKER);
            block[8..12].copy_from_slice(&records.to_le_bytes());
            block[12..HEAD_BYTES].copy_from_slice(&durable_bytes.to_le_bytes());
            let checksum = crc32c::crc32c_append(seed, &block[CHECKED_FROM..]);
            block[4..CHECKED_FROM].copy_from_slice(&checksum.to_le_bytes());
        }
        &self.bytes
    }

    /// Drops all records.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_BYTES);
        self.starts.clear();
    }

    fn begin(&mut self) {
        self.starts.push(self.bytes.len());
        self.bytes.extend_from_slice(&[0; HEAD_BYTES]);
    }
}

/// The part of a block that says how long it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    bytes: [u8; HEAD_BYTES],
}

impl Head {
    /// The head of a block, if these bytes may be one.
    pub fn decode(bytes: [u8; HEAD_BYTES]) -> Option<Head> {
        let head = Head { bytes };
        (bytes.starts_with(&MARKER) && head.records_bytes() <= MAX_BLOCK_BYTES).then_some(head)
    }

    /// Bytes of the records that follow.
    pub fn records_bytes(&self) -> usize {
        u32::from_le_bytes(self.bytes[8..12].try_into().expect("4 bytes")) as usize
    }

    /// Whether the block is the last of its file.
    pub fn is_end(&self) -> bool {
        self.records_bytes() == 0
    }

    /// How many bytes of the file were known to be on disk when the block was written.
    pub fn durable_bytes(&self) -> u64 {
        u64::from_le_bytes(self.bytes[12..].try_into().expect("8 bytes"))
    }

    /// Whether this head and these records are what was written to the file with this seed.
    pub fn vouches_for(&self, records: &[u8], seed: u32) -> bool {
        let checksum = crc32c::crc32c_append(seed, &self.bytes[CHECKED_FROM..]);
        let checksum = crc32c::crc32c_append(checksum, records);
        checksum.to_le_bytes() == self.bytes[4..CHECKED_FROM]
    }
}

/// The records of a block, in order.
pub(crate) fn records(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (length, rest) = bytes.split_first_chunk()?;
        let (record, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        bytes = rest;
        Some(record)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: u32 = 0x5eed;

    /// The blocks in `bytes`, each with its records; None if one of them is not whole.
    fn decode(mut bytes: &[u8], seed: u32) -> Option<Vec<(Head, Vec<Vec<u8>>)>> {
        let mut blocks = Vec::new();
        while !bytes.is_empty() {
            let (head, rest) = bytes.split_first_chunk()?;
            let head = Head::decode(*head)?;
            let (payload, rest) = rest.split_at_checked(head.records_bytes())?;
            head.vouches_for(payload, seed).then_some(())?;
            blocks.push((head, records(payload).map(<[u8]>::to_vec).collect()));
            bytes = rest;
        }
        Some(blocks)
    }

    #[test]
    fn records_are_read_back_from_as_many_blocks_as_they_need() {
        let written: Vec<_> = (0..3_000).map(|n| vec![n as u8; n % 100]).collect();
        let mut blocks = Blocks::default();
        written.iter().for_each(|record| blocks.push(record));
        let read = decode(blocks.seal(SEED, 44), SEED).unwrap();
        assert_eq!(read.len(), 3, "150 KB");
        assert!(read.iter().all(|(head, _)| head.durable_bytes() == 44 && !head.is_end()));
        assert_eq!(read.into_iter().flat_map(|(_, records)| records).collect::<Vec<_>>(), written);
    }

    #[test]
    fn the_same_records_can_go_to_another_file() {
        let mut blocks = Blocks::default();
        blocks.push(b"one");
        let first = blocks.seal(SEED, 44).to_vec();
        assert!(decode(&first, SEED + 1).is_none());
        assert_eq!(decode(blocks.seal(SEED + 1, 55), SEED + 1).unwrap()[0].1, [b"one"]);
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let mut blocks = Blocks::default();
        blocks.push(b"one");
        blocks.push(b"");
        let mut bytes = blocks.seal(SEED, 44).to_vec();
        assert_eq!(decode(&bytes, SEED).unwrap()[0].1, [&b"one"[..], b""]);
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(decode(&bytes, SEED).is_none(), "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn an_end_holds_no_records_and_an_empty_record_is_no_end() {
        let mut blocks = Blocks::default();
        blocks.push(b"");
        blocks.push_end();
        let read = decode(blocks.seal(SEED, 0), SEED).unwrap();
        assert_eq!(read.iter().map(|(head, _)| head.is_end()).collect::<Vec<_>>(), [false, true]);
        assert!(Head::decode([0; HEAD_BYTES]).is_none());
    }
}
