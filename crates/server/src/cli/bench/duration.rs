//! A duration as people type it: `500ms`, `10s`, `2m`.

use std::time::Duration;

/// Why a word is no duration.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a whole number and a unit, such as 500ms, 10s or 2m")]
pub struct Invalid;

/// Reads a duration. A number alone is in seconds.
pub fn parse(word: &str) -> Result<Duration, Invalid> {
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = word.split_at(digits);
    let number: u64 = number.parse().map_err(|_| Invalid)?;
    let unit_ms = match unit {
        "ms" => 1,
        "" | "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(Invalid),
    };
    number.checked_mul(unit_ms).map(Duration::from_millis).ok_or(Invalid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units() {
        let ms = |word| parse(word).map(|duration| duration.as_millis());
        assert_eq!(
            [ms("500ms"), ms("10s"), ms("10"), ms("2m"), ms("1h")],
            [Ok(500), Ok(10_000), Ok(10_000), Ok(120_000), Ok(3_600_000)]
        );
        for word in ["", "s", "-1s", "1.5s", "1d", "1 s", "99999999999999999999s", "18446744073709551615h"] {
            assert_eq!(parse(word), Err(Invalid), "{word}");
        }
    }
}
