//! The time of day for the `Date` header, spelled out once a second.

use std::cell::Cell;
use std::time::{SystemTime, UNIX_EPOCH};

const LEN: usize = "Sun, 06 Nov 1994 08:49:37 GMT".len();

/// The date that was spelled out last.
#[derive(Debug, Default)]
pub struct Date {
    spelled: Cell<(u64, [u8; LEN])>,
}

impl Date {
    /// Now, to the second.
    pub fn now(&self) -> [u8; LEN] {
        let now = SystemTime::now();
        let second = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let (spelled_second, text) = self.spelled.get();
        if second == spelled_second && text != [0; LEN] {
            return text;
        }
        let mut text = [b' '; LEN];
        // Always as long as this, up to the year 9999.
        let spelled = httpdate::fmt_http_date(now);
        text[..spelled.len().min(LEN)].copy_from_slice(&spelled.as_bytes()[..spelled.len().min(LEN)]);
        self.spelled.set((second, text));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_present_also_when_asked_twice() {
        let date = Date::default();
        let before = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        for _ in 0..2 {
            let text = date.now();
            let told = httpdate::parse_http_date(str::from_utf8(&text).unwrap()).unwrap();
            assert!(told.duration_since(UNIX_EPOCH).unwrap().as_secs() >= before);
        }
    }
}
