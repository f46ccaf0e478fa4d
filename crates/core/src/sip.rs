//! SipHash-1-3 of a key, with 128 bits of result at the price of 64.
//!
//! The published 128-bit variant makes its second half by three more rounds, one after the other: 7 of the 42 ns of a
//! decision. This takes it from the state that the first half is made of, which is 256 bits wide: the first half is
//! the exclusive or of its four words and is SipHash-1-3 as published, the second is that of two of them. Nobody outside
//! ever sees either half.
//!
//! The queues take the first half for what strangers choose there.

/// The state before the first word.
#[derive(Clone, Copy)]
pub struct Sip {
    v: [u64; 4],
}

impl Sip {
    /// Under this secret.
    pub fn new(secret: u128) -> Sip {
        let (low, high) = (secret as u64, (secret >> 64) as u64);
        let text =
            [0x736f_6d65_7073_6575, 0x646f_7261_6e64_6f6d, 0x6c79_6765_6e65_7261, 0x7465_6462_7974_6573];
        Sip { v: [low ^ text[0], high ^ text[1], low ^ text[2], high ^ text[3]] }
    }

    /// The two halves.
    #[inline]
    pub fn hash(mut self, bytes: &[u8]) -> (u64, u64) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.word(u64::from_le_bytes(*word));
        }
        self.end((bytes.len() as u64) << 56 | few(rest))
    }

    /// The first half, of these words one after the other.
    #[inline]
    pub fn hash_words(mut self, words: impl Iterator<Item = u64>) -> u64 {
        let mut length = 0_u64;
        for word in words {
            self.word(word);
            length += 8;
        }
        self.end(length << 56).0
    }

    #[inline(always)]
    fn end(mut self, last: u64) -> (u64, u64) {
        self.word(last);
        self.v[2] ^= 0xff;
        for _ in 0..3 {
            self.round();
        }
        let [a, b, c, d] = self.v;
        (a ^ b ^ c ^ d, b ^ c)
    }

    #[inline(always)]
    fn word(&mut self, word: u64) {
        self.v[3] ^= word;
        self.round();
        self.v[0] ^= word;
    }

    #[inline(always)]
    fn round(&mut self) {
        let [mut a, mut b, mut c, mut d] = self.v;
        a = a.wrapping_add(b);
        c = c.wrapping_add(d);
        b = b.rotate_left(13) ^ a;
        d = d.rotate_left(16) ^ c;
        a = a.rotate_left(32);
        c = c.wrapping_add(b);
        a = a.wrapping_add(d);
        b = b.rotate_left(17) ^ c;
        d = d.rotate_left(21) ^ a;
        c = c.rotate_left(32);
        self.v = [a, b, c, d];
    }
}

/// Up to 7 bytes as a number, little endian. Reads overlap, so that none depends on the length byte by byte.
#[inline(always)]
fn few(bytes: &[u8]) -> u64 {
    let length = bytes.len();
    match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>(), bytes) {
        (Some(first), Some(last), _) => {
            u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << (8 * (length - 4))
        }
        (_, _, [first, .., last]) => {
            u64::from(*first)
                | u64::from(bytes[length / 2]) << (8 * (length / 2))
                | u64::from(*last) << (8 * (length - 1))
        }
        (_, _, [byte]) => u64::from(*byte),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::hash::Hasher;

    use proptest::prelude::*;
    use siphasher::sip::SipHasher13;

    use super::*;

    proptest! {
        #[test]
        fn the_first_half_is_siphash_as_published(secret: u128, bytes: Vec<u8>) {
            let mut published = SipHasher13::new_with_key(&secret.to_le_bytes());
            published.write(&bytes);
            prop_assert_eq!(Sip::new(secret).hash(&bytes).0, published.finish());
        }

        #[test]
        fn words_are_hashed_like_their_bytes(secret: u128, words: Vec<u64>) {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let sip = Sip::new(secret);
            prop_assert_eq!(sip.hash_words(words.into_iter()), sip.hash(&bytes).0);
        }
    }

    #[test]
    fn keys_of_every_length_differ_by_their_last_byte() {
        let sip = Sip::new(7 << 64 | 7);
        for length in 1..=64 {
            let mut bytes = vec![b'x'; length];
            let before = sip.hash(&bytes);
            bytes[length - 1] = b'y';
            let after = sip.hash(&bytes);
            assert!(before.0 != after.0 && before.1 != after.1, "{length}");
        }
    }

    /// Of every bit of a key, on every bit of the result: half of the time, within five standard deviations.
    #[test]
    fn a_bit_of_a_key_turns_each_bit_of_the_hash_half_of_the_time() {
        const KEYS: u32 = 4_000;
        let sip = Sip::new(u128::from_le_bytes(*b"a secret of ours"));
        for bit in 0..12 * 8 {
            let mut turned = [0_u32; 128];
            for n in 0..KEYS {
                let mut key = format!("key:{n:08}").into_bytes();
                let (first, second) = sip.hash(&key);
                key[bit / 8] ^= 1 << (bit % 8);
                let (other_first, other_second) = sip.hash(&key);
                let changed = u128::from(first ^ other_first) << 64 | u128::from(second ^ other_second);
                turned
                    .iter_mut()
                    .enumerate()
                    .for_each(|(place, count)| *count += (changed >> place) as u32 & 1);
            }
            for (place, count) in turned.into_iter().enumerate() {
                assert!(count.abs_diff(KEYS / 2) < 160, "bit {bit} on {place}: {count} of {KEYS}");
            }
        }
    }
}
