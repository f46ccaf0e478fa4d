//! One key's state, as it is kept: 28 bytes.

use tidegate_core::Tat;

/// Bytes of a record on disk: hash 16, arrival time 8, remainder 4.
pub(crate) const RECORD_BYTES: usize = 28;

/// The whole state of one inline key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyRecord {
    /// The keyed hash of the key's namespace and name.
    pub hash: u128,
    /// Its arrival time. In a log, `Tat::default()` says that the key was forgotten.
    pub tat: Tat,
}

impl KeyRecord {
    /// Whether this record says that the key was forgotten.
    pub fn is_tombstone(&self) -> bool {
        self.tat == Tat::default()
    }

    pub(crate) fn encode(&self) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        bytes[..16].copy_from_slice(&self.hash.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.tat.ns.to_le_bytes());
        bytes[24..].copy_from_slice(&self.tat.rem.to_le_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8; RECORD_BYTES]) -> KeyRecord {
        let (hash, tat) = bytes.split_first_chunk().expect("16 of 28 bytes");
        let (ns, rem) = tat.split_first_chunk().expect("8 of 12 bytes");
        let rem = rem.first_chunk().expect("4 of 4 bytes");
        KeyRecord {
            hash: u128::from_le_bytes(*hash),
            tat: Tat { ns: u64::from_le_bytes(*ns), rem: u32::from_le_bytes(*rem) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_back_whole() {
        let record = KeyRecord { hash: u128::MAX - 7, tat: Tat { ns: u64::MAX - 3, rem: u32::MAX - 1 } };
        assert_eq!(KeyRecord::decode(&record.encode()), record);
        assert!(!record.is_tombstone());
        assert!(KeyRecord { hash: 1, tat: Tat::default() }.is_tombstone());
    }
}
