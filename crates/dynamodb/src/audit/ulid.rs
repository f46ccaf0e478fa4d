//! Names of events: 26 signs, in order of their times. The first 64 of their 128 bits are an event's number here: 48 of
//! milliseconds, and 16 that are random, or one more than those before it.

use std::sync::Mutex;

use crate::random;

const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const SIGNS: usize = 26;

/// Makes names that rise.
#[derive(Debug, Default)]
pub struct Ulids {
    last: Mutex<u64>,
}

impl Ulids {
    /// A name for an event at this time, after all names before.
    pub fn next(&self, at_ms: u64) -> String {
        let mut last = self.last.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // Half of the numbers of a millisecond are left to those that come after.
        let first = (at_ms << 16) | (random::bits() & 0x7fff);
        *last = first.max(last.saturating_add(1));
        text(u128::from(*last) << 64 | u128::from(random::bits()))
    }
}

/// 128 bits as text.
fn text(bits: u128) -> String {
    let sign = |at: usize| ALPHABET[((bits >> (5 * (SIGNS - 1 - at))) & 31) as usize];
    (0..SIGNS).map(|at| char::from(sign(at))).collect()
}

/// The number of a name: its first 64 bits. None if it is no name.
pub fn number(name: &str) -> Option<u64> {
    if name.len() != SIGNS {
        return None;
    }
    let mut bits = 0u128;
    for sign in name.bytes() {
        let value = ALPHABET.iter().position(|known| *known == sign.to_ascii_uppercase())?;
        bits = bits << 5 | value as u128;
    }
    Some((bits >> 64) as u64)
}

/// The first name that a number could have.
pub fn first_of(number: u64) -> String {
    text(u128::from(number) << 64)
}

/// The number before all events at this time or later.
pub fn number_at(at_ms: u64) -> u64 {
    if at_ms >= 1 << 48 { u64::MAX } else { at_ms << 16 }
}

/// The time of a number.
pub fn at_ms(number: u64) -> u64 {
    number >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_rise_even_if_the_clock_does_not() {
        let ulids = Ulids::default();
        let names: Vec<String> = (0..100_000).map(|at| ulids.next(1_700_000_000_000 - at % 3)).collect();
        assert!(names.is_sorted_by(|a, b| a < b && number(a) < number(b)));
    }

    #[test]
    fn a_name_tells_its_time() {
        let name = Ulids::default().next(1_700_000_000_123);
        assert_eq!(at_ms(number(&name).unwrap()), 1_700_000_000_123);
        assert!(first_of(number_at(1_700_000_000_123)) <= name);
        assert!(first_of(number_at(1_700_000_000_124)) > name);
        // As others write it.
        assert_eq!(at_ms(number("01ARZ3NDEKTSV4RRFFQ69G5FAV").unwrap()), 1_469_922_850_259);
        assert_eq!((number("short"), number(&"U".repeat(26))), (None, None));
        assert_eq!(number_at(u64::MAX), u64::MAX);
    }
}
