//! What is kept of a key: a keyed 128-bit hash, 32 bits of namespace and 96 bits of key.
//!
//! The hash is secret (SipHash-1-3 under a random key, see [`sip`](tidegate_core::sip)), so nobody outside can choose two keys that collide;
//! by chance, two of 10 million keys of a namespace do so with a probability of 6 in 10^16.

use tidegate_core::sip::Sip;

/// The identity of a key inside the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyHash(pub u128);

/// A namespace as the table sees it: 32 bits that are part of each of its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NamespaceTag(u32);

impl KeyHash {
    /// Where the key lives: shard, segment and page, from the top bit down.
    #[inline]
    pub(crate) fn place(self) -> u64 {
        (self.0 >> 64) as u64
    }

    /// Two bytes that take no part in the place, for use inside a page.
    #[inline]
    pub(crate) fn byte(self) -> u8 {
        (self.0 >> 32) as u8
    }

    #[inline]
    pub(crate) fn second_byte(self) -> u8 {
        (self.0 >> 40) as u8
    }

    /// The same key in another namespace: which one it is in takes no part in the hash of its bytes.
    #[inline]
    pub fn moved_to(self, namespace: NamespaceTag) -> KeyHash {
        KeyHash((self.0 & !u128::from(u32::MAX)) | u128::from(namespace.0))
    }

    #[inline]
    pub(crate) fn is_in(self, namespace: NamespaceTag) -> bool {
        self.0 as u32 == namespace.0
    }
}

/// Hashes keys under one secret.
#[derive(Clone)]
pub struct KeyHasher {
    sip: Sip,
}

impl KeyHasher {
    /// A hasher under this secret. State that was stored under another secret means nothing to it.
    pub fn new(secret: [u8; 16]) -> KeyHasher {
        KeyHasher { sip: Sip::new(u128::from_le_bytes(secret)) }
    }

    /// The tag of a namespace.
    pub fn namespace(&self, name: &[u8]) -> NamespaceTag {
        NamespaceTag(self.hash(name) as u32)
    }

    /// The identity of a key in a namespace.
    #[inline]
    pub fn key(&self, namespace: NamespaceTag, key: &[u8]) -> KeyHash {
        KeyHash(self.hash(key)).moved_to(namespace)
    }

    #[inline]
    fn hash(&self, bytes: &[u8]) -> u128 {
        let (first, second) = self.sip.hash(bytes);
        u128::from(first) << 64 | u128::from(second)
    }
}
