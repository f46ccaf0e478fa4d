//! What messages carry: a stamp in digits, then filling.

use anyhow::{Context, Result};

/// Digits of the largest stamp.
const DIGITS: usize = 20;

/// The bytes of a message.
#[derive(Clone, Debug)]
pub struct Body(Vec<u8>);

impl Body {
    /// Of that length, or as long as the stamp if that is longer.
    pub fn new(len: usize) -> Body {
        // Letters that do not repeat soon, so that nothing gains from compressing them.
        let mut state = 1_u32;
        let letters = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            b'a' + (state >> 24) as u8 % 26
        });
        Body(letters.take(len.max(DIGITS)).collect())
    }

    /// The same with this stamp.
    pub fn stamped(&mut self, stamp: u64) -> &[u8] {
        let mut rest = stamp;
        for digit in self.0[..DIGITS].iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        &self.0
    }
}

/// The stamp of a message that came back.
pub fn stamp_of(body: &[u8]) -> Result<u64> {
    let digits = body.get(..DIGITS).and_then(|digits| std::str::from_utf8(digits).ok());
    digits.and_then(|digits| digits.parse().ok()).context("a message that we did not send")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_comes_back() {
        let mut body = Body::new(1024);
        for stamp in [0, 7, u64::MAX] {
            assert_eq!(body.stamped(stamp).len(), 1024);
            assert_eq!(stamp_of(body.stamped(stamp)).unwrap(), stamp);
        }
        assert_eq!(Body::new(3).stamped(5).len(), DIGITS);
        assert!(stamp_of(b"short").is_err());
        assert!(stamp_of(&[b'x'; 30]).is_err());
    }
}
