//! Numbers that nobody has had before. Not for secrets.

use std::hash::{BuildHasher, Hasher, RandomState};

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// 64 bits.
pub(crate) fn bits() -> u64 {
    // Each state has keys of its own, drawn from the system's.
    RandomState::new().build_hasher().finish()
}

/// 16 hexadecimal digits.
pub(crate) fn hex() -> String {
    format!("{:016x}", bits())
}

/// 11 letters, digits and signs, the first of which is no `-`.
pub(crate) fn token() -> String {
    loop {
        let (mut bits, mut token) = (bits(), String::with_capacity(11));
        for _ in 0..11 {
            token.push(char::from(ALPHABET[(bits & 63) as usize]));
            bits >>= 6;
        }
        if !token.starts_with('-') {
            return token;
        }
    }
}

/// A share of a time, for whoever waits beside others.
pub(crate) fn share(whole: std::time::Duration) -> std::time::Duration {
    whole.mul_f64((bits() >> 11) as f64 / (1u64 << 53) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn nothing_comes_twice() {
        let tokens: HashSet<String> = (0..10_000).map(|_| token()).collect();
        assert_eq!(tokens.len(), 10_000);
        assert!(tokens.iter().all(|token| token.len() == 11 && !token.starts_with('-')));
        assert_eq!(hex().len(), 16);
        let second = std::time::Duration::from_secs(1);
        assert!((0..1000).all(|_| share(second) < second));
    }
}
